import ConcurrencyPrimitives
package import DiskStore
import TextIdentity

extension DownloadCache {
    /// Pins files under a name: downloads missing ones with background priority, and protects all of them from eviction until
    /// ``unpin(_:owner:)``. Pinned files count towards the capacity.
    ///
    /// The set is saved in the index before the first download. If this call is cancelled or the process ends, the download is resumed by
    /// another call, by ``resumePins(transfer:)``, or by the next cache that is opened on the directory. If a set with the name exists, its
    /// members are replaced; files that are members of both remain stored.
    ///
    /// - Parameters:
    ///   - requests: The members in the order of download; `nil`: the members of the existing set. Credentials are not saved.
    ///   - name: The set's name.
    ///   - owner: The set's owner, which is also the owner of requests without one.
    ///   - options: The options of all members; `nil`: the existing set's, or the defaults.
    ///   - refreshing: True to revalidate stored members.
    /// - Returns: The state of the set. Members that failed are listed in ``PinSet/failed``, and the next call tries them again.
    /// - Throws: ``ImageCacheError``, in particular with these codes:
    ///   - `store(full)` if the set does not fit next to the other pins; the message has the figures. If the sizes are known
    ///     (``BodyIntegrity/size``, or stored members), it is thrown before any download, and nothing changes. Otherwise it is thrown when a
    ///     member of a new set does not fit, and the new set is removed.
    ///   - `notCached` if `requests` is `nil` and there is no such set.
    ///   - `invalidRequest` for a request that cannot be pinned.
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

    /// The pin of a request, to be stored with a set.
    package func newPin(for request: FileRequest) throws(ImageCacheError) -> NewPin {
        try PinRequest.pin(for: request, by: fetcher.rules)
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
                    let pin = try newPin(for: request)
                    pins.append(pin)
                    known[pin.key] = request
                } catch { throw error.with(url: request.url) }
            }
            members = pins
        }
        let set = NewPinSet(
            owner: owner, name: name,
            maxStale: options.map { $0.maxStale?.components.seconds ?? -1 } ?? former?.maxStale ?? -1,
            interval: options.map { $0.refreshInterval.map(PinSchedule.interval) ?? -1 } ?? former?.interval ?? -1)
        let pins = members
        return (try blocking.translating { try blocking.store.savePinSet(set, members: pins) }, known)
    }

    /// Resumes all sets that a killed process left incomplete, and revalidates the members that are due for a refresh.
    ///
    /// A cache does the same in the background (``Configuration/keepsPins``); this call returns when all sets have been tried. Failures are
    /// recorded in ``PinSet/failed`` and are not thrown.
    ///
    /// - Parameter transfer: The options of the downloads, such as a proxy. Credentials and cookies in them are not sent.
    /// - Throws: `cancelled`, or the error of reading the sets.
    public func resumePins(transfer: TransferOptions = TransferOptions()) async throws(ImageCacheError) {
        let sets = try await pinSetStates()
        for set in sets where !set.isComplete || set.interval >= 0 {
            do throws(ImageCacheError) {
                _ = try await withTaskExecutorPreference(executor) { () async throws(ImageCacheError) in
                    var download = PinDownload(cache: self, set: set)
                    download.transfer = transfer.withoutIdentity
                    _ = try await download.run()
                }
            } catch {
                if error.code == .cancelled { throw error }
            }
        }
    }

    /// All sets of pins by owner and name, including the sets of the files of lists.
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

    /// Removes a set of pins. Its files remain stored until they are evicted like any others.
    ///
    /// - Returns: False if there is no such set.
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

extension TransferOptions {
    /// The options without those that tell the server who the user is.
    fileprivate var withoutIdentity: TransferOptions {
        var options = self
        (options.credentials, options.netrc, options.clientCertificate, options.cookieFile) = (nil, .off, nil, nil)
        return options
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
