import ConcurrencyPrimitives
import DiskStore
import TextIdentity

extension DownloadCache {
    /// Pins files under a name: downloads those that are not there, behind everything else, and keeps them in the store until
    /// ``unpin(_:owner:)``, whatever is evicted. They count in the capacity.
    ///
    /// The set is in the index before the first download: when this is cancelled, or the process ends, ``resumePins()``, another call,
    /// or the next cache that is opened on the directory goes on, in this process or another. A set that has the name already gets
    /// these members; what it had stays there if it is among them.
    ///
    /// - Parameters:
    ///   - requests: The members, the most wanted first; `nil`: those that the set has. Credentials are not kept.
    ///   - name: The set's name.
    ///   - owner: Whose set it is; also the owner of requests that name none.
    ///   - options: What holds for all members.
    ///   - refreshing: Asks the origin also whether members that are there still hold.
    /// - Returns: How much of the set is there; members that failed are among ``PinSet/failed``, and are tried again by the next call.
    /// - Throws: ``ImageCacheError``: `store(full)` when the set does not fit beside the other pins, with the figures: before anything is
    ///   downloaded, where sizes are known (``BodyIntegrity/size``, what is stored), and then nothing has changed; else when a file of a
    ///   new set finds no room, and the set is then not pinned. `notCached` when there is no such set, and no requests.
    ///   `invalidRequest` for a request that cannot be pinned.
    @discardableResult
    public func pin(
        _ requests: [FileRequest]?, as name: String, owner: String? = nil, options: PinOptions? = nil,
        refreshing: Bool = false
    ) async throws(ImageCacheError) -> PinSet {
        let requests = requests?.map { request in
            var request = request
            if request.owner == nil, let owner { request.owner = owner }
            return request
        }
        let (set, known) = try await executor.run { [self] () throws(ImageCacheError) in
            try savePins(requests, as: name, owner: owner ?? "", options)
        }
        var download = PinDownload(cache: self, set: set)
        download.refreshes = refreshing
        download.requests = known
        let running = download
        let failures = try await withTaskExecutorPreference(executor) { () async throws(ImageCacheError) in
            try await running.run()
        }
        let pinned = try await pins().first {
            !$0.isOfList && $0.name.hasSameBytes(as: name) && $0.owner?.asBytes == owner?.asBytes
        }
        guard var pinned else {
            throw ImageCacheError(.cancelled, message: "the set \(name) was unpinned meanwhile")
        }
        for index in pinned.failed.indices {
            pinned.failed[index].error = failures.first { $0.url.hasSameBytes(as: pinned.failed[index].url) }?.error
        }
        return pinned
    }

    private func savePins(
        _ requests: [FileRequest]?, as name: String, owner: String, _ options: PinOptions?
    ) throws(ImageCacheError) -> (PinSetState, [EntryKey: FileRequest]) {
        guard !name.isEmpty else { throw ImageCacheError(.invalidRequest, message: "a set of pins needs a name") }
        let former = try blocking.translating { try blocking.store.pinSet(owner: owner, name: name) }
        guard requests != nil || former != nil else {
            throw ImageCacheError(.notCached, message: "there is no set of pins with the name \(name)")
        }
        var members: [NewPin]?
        var known: [EntryKey: FileRequest] = [:]
        if let requests {
            var pins: [NewPin] = []
            for request in requests {
                do throws(ImageCacheError) {
                    let pin = try PinRequest.pin(for: request, by: fetcher.rules)
                    pins.append(pin)
                    known[pin.key] = request
                } catch { throw error.with(url: request.url) }
            }
            members = pins
        }
        let set = NewPinSet(
            owner: owner, name: name,
            maxStale: options.map { $0.maxStale?.components.seconds ?? -1 } ?? former?.maxStale ?? -1,
            interval: options.map { $0.refreshInterval?.components.seconds ?? -1 } ?? former?.interval ?? -1)
        let pins = members
        return (try blocking.translating { try blocking.store.savePinSet(set, members: pins) }, known)
    }

    /// Goes on with all sets of which something is missing, or is to be refreshed: what a process left undone that was killed.
    ///
    /// A cache does so by itself in the background (``Configuration/keepsPins``); this waits for the end.
    ///
    /// Failures are noted in the sets, and are no errors.
    public func resumePins() async throws(ImageCacheError) {
        let sets = try await pinSetStates()
        for set in sets where !set.isComplete || set.interval >= 0 {
            do throws(ImageCacheError) {
                _ = try await withTaskExecutorPreference(executor) { () async throws(ImageCacheError) in
                    try await PinDownload(cache: self, set: set).run()
                }
            } catch {
                if error.code == .cancelled { throw error }
            }
        }
    }

    /// The sets of pins, by owner and name, also those of the files of lists.
    public func pins() async throws(ImageCacheError) -> [PinSet] {
        try await executor.run { [self] () throws(ImageCacheError) in
            try blocking.translating {
                var sets: [PinSet] = []
                for state in try blocking.store.pinSets() {
                    let failed = try blocking.store.failedPins(of: state).map {
                        PinSet.Failure(url: $0.url, message: $0.error)
                    }
                    sets.append(PinSet(state, failed: failed))
                }
                return sets
            }
        }
    }

    /// Removes a set of pins. Its files stay in the store until they are evicted as any others are.
    ///
    /// - Returns: False when there was none.
    @discardableResult
    public func unpin(_ name: String, owner: String? = nil) async throws(ImageCacheError) -> Bool {
        try await executor.run { [self] () throws(ImageCacheError) in
            try blocking.translating {
                guard let set = try blocking.store.pinSet(owner: owner ?? "", name: name) else { return false }
                try blocking.store.removePinSet(set)
                return true
            }
        }
    }
}

extension PinSetState {
    fileprivate var isComplete: Bool { present == total }
}

extension PinSet {
    fileprivate init(_ state: PinSetState, failed: [Failure]) {
        self.init(
            name: state.name, owner: state.owner.isEmpty ? nil : state.owner, isOfList: state.list != 0,
            total: Int(state.total), present: Int(state.present), bytes: state.bytes, allocatedBytes: state.allocated,
            failed: failed)
    }
}
