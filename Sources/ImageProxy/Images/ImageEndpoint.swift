package import FoundationEssentials
package import HTTPServer
import HTTPTypes
package import ImageCache

/// The part of the cache that renders images.
package protocol ThumbnailRendering: Sendable {
    func hotThumbnail(for request: ImageRequest, as encoding: ThumbnailEncoding) -> Thumbnail?
    func useAgain(_ thumbnail: Thumbnail) -> Bool
    func state(of request: ImageRequest) -> DownloadCache.ResourceState
    func isCurrent(_ state: DownloadCache.ResourceState) -> Bool
    func isInvalidated(since state: DownloadCache.ResourceState) -> Bool
    func storedThumbnail(for request: ImageRequest, as encoding: ThumbnailEncoding) async -> Thumbnail?
    func thumbnail(
        for request: ImageRequest, as encoding: ThumbnailEncoding
    ) async throws(ImageCacheError) -> Thumbnail
    func unchanged(
        _ request: ImageRequest, if format: ImageFormat, mostBytes: Int
    ) async throws(ImageCacheError) -> Thumbnail?
}

extension DownloadCache: ThumbnailRendering {}

/// Serves `/image/OPTIONS/PATH`: an image derived from the file at PATH.
///
/// The endpoint is the origin of these images for its clients (RFC 9110 section 3.6), and their lifetime is the original's. Cache
/// directives of a request (such as `Cache-Control: no-cache`) have no effect, so that clients cannot force rendering.
package final class ImageEndpoint: RequestHandler {
    let cache: any ThumbnailRendering
    private let rules: ImageRules
    private let renders: RenderCounts
    private let isCurrent: @Sendable () -> Bool
    let now: @Sendable () -> Date
    let negatives = NegativeResponses<DownloadCache.ResourceState>()
    private let known = ParsedTargets()

    /// - Parameters:
    ///   - renders: Counts the images that are rendered.
    ///   - isCurrent: Returns false once other rules have replaced these.
    package init(
        rules: ImageRules, cache: any ThumbnailRendering, renders: RenderCounts = RenderCounts(),
        isCurrent: @escaping @Sendable () -> Bool = { true },
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.rules = rules
        self.cache = cache
        self.renders = renders
        self.isCurrent = isCurrent
        self.now = now
    }

    func originalURL(of target: String) -> String? { rules.originalURL(of: target) }

    package func readyResponse(to incoming: Request) -> Response? { readyResponse(to: incoming, notAfter: nil) }

    package func response(to incoming: Request) async -> Response { await response(to: incoming, notAfter: nil) }

    fileprivate func readyResponse(to incoming: Request, notAfter expiry: Int64?) -> Response? {
        guard incoming.method == .get || incoming.method == .head else { return nil }
        let time = now()
        do throws(ImageRequestError) {
            let operation = try operation(incoming, notAfter: expiry, rules, time)
            guard let thumbnail = cache.hotThumbnail(for: operation.request, as: operation.encoding) else {
                return knownFailure(of: operation, for: incoming, rules, at: time)
            }
            let image = ServedImage(thumbnail, operation, name: rules.name)
            if let refusal = image.refusal(rules) {
                return knownFailure(of: operation, for: incoming, rules, at: time)
                    ?? failure(
                        refusal, of: operation, for: incoming, rules, since: cache.state(of: operation.request))
            }
            var response = image.response(to: incoming, rules, at: time)
            if response.error == nil, !rules.tellsTiming {
                response.reuse = reuse(thumbnail, operation, at: time)
            }
            return response
        } catch {
            return Response(error)
        }
    }

    private func reuse(_ thumbnail: Thumbnail, _ operation: ImageOperation, at time: Date) -> ResponseReuse {
        // A response can be replayed until the end of this second, when `Date` changes. Therefore the remaining time of a signature also
        // stays correct.
        let left = min(thumbnail.freshUntil.timeIntervalSince(time), thumbnail.freshness.timeToNextChange(after: time))
        return ResponseReuse(
            selectingNames: (operation.variesOnAccept ? ["accept"] : []) + operation.hintNames.map { $0.lowercased() },
            lifetime: .seconds(min(1, max(0, left)))
        ) { [cache, isCurrent] in isCurrent() && cache.useAgain(thumbnail) }
    }

    fileprivate func response(to incoming: Request, notAfter expiry: Int64?) async -> Response {
        guard incoming.method == .get || incoming.method == .head else {
            return Self.response(toOther: incoming.method)
        }
        let operation: ImageOperation
        do throws(ImageRequestError) { operation = try self.operation(incoming, notAfter: expiry, rules, now()) } catch
        {
            return Response(error)
        }
        if let known = await responseDespiteKnownFailure(of: operation, for: incoming, rules) { return known }
        let before = cache.state(of: operation.request)
        var request = operation.request
        request.file.client = incoming.client.subscriber
        do throws(ImageCacheError) {
            return try await image(operation, request, for: incoming, rules, since: before)
        } catch {
            let response = error.isSVGOtherwise(rules) ? .svgOtherwise(error) : Response(imageFailure: error)
            return failure(response, of: operation, for: incoming, rules, since: before)
        }
    }

    private func image(
        _ operation: ImageOperation, _ request: ImageRequest, for incoming: Request, _ rules: ImageRules,
        since before: DownloadCache.ResourceState
    ) async throws(ImageCacheError) -> Response {
        do throws(ImageCacheError) {
            let thumbnail = try await cache.thumbnail(for: request, as: operation.encoding)
            renders.note(thumbnail, preset: operation.preset)
            let image = ServedImage(thumbnail, operation, name: rules.name)
            if let refusal = image.refusal(rules) {
                return failure(refusal, of: operation, for: incoming, rules, since: before)
            }
            return image.response(to: incoming, rules, at: now())
        } catch {
            if let svg = try await passedSVG(error, of: operation, request, for: incoming, rules) { return svg }
            throw error
        }
    }

    private func operation(
        _ incoming: Request, notAfter expiry: Int64?, _ rules: ImageRules, _ now: Date
    ) throws(ImageRequestError) -> ImageOperation {
        guard case .path(let target) = incoming.head.target else {
            throw .invalidOption(ImageOptionError(code: "bad-target", message: "The request target must be a path."))
        }
        var operation = try known.operation(
            target: target, accept: incoming.head.fields[.accept],
            hints: rules.usesClientHints ? ClientHints(incoming.head.fields) : ClientHints(), by: rules,
            now: Int64(now.timeIntervalSince1970))
        if let expiry { operation.expiry = min(operation.expiry ?? expiry, expiry) }
        return operation
    }

    private static func response(toOther method: HTTPRequest.Method) -> Response {
        let allow: HTTPFields = [.allow: "GET, HEAD, OPTIONS"]
        guard method == .options else {
            return .failure(405, "method", "Images support GET and HEAD only.", fields: allow)
        }
        return Response(HTTPResponse(status: .noContent, headerFields: allow))
    }
}

/// Images under a URL of another service that expires.
struct ExpiringImages: RequestHandler {
    let images: ImageEndpoint
    /// Seconds since 1970.
    let expiry: Int64

    func readyResponse(to incoming: Request) -> Response? { images.readyResponse(to: incoming, notAfter: expiry) }

    func response(to incoming: Request) async -> Response { await images.response(to: incoming, notAfter: expiry) }
}
