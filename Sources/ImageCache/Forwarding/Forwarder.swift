import ConcurrencyPrimitives
import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPSemantics
import HTTPTypes
import Transfer

/// Responds to forwarded requests: from the store, by a request to the origin that concurrent requests share, or by passing the response
/// through.
final class Forwarder: Sendable {
    let fetcher: Fetcher
    private var executor: BlockingExecutor { fetcher.executor }
    private let unshared = Locked(UncacheableKeys())

    init(fetcher: Fetcher) { self.fetcher = fetcher }

    func response(to request: FileRequest) async throws(ImageCacheError) -> ForwardedResponse {
        let directives = RequestDirectives(request.fields)
        guard request.mayBeStored(directives) else {
            // A cache forwards unsafe requests in any case (RFC 9111 section 4).
            guard directives.onlyIfCached, request.method.isSafe else { return try await pass(request, because: nil) }
            return ForwardedResponse(
                HTTPResponse(status: .gatewayTimeout), nil, CacheStatus(cache: "imgcache", detail: "only-if-cached"))
        }
        let resolved = try ResolvedRequest(narrow: request, by: fetcher.rules)
        let fetcher = fetcher
        let key = resolved.key
        if !goesAlone(resolved), let response = try await responseByParts(to: request) { return response }
        // The responses to parts may have changed it.
        var goesAlone = goesAlone(resolved)
        let byBlocks = !goesAlone
        if let recent = try fetcher.recentResponse(resolved), !recent.needsRevalidation {
            return ForwardedResponse(recent.response)
        }
        let narrow = try await withTaskExecutorPreference(executor) { () async throws(ImageCacheError) in
            let narrow = try await fetcher.narrowResponse(resolved, byBlocks: byBlocks)
            if case .stored(let stored, _) = narrow { fetcher.hotResponses.keep(stored.response, to: resolved) }
            return narrow
        }
        switch narrow {
        case .stored(let stored, let generation):
            // Otherwise another request has just replaced the stale response.
            if stored.needsRevalidation, fetcher.store.isCurrent(generation) { refresh(resolved) }
            return ForwardedResponse(stored.response)
        case .blocks(let blocks): return ForwardedResponse(blocks)
        case .failed: return try await pass(request, because: .partial)
        case nil: break
        }
        if request.method == .head {
            return ForwardedResponse(
                try await withTaskExecutorPreference(executor) { () async throws(ImageCacheError) in
                    try await fetcher.head(resolved)
                })
        }
        // The response may again not be storable, and the whole body would be too much for a range or a conditional request.
        if goesAlone, resolved.isNarrow { return try await pass(request, because: .miss) }
        var variant: String?
        for _ in 0..<3 {
            let subscription = subscribe(to: resolved, variant, alone: goesAlone)
            let isFirst = subscription.isFirst
            guard let start = await subscription.context.start.value() else { throw .cancelled }
            guard isFirst || start.isForOthers else {
                if resolved.isNarrow { return try await pass(request, because: .miss) }
                goesAlone = true
                continue
            }
            switch start {
            case .failed(let error): throw error
            case .head(let head, let status): return ForwardedResponse(head, nil, status)
            case .passthrough(let head, let status, let body):
                if head.status.kind == .successful {
                    let isForCredentials = fetcher.rules.isRefusedForCredentials(
                        head, to: resolved.cacheRequest, receivedAt: fetcher.now())
                    unshared.withLock { $0.insert(key, isForCredentials: isForCredentials, now: .now) }
                }
                let reader = PassthroughBody.Reader(body, of: resolved.url, keeping: subscription)
                return ForwardedResponse(head, ForwardedBody(.passthrough(reader), length: head.contentLength), status)
            case .file(let file):
                if isFirst, file.isStored { unshared.withLock { $0.remove(key) } }
                if isFirst || matches(file.response, resolved) {
                    return ForwardedResponse(try fetcher.response(to: resolved, from: file.sharing(!isFirst)))
                }
                variant = variantKey(of: file.response, resolved)
            case .live(let response, var status, let version, let bodyProgress):
                if isFirst, start.isForOthers { unshared.withLock { $0.remove(key) } }
                if isFirst || matches(response, resolved) {
                    if !isFirst { status.collapsed = true }
                    let body = LiveBody(
                        bodyProgress: bodyProgress, subscription: subscription, url: resolved.url, version: version)
                    if isFirst { lingerForSmall(response, subscription) }
                    return try await self.response(
                        to: resolved, from: isFirst ? response : response.withEmptyCookies, status, body)
                }
                variant = variantKey(of: response, resolved)
            }
        }
        return try await pass(request, because: .varyMiss)
    }

    /// True if the responses to such requests could not be stored or shared lately.
    private func goesAlone(_ resolved: ResolvedRequest) -> Bool {
        unshared.withLock {
            $0.contains(resolved.key, hasCredentials: resolved.cacheRequest.hasCredentials, now: .now)
        }
    }

    // MARK: Following a body

    /// The response to a request whose body is still arriving.
    private func response(
        to resolved: ResolvedRequest, from response: StoredResponse, _ status: CacheStatus, _ body: LiveBody
    ) async throws(ImageCacheError) -> ForwardedResponse {
        var body = body
        guard case .complete(let length) = response.extent, body.bodyProgress.version == body.version,
            length != nil || !resolved.clientRequest.fields.contains(.range),
            let served = fetcher.rules.served(response, for: resolved.clientRequest, now: fetcher.now())
        else {
            let file = try await body.subscription.value().sharing(!body.subscription.isFirst)
            return ForwardedResponse(try fetcher.response(to: resolved, from: file))
        }
        let head = fetcher.rules.head(of: served, from: response).withCookies(of: response)
        switch served.body {
        case .none: return ForwardedResponse(head, nil, status)
        case .whole:
            guard response.status.mayHaveContent else { return ForwardedResponse(head, nil, status) }
            if let length {
                body.range = 0..<length
                body.awaitsStoring = true
            }
            return ForwardedResponse(head, ForwardedBody(.live(body), length: length), status)
        case .range(let range, _):
            body.range = range
            return ForwardedResponse(
                head, ForwardedBody(.live(body), length: range.upperBound - range.lowerBound), status)
        }
    }

