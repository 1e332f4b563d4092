import ConcurrencyPrimitives
import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPSemantics
import HTTPTypes

/// The bodies that are read by blocks in this process, by key.
final class RangeFetches: Sendable {
    private struct State {
        var fetches: [EntryKey: RangeFetch] = [:]
        /// The keys whose responses could not be kept by blocks lately.
        var undivided = UncacheableKeys()
    }

    private let state = Locked(State())

    /// The result of a search for the fetch of a body.
    enum Found {
        case reader(RangeReader)
        /// The origin confirmed the stored response.
        case confirmed(CachedFile)
        /// Another process uses the blocks.
        case busy
        /// The store has changed since the look-up that found no response.
        case changed
        /// The fetch of earlier readers was closing, and is closed now.
        case closed
        /// All of the body must be requested.
        case none
    }

    /// Finds the fetch of the body of a request, or starts one.
    ///
    /// - Parameter generation: The generation of the resource before the look-up that found no response.
    func reader(
        for resolved: ResolvedRequest, _ range: ByteRange, in generation: Generation, by fetcher: Fetcher
    ) async throws(ImageCacheError) -> Found {
        let found = state.withLock { state -> (fetch: RangeFetch, isNew: Bool)? in
            if let fetch = state.fetches[resolved.key] { return (fetch, false) }
            if state.undivided.contains(
                resolved.key, hasCredentials: resolved.cacheRequest.hasCredentials, now: .now)
            {
                return nil
            }
            let fetch = RangeFetch(resolved, in: generation, by: fetcher)
            state.fetches[resolved.key] = fetch
            return (fetch, true)
        }
        guard let (fetch, isNew) = found else { return .none }
        if isNew {
            fetch.open(range)
        } else {
            switch fetch.join(resolved) {
            case .joined: break
            case .differs: return .none
            case .closing:
                guard await fetch.waitUntilClosed() else { throw .cancelled }
                return .closed
            }
        }
        let reader = RangeReader(fetch, isFirst: isNew)
        switch try await fetch.opened() {
        case .byBlocks: return fetch.isSelected(by: resolved) ? .reader(reader) : .none
        case .confirmed(let file):
            let isSelected = fetcher.rules.isSelected(file.response, by: resolved.clientRequest.fields)
            return isSelected ? .confirmed(file.sharing(!isNew)) : .none
        case .busy: return .busy
        case .changed: return .changed
        case .whole: return .none
        }
    }

    /// - Parameter isForCredentials: True if only requests with credentials are affected.
    func noteUndivided(_ key: EntryKey, isForCredentials: Bool) {
        state.withLock { $0.undivided.insert(key, isForCredentials: isForCredentials, now: .now) }
    }

    /// The URLs and the progress of the bodies that are being requested.
    var running: [(url: String, progress: DownloadProgress)] {
        state.withLock { Array($0.fetches.values) }.compactMap { fetch in
            fetch.progress.map { (fetch.fetch.url, $0) }
        }
    }

    /// Cancels fetches for all of their readers.
    func cancel(where isMeant: (Fetch) -> Bool) {
        for fetch in state.withLock({ Array($0.fetches.values) }) where isMeant(fetch.fetch) { fetch.cancel() }
    }

    /// Waits until the bodies without readers are closed: their blocks are then noted in the store.
    func waitUntilClosed() async {
        for fetch in state.withLock({ Array($0.fetches.values) }) where fetch.isClosing {
            _ = await fetch.waitUntilClosed()
        }
    }

    func remove(_ fetch: RangeFetch) {
        state.withLock { state in
            if state.fetches[fetch.resolved.key] === fetch { state.fetches[fetch.resolved.key] = nil }
        }
    }
}

/// One reader of a body by blocks. Releasing it ends the use.
final class RangeReader: Sendable {
    let fetch: RangeFetch
    /// True if the body was opened for this reader.
    let isFirst: Bool
    /// The number of confirmations before this reader.
    private let confirmations: Int
    /// The bytes that were received before this reader.
    private let receivedBefore: Int64
    private let position = Locked(Int64(0))

    fileprivate init(_ fetch: RangeFetch, isFirst: Bool) {
        self.fetch = fetch
        self.isFirst = isFirst
        confirmations = isFirst ? 0 : fetch.confirmations
        receivedBefore = isFirst ? 0 : fetch.bytesReceived
    }

