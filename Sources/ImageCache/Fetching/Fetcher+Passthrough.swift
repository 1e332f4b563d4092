import ConcurrencyPrimitives
import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPSemantics
import HTTPTypes
import Transfer

/// Responses that begin before their body is complete: for a proxy, and for requests for a range or the head of a file.
extension Fetcher {
    /// Performs the fetch of a response for the client that requested it first.
    ///
    /// - Parameter consumer: ``Consumer/response(_:publishing:)``.
    func respond(
        _ resolved: ResolvedRequest, _ task: FetchPool.SharedTask, for consumer: Consumer
    ) async throws(ImageCacheError) -> CachedFile {
        try await starting(task.context, resolved) { () async throws(ImageCacheError) in
            try await performFetch(resolved, task, for: consumer)
        }
    }

    /// Forwards one client's request and its response without the store (``Consumer/passthrough``). Returns when the response has ended.
    ///
    /// - Throws: `.notStorable` after a response that was not stored.
    func forwardUncached(
        _ resolved: ResolvedRequest, _ status: CacheStatus, _ task: FetchPool.SharedTask, in generation: Generation
    ) async throws(ImageCacheError) -> CachedFile {
        try await starting(task.context, resolved) { () async throws(ImageCacheError) in
            var driver = FetchDriver(
                resolved, task, for: .passthrough, .passthrough, in: generation, status: status, by: self)
            return try await driver.run()
        }
    }

    /// Performs the work of a fetch, and reports its end to requests that still wait for its start.
    private func starting(
        _ fetch: Fetch, _ resolved: ResolvedRequest, _ work: () async throws(ImageCacheError) -> CachedFile
    ) async throws(ImageCacheError) -> CachedFile {
        do throws(ImageCacheError) {
            let file = try await work()
            fetch.start.fulfill(.file(file))
            fetch.end(with: file)
            return file
        } catch {
            let error = error.with(url: resolved.request.url)
            fetch.start.fulfill(.failed(error))
            fetch.end()
            throw error
        }
    }

    /// The response to a request from a file that was just fetched.
    func response(to resolved: ResolvedRequest, from file: CachedFile) throws(ImageCacheError) -> CachedResponse {
        var response = file.response
        response.extent = .complete(length: file.size)
        guard var served = rules.served(response, for: resolved.clientRequest, now: now()) else {
            throw ImageCacheError(
                .wrongBytes, url: resolved.url, message: "what was loaded does not answer the request")
        }
        if !file.isValidatedForItsRequest {
            served.withheldFields += ResponseDirectives(response.fields).noCacheFields
        }
        // The cookies are empty if another request received the response.
        let head = rules.head(of: served, from: response).withCookies(of: response)
        return CachedResponse(head, served.range(of: file.size), of: file)
    }

    /// Requests a file's head from the origin, and updates the stored responses with it (RFC 9111 section 4.3.5).
    func head(_ resolved: ResolvedRequest) async throws(ImageCacheError) -> CachedResponse {
        let fetch = Fetch(resolved.url, for: resolved.request)
        var request = resolved.transferRequest(for: fetch)
        request.method = .head
        let candidates = try candidates(for: resolved)
        let decision = Lookup(resolved.clientRequest, candidates, allowing: .usable).decision(by: rules, at: now())
            .decision
        for field in decision.conditionsOfForward { request.fields[field.name] = field.value }
        if Task.isCancelled { throw .cancelled }
        let result: TransferResult
        do throws(TransferError) {
            result = try await sources.transport(for: resolved.request, of: fetch).run(
                request, into: NoBody(), events: { resolved.report($0, to: fetch) })
        } catch {
            throw ImageCacheError(error)
        }
        let response = HTTPResponse(
            status: result.head.status, headerFields: result.head.fields.endToEnd())
        if response.status.kind != .successful {
            guard resolved.request.transfer.forwardsErrorResponses else { throw .failure(result, resolved) }
            var status = decision.cacheStatus()
            status.forwardStatus = response.status.code
            return CachedResponse(response, status)
        }
        for refreshed in rules.afterHead(
            response, to: resolved.clientRequest, stored: candidates.map(\.record.response),
            finalURL: result.head.finalURL,
            requestTime: result.head.requestTime, responseTime: result.head.responseTime)
        {
            _ = try await update(candidates[refreshed.candidate], with: refreshed.response, holds: false)
        }
        let received = rules.stored(
            response, to: resolved.clientRequest, redirects: result.head.storedRedirects,
            finalURL: result.head.finalURL,
            requestTime: result.head.requestTime, responseTime: result.head.responseTime)
        var status = decision.cacheStatus()
        status.forwardStatus = result.head.status.code
        guard let served = rules.served(received, for: resolved.clientRequest, now: now()) else {
            let head = HTTPResponse(status: received.status, headerFields: received.fields)
            return CachedResponse(head.withCookies(of: received), status)
        }
        return CachedResponse(rules.head(of: served, from: received).withCookies(of: received), status)
    }
}

extension CacheDecision {
    /// The fields of a forwarded request that are meant for caches on the way.
    fileprivate var conditionsOfForward: HTTPFields {
        if case .forward(let forward) = self { forward.fields } else { HTTPFields() }
    }
}
