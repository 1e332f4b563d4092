import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPSemantics
import HTTPTypes
import Transfer

extension Fetcher {
    /// A response from the store.
    struct StoredHit {
        var response: CachedResponse
        /// It is stale, and is to be made fresh in the background.
        var needsRefresh = false
    }

    /// The stored response, if it may be served without asking the origin.
    func storedHit(_ resolved: ResolvedRequest) throws(ImageCacheError) -> StoredHit? {
        var candidates = try candidates(for: resolved)
        var partial = try partialCandidate(for: resolved)
        while true {
            let stored = candidates.map(\.record.response) + (partial.map { [$0.response] } ?? [])
            let decision = rules.decide(resolved.asked, stored: stored, now: now())
            let served: ServedResponse
            var needsRefresh = false
            switch decision {
            case .serve(let response): served = response
            case .serveAndRevalidate(let response, _):
                guard revalidatesInBackground else { return nil }
                needsRefresh = true
                served = response
            case .fail(let failure):
                guard failure.reason == .onlyIfCached else { throw Self.notCached(resolved) }
                return StoredHit(
                    response: CachedResponse(HTTPResponse(status: .gatewayTimeout), decision.cacheStatus()))
            case .validate, .forward: return nil
            }
            let head = rules.head(of: served, from: stored[served.candidate])
            if served.candidate < candidates.count {
                if let file = try open(candidates[served.candidate], for: resolved, served, decision) {
                    return StoredHit(
                        response: CachedResponse(head, served.range(of: file.size), of: file),
                        needsRefresh: needsRefresh)
                }
                candidates.remove(at: served.candidate)
            } else {
                if let body = partial?.body, let range = served.range(of: nil), try isIntact(range, of: body) {
                    return StoredHit(
                        response: CachedResponse(head, range, of: body, decision.cacheStatus()),
                        needsRefresh: needsRefresh)
                }
                partial = nil
            }
        }
    }

    /// The response to a request from a file that was just loaded.
    func response(to resolved: ResolvedRequest, from file: CachedFile) throws(ImageCacheError) -> CachedResponse {
        var response = file.response
        response.extent = .complete(length: file.size)
        guard let served = rules.served(response, for: resolved.asked, now: now()) else {
            throw ImageCacheError(
                .wrongBytes, url: resolved.url, message: "what was loaded does not answer the request")
        }
        // The values are empty where another request has received it.
        let head = rules.head(of: served, from: response).withCookies(of: response)
        return CachedResponse(head, served.range(of: file.size), of: file)
    }

    /// Asks the origin for a file's head alone, and lets what is stored learn from it (RFC 9111 section 4.3.5).
    func head(_ resolved: ResolvedRequest) async throws(ImageCacheError) -> CachedResponse {
        let fetch = Fetch(resolved.url, for: resolved.request)
        var request = resolved.transferRequest(for: fetch)
        request.method = .head
        let candidates = try candidates(for: resolved)
        let decision = rules.decide(resolved.asked, stored: candidates.map(\.record.response), now: now())
        for field in decision.conditionsOfForward { request.fields[field.name] = field.value }
        if Task.isCancelled { throw .cancelled }
        let result: TransferResult
        do throws(TransferError) {
            result = try await transport.run(request, into: NoBody(), events: { resolved.report($0, to: fetch) })
        } catch {
            throw ImageCacheError(error)
        }
        let response = HTTPResponse(
            status: result.head.status, headerFields: result.head.fields.endToEnd())
        if response.status.kind != .successful {
            guard resolved.request.transfer.forwardsErrorResponses else { throw Self.failure(result, resolved) }
            var status = decision.cacheStatus()
            status.forwardStatus = response.status.code
            return CachedResponse(response, status)
        }
        for refreshed in rules.afterHead(
            response, to: resolved.asked, stored: candidates.map(\.record.response), finalURL: result.head.finalURL,
            requestTime: result.head.requestTime, responseTime: result.head.responseTime)
        {
            _ = try await update(candidates[refreshed.candidate], with: refreshed.response, holds: false)
        }
        let received = rules.stored(
            response, to: resolved.asked, redirects: result.head.storedRedirects, finalURL: result.head.finalURL,
            requestTime: result.head.requestTime, responseTime: result.head.responseTime)
        var status = decision.cacheStatus()
        status.forwardStatus = result.head.status.code
        guard let served = rules.served(received, for: resolved.asked, now: now()) else {
            return CachedResponse(HTTPResponse(status: received.status, headerFields: received.fields), status)
        }
        return CachedResponse(rules.head(of: served, from: received).withCookies(of: received), status)
    }

    // MARK: Partials

    private struct PartialCandidate {
        var body: PartialBody
        var response: StoredResponse
    }

    /// The held part of an unfinished download, as an incomplete response (RFC 9111 section 3.3).
    private func partialCandidate(for resolved: ResolvedRequest) throws(ImageCacheError) -> PartialCandidate? {
        do throws(StoreError) {
            guard let body = try store.openPartial(for: resolved.key), !body.held.isEmpty,
                let record = ResponseRecord(decoding: body.header)
            else { return nil }
            // A partial of what must not be stored is kept for its own download alone.
            let message = HTTPResponse(status: record.response.status, headerFields: record.response.fields)
            guard case .store = rules.storability(of: message, to: resolved.cacheRequest, receivedAt: now()) else {
                return nil
            }
            var response = record.response
            response.extent = .partial(held: body.held, total: body.total)
            return PartialCandidate(body: body, response: response)
        } catch {
            throw ImageCacheError(error)
        }
    }

    private func isIntact(_ range: Range<Int64>, of body: PartialBody) throws(ImageCacheError) -> Bool {
        do throws(StoreError) { return try body.isIntact(range) } catch { throw ImageCacheError(error) }
    }
}

extension ServedResponse {
    /// The bytes of the representation that are the content.
    fileprivate func range(of size: Int64?) -> Range<Int64>? {
        switch body {
        case .none: nil
        case .whole: size.map { 0..<$0 }
        case .range(let range, _): range
        }
    }
}

extension CacheDecision {
    /// The fields of a forwarded request that are meant for caches on the way.
    fileprivate var conditionsOfForward: HTTPFields {
        if case .forward(let forward) = self { forward.fields } else { HTTPFields() }
    }
}