    deinit { fetch.leave(at: position.withLock { $0 }) }

    /// The bytes that were received for a range since this reader began: at most its blocks, because others may have read at the same time.
    func received(for range: Range<Int64>) -> Int64 {
        let blocks = RangePlan.blocks(of: range)
        return min(fetch.bytesReceived - receivedBefore, Int64(blocks.count))
    }

    /// Waits until the reader may begin.
    func waitUntilValid(
        _ window: Range<Int64>, _ isFresh: (StoredResponse) -> Bool
    ) async throws(ImageCacheError) {
        try await fetch.waitUntilValid(window, since: confirmations, isFresh)
    }

    /// Waits for bytes of a range at a position.
    ///
    /// - Returns: The end of the available bytes.
    func available(at position: Int64, of range: Range<Int64>) async throws(ImageCacheError) -> Int64 {
        let end = try await fetch.available(at: position, of: range)
        self.position.withLock { $0 = end }
        // The next window is requested while this one is read.
        let next = RangePlan.window(at: position, of: range).upperBound
        if next < range.upperBound, end >= next - RangePlan.window / 2 {
            // If it fails, the reader learns that when it gets there.
            try? fetch.request(RangePlan.window(at: next, of: range))
        }
        return end
    }
}

/// Requests for a range of a body.
extension Fetcher {
    /// A response without a request for all of the body.
    enum NarrowResponse {
        /// The response, and the generation of the resource before the look-up.
        case stored(StoredResponseHit, Generation)
        case blocks(RangeOfBlocks)
        /// The blocks could not be requested or stored. A request for all of the body would cost more, and not do better.
        case failed(ImageCacheError)
    }

    /// The stored response to a request; for a range that is not stored, a response of which only the missing blocks are requested. `nil` if all of the
    /// body must be requested, or its head.
    ///
    /// - Parameter byBlocks: False to return only a stored response.
    func narrowResponse(
        _ resolved: ResolvedRequest, byBlocks: Bool = true
    ) async throws(ImageCacheError) -> NarrowResponse? {
        var attempts = 3
        while true {
            let generation = store.generation(of: resolved.url)
            if let stored = try storedResponse(resolved) { return .stored(stored, generation) }
            guard byBlocks, tier == nil, let asked = resolved.divisibleRange, attempts > 0 else { return nil }
            switch try await rangeFetches.reader(for: resolved, asked, in: generation, by: self) {
            case .none: return nil
            case .closed: continue
            case .changed: attempts -= 1
            case .confirmed(let file):
                return .stored(StoredResponseHit(response: try response(to: resolved, from: file)), generation)
            case .busy:
                return .failed(
                    ImageCacheError(.store(.busy), url: resolved.url, message: "another process is reading the file"))
            case .reader(let reader):
                do throws(ImageCacheError) {
                    return try await rangeOfBlocks(resolved, reader).map { .blocks($0) }
                } catch  where error.cause is RepresentationChanged {
                    attempts -= 1
                } catch {
                    guard error.code.statusCode != nil || error.code.storeReason != nil else { throw error }
                    return .failed(error)
                }
            }
        }
    }

    /// The response to a request for a range, as soon as a running fetch of all of the body has stored its bytes; `nil` if there is no such fetch, or
    /// if it ends before.
    func rangeOfRunningFetch(_ resolved: ResolvedRequest) async throws(ImageCacheError) -> CachedResponse? {
        guard case .from(_, let last?)? = resolved.divisibleRange,
            let running = fetches.running(resolved.key, in: store.generation(of: resolved.url).epoch),
            let subscription = pool.join(running.task)
        else { return nil }
        // The fetch must not end with its other readers.
        defer { withExtendedLifetime(subscription) {} }
        fetches.raise(resolved.key, to: resolved.request.priority)
        for await snapshot in running.task.context.bodyProgress.subscribe() where snapshot.available > last {
            if let stored = try storedResponse(resolved) { return stored.response }
        }
        return nil
    }

