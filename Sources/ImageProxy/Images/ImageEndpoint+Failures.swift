import FoundationEssentials
import HTTPCaching
import HTTPServer
import HTTPTypes
import ImageCache

extension ImageEndpoint {
    /// The response for a recent failure of this image, or nil if none is cached.
    func knownFailure(
        of operation: ImageOperation, for incoming: Request, _ rules: ImageRules, at now: Date
    ) -> Response? {
        let known = negatives.known(for: operation, rules, at: now) { cache.isCurrent($0) }
        guard let known, !known.isOfOriginal else { return nil }
        return response(to: known, for: incoming, rules)
    }

    /// The response if the image or its original is known to fail. If the image is stored and fresh, this is still the image.
    func responseDespiteKnownFailure(
        of operation: ImageOperation, for incoming: Request, _ rules: ImageRules
    ) async -> Response? {
        let known = negatives.known(for: operation, rules, at: now()) { cache.isCurrent($0) }
        guard let known else { return nil }
        guard known.isOfOriginal else { return response(to: known, for: incoming, rules) }
        if let stored = await cache.storedThumbnail(for: operation.request, as: operation.encoding) {
            let image = ServedImage(stored, operation, name: rules.name)
            if image.refusal(rules) == nil { return image.response(to: incoming, rules, at: now()) }
        }
        negatives.noteNothingStored(of: operation, at: now())
        return response(to: known, for: incoming, rules)
    }

    private func response(
        to known: NegativeResponses<DownloadCache.ResourceState>.Known, for incoming: Request, _ rules: ImageRules
    ) -> Response {
        let status = CacheStatus(cache: rules.name, hit: true, timeToLive: known.seconds, detail: "NEGATIVE")
        return response(to: known.response, for: incoming, rules, status, known.seconds)
    }

    /// The response for a failure, which is cached if it is likely to last.
    ///
    /// - Parameter before: The state of the original's resource when the request arrived.
    func failure(
        _ response: Response, of operation: ImageOperation, for incoming: Request, _ rules: ImageRules,
        since before: DownloadCache.ResourceState
    ) -> Response {
        // Storing the original that could not be decoded was itself a change.
        let seconds =
            cache.isInvalidated(since: before)
            ? 0 : negatives.note(response, of: operation, rules, cache.state(of: operation.request), at: now())
        return self.response(
            to: response, for: incoming, rules, CacheStatus(cache: rules.name, forward: .uriMiss), seconds)
    }

    /// The failure as JSON, or as a fallback image if the client accepts images and the status has one.
    private func response(
        to failure: Response, for incoming: Request, _ rules: ImageRules, _ cacheStatus: CacheStatus, _ seconds: Int
    ) -> Response {
        var response = failure
        response.head.headerFields[.cacheStatus] = cacheStatus.description
        guard let file = rules.fallbacks.file(for: failure.head.status.code) else { return response }
        response.head.headerFields[.vary] = "Accept"
        guard AcceptedFormats(incoming.head.fields[values: .accept]).isImage else { return response }
        response.head.headerFields[.contentType] = file.format.mediaType
        response.head.headerFields[.cacheControl] = "max-age=\(max(1, seconds))"
        response.head.headerFields[.xContentTypeOptions] = "nosniff"
        response.body = .bytes(file.bytes)
        return response
    }
}
