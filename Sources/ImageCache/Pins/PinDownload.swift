package import DiskStore
import FoundationEssentials
import Transfer

/// Downloads the missing members of a set in parallel, with background priority.
package struct PinDownload: Sendable {
    let cache: DownloadCache
    let set: PinSetState
    /// True to revalidate stored members.
    var refreshes = false
    /// The callers' requests by key. Unlike the requests in the index, they have credentials.
    var requests: [EntryKey: FileRequest] = [:]
    var width = 4
    /// The options of the transfers of requests in the index.
    var transfer = TransferOptions()

    /// A member that failed.
    package struct Failure: Sendable {
        package var record: String
        package var url: String
        package var message: String
        var error: ImageCacheError
    }

    package init(cache: DownloadCache, set: PinSetState) {
        self.cache = cache
        self.set = set
    }

    private enum Outcome: Sendable {
        case present
        case failed(Failure)
        case noRoom(url: String, StoreError)
        case cancelled
    }

    /// Tries each member once.
    ///
    /// - Throws: `store(full)` if a new set does not fit next to the other pins; the set is then removed. `cancelled`.
    package func run() async throws(ImageCacheError) -> [Failure] {
        var failures: [Failure] = []
        var stop: ImageCacheError?
        await withTaskGroup(of: Outcome.self) { group in
            var members: [PinMember] = []
            var last: Int64 = 0
            var running = 0
            func next() throws(ImageCacheError) -> PinMember? {
                if members.isEmpty {
                    let after = last
                    members = try cache.blocking.translating {
                        try cache.blocking.store.pins(of: set, after: after, limit: 200)
                    }
                    .reversed()
                    last = members.first?.pin ?? last
                }
                return members.popLast()
            }
            func start() {
                while stop == nil, running < width, !Task.isCancelled {
                    do throws(ImageCacheError) {
                        guard let member = try next() else { return }
                        guard isDue(member) else { continue }
                        running += 1
                        group.addTask(executorPreference: cache.executor) { await load(member) }
                    } catch { stop = error }
                }
            }
            start()
            while let outcome = await group.next() {
                running -= 1
                switch outcome {
                case .present: break
                case .failed(let failure): failures.append(failure)
                case .noRoom(let url, let error): stop = stop ?? refused(url, error)
                case .cancelled: stop = stop ?? .cancelled
                }
                start()
            }
        }
        if let stop { throw stop }
        if Task.isCancelled { throw .cancelled }
        if failures.isEmpty { try cache.blocking.translating { try cache.blocking.store.notePinSetComplete(set) } }
        return failures
    }

    private func isDue(_ member: PinMember) -> Bool {
        guard member.isPresent, member.checked > 0, !refreshes else { return true }
        guard set.interval >= 0 else { return false }
        let age = cache.fetcher.now().timeIntervalSince1970 - Double(member.checked) / 1000
        return age < 0 || age >= Double(set.interval)
    }

    private func load(_ member: PinMember) async -> Outcome {
        do throws(ImageCacheError) {
            guard var request = requests[member.key] ?? saved(member) else {
                throw ImageCacheError(
                    .invalidRequest, url: member.url, message: "it needs credentials, which are not kept: pin it again")
            }
            request.priority = .background
            request.noStoreBehavior = .fail
            if member.isPresent, member.checked > 0 { request.policy = .reloadRevalidatingCacheData }
            let file = try await cache.file(for: request)
            // A response to an equivalent URL or without an owner, or an equal body, is stored under another key, which the pin does not hold.
            if !member.isPresent, file.body.entry.key != member.key, request.policy != .returnCacheDataDontLoad {
                request.policy = .reloadIgnoringLocalCacheData
                _ = try await cache.file(for: request)
            }
            try cache.blocking.translating { try cache.blocking.store.note(member, error: nil) }
            return .present
        } catch {
            if error.code == .cancelled { return .cancelled }
            if set.isNew, set.list == 0, let lack = lackOfRoom(error) { return .noRoom(url: member.url, lack) }
            // The failure is reported even if it cannot be recorded in the store.
            try? cache.blocking.store.note(member, error: error.message)
            return .failed(Failure(record: member.record, url: member.url, message: error.message, error: error))
        }
    }

    private func saved(_ member: PinMember) -> FileRequest? {
        var request = PinRequest.request(of: member, by: cache.fetcher.rules)
        request?.transfer = transfer
        return request
    }

    private func lackOfRoom(_ error: ImageCacheError) -> StoreError? {
        guard let cause = error.cause as? StoreError, [.held, .full, .tooLarge].contains(cause.code) else { return nil }
        return cause
    }

    /// Removes the set, which does not fit, and returns an error that says how much space it lacks.
    private func refused(_ url: String, _ error: StoreError) -> ImageCacheError {
        let error = cache.blocking.store.lacksRoom(for: set, url, error)
        try? cache.blocking.store.removePinSet(set)
        return ImageCacheError(.store(.full), path: error.path, message: error.message, cause: error)
    }
}