    private func rangeOfBlocks(
        _ resolved: ResolvedRequest, _ reader: RangeReader
    ) async throws(ImageCacheError) -> RangeOfBlocks? {
        let fetch = reader.fetch
        guard let response = fetch.response, case .complete(let total?) = response.extent,
            let served = rules.served(response, for: resolved.clientRequest, now: now())
        else { return nil }
        let range: Range<Int64>? =
            switch served.body {
            case .range(let range, _): range
            case .none: nil
            case .whole: 0..<total
            }
        if range == 0..<total { return nil }
        let window = range.map { RangePlan.window(at: $0.lowerBound, of: $0) } ?? 0..<0
        try fetch.request(window)
        try await reader.waitUntilValid(window) { response in
            Lookup.isUsable(response, for: resolved, by: rules, at: now())
        }
        guard let current = fetch.response, let served = rules.served(current, for: resolved.clientRequest, now: now()),
            served.range(of: total) == range
        else { return nil }
        // Until the first bytes are there, another response may still replace this one.
        if let range { _ = try await reader.available(at: range.lowerBound, of: range) }
        var status = CacheStatus(cache: "imgcache", forward: reader.isFirst && fetch.isNew ? .uriMiss : .partial)
        status.forwardStatus = 206
        status.stored = true
        status.collapsed = !reader.isFirst
        status.timeToLive = served.remainingLifetime
        return RangeOfBlocks(
            head: rules.head(of: served, from: current), status: status, range: range, reader: reader)
    }

    /// The response when all of its bytes are stored.
    func response(_ blocks: RangeOfBlocks) async throws(ImageCacheError) -> CachedResponse {
        guard let range = blocks.range else { return CachedResponse(blocks.head, blocks.status) }
        var position = range.lowerBound
        while position < range.upperBound {
            position = try await blocks.reader.available(at: position, of: range)
        }
        return CachedResponse(
            blocks.head, range, of: try blocks.reader.fetch.openedBody(), blocks.status,
            bytesTransferred: blocks.reader.received(for: range))
    }

    // MARK: Bodies that stay open

    /// The incomplete body of a request that was read lately; `nil` if it does not have the range any more, or not yet.
    func recentPartial(for resolved: ResolvedRequest) -> OpenPartials.Item? {
        guard let item = openPartials.withLock({ $0.item(resolved.key, at: .now) }) else { return nil }
        if store.isCurrent(item.generation), item.body.isStored, item.range(of: resolved) != nil {
            return item
        }
        openPartials.withLock { $0.remove(resolved.key) }
        return nil
    }

    /// The incomplete body of a request, and its response; `nil` if there is none.
    func openPartial(for resolved: ResolvedRequest) throws(StoreError) -> OpenPartials.Item? {
        if let item = recentPartial(for: resolved) { return item }
        let generation = store.generation(of: resolved.url)
        guard let body = try store.openPartial(for: resolved.key), !body.held.isEmpty,
            let record = ResponseRecord(decoding: body.header)
        else { return nil }
        let item = OpenPartials.Item(body: body, record: record, generation: generation, opened: .now)
        let isFirst = openPartials.withLock { partials in
            partials.insert(item, for: resolved.key)
            return partials.beginTiming()
        }
        if isFirst { closeOldPartials() }
        return item
    }

    /// Closes the bodies that were read last a while ago: as long as they are open, the disk has their space even after they were removed.
    private func closeOldPartials() {
        Task { [weak self] in
            repeat {
                try? await Task.sleep(for: OpenPartials.life)
            } while self?.openPartials.withLock { $0.removeOld(at: .now) } ?? false
        }
    }
}

extension Lookup {
    /// Returns true if a stored response may be served without a request to the origin.
    fileprivate static func isUsable(
        _ response: StoredResponse, for resolved: ResolvedRequest, by rules: CacheRules, at now: Date
    ) -> Bool {
        StoredDecision(resolved.clientRequest, stored: [response], allowing: .usable, by: rules, at: now).served != nil
    }
}

extension ResolvedRequest {
    /// The range that is requested, if it may be answered by blocks of the body: nothing in the request is about all of the body.
    fileprivate var divisibleRange: ByteRange? {
        guard clientRequest.method == .get, request.isPlainGet, cacheRequest.policy == .useProtocolCachePolicy,
            !clientRequest.fields.contains(.ifNoneMatch), !clientRequest.fields.contains(.ifModifiedSince),
            !clientRequest.fields.contains(where: \.isCacheDirective),
            request.resumes,
            expectedDigest == nil, request.mirrors.isEmpty, request.integrity == BodyIntegrity(),
            request.evictedOriginalID == nil
        else { return nil }
        return ByteRange(clientRequest.fields)
    }
}
