package import ConcurrencyPrimitives
package import FoundationEssentials
package import HTTPServer
import HTTPTypes
package import ImageCache

/// The part of the cache that renders images.
package protocol ThumbnailRendering: Sendable {
    func hotThumbnail(for request: ImageRequest, as encoding: ThumbnailEncoding) -> Thumbnail?
    func thumbnail(
        for request: ImageRequest, as encoding: ThumbnailEncoding
    ) async throws(ImageCacheError) -> Thumbnail
}

extension DownloadCache: ThumbnailRendering {}

/// Answers `/image/OPTIONS/PATH` with an image made of what is at PATH.
///
/// To its clients it is the origin of these images (RFC 9110 section 3.6), whose life is the original's: fields of a request that
/// are about caches (`Cache-Control: no-cache` and the like) have no effect, so that a client cannot have an image made anew.
package final class ImageEndpoint: RequestHandler {
    private let cache: any ThumbnailRendering
    private let current: Locked<ImageRules>
    private let now: @Sendable () -> Date
    private let known = ParsedTargets()

    /// - Parameter rules: what holds for each request when it comes.
    package init(
        rules: Locked<ImageRules>, cache: any ThumbnailRendering, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.cache = cache
        self.now = now
        current = rules
    }

    private var rules: ImageRules { current.withLock { $0 } }

    package func readyResponse(to incoming: Request) -> Response? {
        guard incoming.method == .get || incoming.method == .head else { return nil }
        let rules = rules
        let time = now()
        do throws(ImageRequestError) {
            let order = try order(incoming, rules, time)
            guard let thumbnail = cache.hotThumbnail(for: order.request, as: order.encoding) else { return nil }
            return ServedImage(thumbnail, order, name: rules.name).response(to: incoming, rules, at: time)
        } catch {
            return Response(error)
        }
    }

    package func response(to incoming: Request) async -> Response {
        guard incoming.method == .get || incoming.method == .head else {
            return Self.response(toOther: incoming.method)
        }
        let rules = rules
        let order: ImageOperation
        do throws(ImageRequestError) { order = try self.order(incoming, rules, now()) } catch {
            return Response(error)
        }
        var request = order.request
        request.file.client = incoming.client.subscriber
        do throws(ImageCacheError) {
            let thumbnail = try await cache.thumbnail(for: request, as: order.encoding)
            return ServedImage(thumbnail, order, name: rules.name).response(to: incoming, rules, at: now())
        } catch {
            return Response(imageFailure: error)
        }
    }

    private func order(
        _ incoming: Request, _ rules: ImageRules, _ now: Date
    ) throws(ImageRequestError) -> ImageOperation {
        guard case .path(let target) = incoming.head.target else {
            throw .mistake(ImageOptionError(code: "bad-target", message: "Only a path can be asked for."))
        }
        return try known.order(
            target: target, accept: incoming.head.fields[.accept], by: rules, now: Int64(now.timeIntervalSince1970))
    }

    private static func response(toOther method: HTTPRequest.Method) -> Response {
        let allow: HTTPFields = [.allow: "GET, HEAD, OPTIONS"]
        guard method == .options else {
            return .failure(405, "method", "Images are for GET and HEAD.", fields: allow)
        }
        return Response(HTTPResponse(status: .noContent, headerFields: allow))
    }
}