    private func variantKey(of response: StoredResponse, _ resolved: ResolvedRequest) -> String? {
        fetcher.rules.variantKey(of: resolved.clientRequest.fields, for: response.fields)
    }

    private func matches(_ response: StoredResponse, _ resolved: ResolvedRequest) -> Bool {
        variantKey(of: response, resolved) != nil
            && fetcher.rules.isSelected(response, by: resolved.clientRequest.fields)
    }

    /// Continues the fetch of a small body when no caller is left: clients that asked whether it has changed, or that disconnected, are
    /// likely to return.
    private func lingerForSmall(_ response: StoredResponse, _ subscription: FetchPool.Subscription) {
        guard case .complete(let length?) = response.extent, length <= 4 << 20 else { return }
        subscription.keepUntilEnd()
    }

    // MARK: Shared requests to the origin

    /// Joins the fetch of the response to a request, or starts one.
    ///
    /// - Parameters:
    ///   - variant: The variant, if it is known.
    ///   - alone: True for a fetch that is joined only if its response turns out to be storable.
    private func subscribe(to resolved: ResolvedRequest, _ variant: String?, alone: Bool = false)
        -> FetchPool.Subscription
    {
        let key = FetchKey.response(
            ResponseKey(
                key: resolved.key, epoch: fetcher.store.generation(of: resolved.url).epoch, terms: FetchTerms(resolved),
                variant: variant))
        // Waits for another process no longer than a separate request would take to start.
        let consumer = Fetcher.Consumer.response(
            variant == nil && !alone ? .atMost(.seconds(1)) : .none, publishing: alone ? key : nil)
        let shared = alone ? nil : key
        let subscription = fetcher.pool.subscribe(
            to: shared, Fetch(resolved.url, shared, for: resolved.request), on: executor
        ) {
            [fetcher] (task) async throws(ImageCacheError) in
            try await fetcher.respond(resolved, task, for: consumer)
        }
        if !subscription.isFirst { subscription.context.join(resolved.request) }
        return subscription
    }

    /// Requests a newer response from the origin after a stale one was served.
    private func refresh(_ resolved: ResolvedRequest) {
        let subscription = subscribe(to: resolved.with(.reloadRevalidatingCacheData), nil)
        Task.detached {
            // A response that is not stored has no reader. Its transfer would wait for one forever.
            if case .passthrough? = await subscription.context.start.value() { return }
            _ = await subscription.outcome()
        }
    }

    // MARK: Unshared requests to the origin

    /// Forwards the request, and passes the response through without storing it.
    private func pass(
        _ request: FileRequest, because reason: ForwardReason?
    ) async throws(ImageCacheError) -> ForwardedResponse {
        let isSafe = request.method.isSafe
        let resolved = try ResolvedRequest(passing: request, by: fetcher.rules)
        let status = CacheStatus(
            cache: "imgcache", forward: reason ?? (isSafe ? .bypass : .method))
        let generation = fetcher.store.generation(of: resolved.url)
        let subscription = fetcher.pool.subscribe(
            to: nil, Fetch(resolved.url, for: request), on: executor
        ) {
            [fetcher] (task) async throws(ImageCacheError) in
            try await fetcher.forwardUncached(resolved, status, task, in: generation)
        }
        guard let start = await subscription.context.start.value() else { throw .cancelled }
        if !isSafe, let head = start.head {
            // Before the client receives the head, so that its next request does not get an invalidated response.
            await withTaskExecutorPreference(executor) { [fetcher] in
                _ = await subscription.context.invalidateOnce {
                    fetcher.invalidate(after: head, resolved, generation)
                }
            }
        }
        switch start {
        case .passthrough(let head, let status, let body):
            let reader = PassthroughBody.Reader(body, of: resolved.url, keeping: subscription)
            return ForwardedResponse(head, ForwardedBody(.passthrough(reader), length: head.contentLength), status)
        case .live(let response, let status, let version, let bodyProgress):
            var body = LiveBody(
                bodyProgress: bodyProgress, subscription: subscription, url: resolved.url, version: version)
            let head = HTTPResponse(status: response.status, headerFields: response.fields)
                .withCookies(of: response)
            guard case .complete(let length?) = response.extent else {
                return ForwardedResponse(head, ForwardedBody(.live(body), length: nil), status)
            }
            body.range = 0..<length
            body.awaitsStoring = true
            return ForwardedResponse(head, ForwardedBody(.live(body), length: length), status)
        case .head(let head, let status): return ForwardedResponse(head, nil, status)
        case .failed(let error): throw error
        case .file: throw ImageCacheError(.store(.io), message: "a passed answer is not stored")
        }
    }
}

extension FileRequest {
    /// True if the response may come from the store or be stored.
    fileprivate func mayBeStored(_ directives: RequestDirectives) -> Bool {
        guard method == .get || method == .head, body == nil else { return false }
        // Caches do not evaluate preconditions on the origin's state (RFC 9111 section 4.3.2).
        guard !fields.contains(.ifMatch), !fields.contains(.ifUnmodifiedSince) else { return false }
        return !directives.noStore
    }
}

extension HTTPResponse {
    fileprivate var contentLength: Int64? { ContentLength.value(of: headerFields) }
}
