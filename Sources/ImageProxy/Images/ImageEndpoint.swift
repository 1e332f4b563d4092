package import FoundationEssentials
package import HTTPServer
import HTTPTypes
package import ImageCache
package import Locking

/// What the images need of the cache.
package protocol ThumbnailMaking: Sendable {
    func readyThumbnail(for request: ImageRequest, as encoding: ThumbnailEncoding) -> Thumbnail?
    func thumbnail(
        for request: ImageRequest, as encoding: ThumbnailEncoding
    ) async throws(ImageCacheError) -> Thumbnail
}

extension ImageCache: ThumbnailMaking {}

/// Answers `/image/OPTIONS/PATH` with an image made of what is at PATH.
///
/// To its clients it is the origin of these images (RFC 9110 section 3.6), whose life is the original's: fields of a request that
/// are about caches (`Cache-Control: no-cache` and the like) have no effect, so that a client cannot have an image made anew.
package final class ImageEndpoint: Endpoint {
    private let cache: any ThumbnailMaking
    private let current: Locked<ImageRules>
    private let now: @Sendable () -> Date
    private let known = KnownOrders()

    /// - Parameter rules: what holds for each request when it comes.
    package init(
        rules: Locked<ImageRules>, cache: any ThumbnailMaking, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.cache = cache
        self.now = now
        current = rules
    }

    private var rules: ImageRules { current.withLock { $0 } }

    package func readyResponse(to exchange: Exchange) -> Response? {
        guard exchange.method == .get || exchange.method == .head else { return nil }
        let rules = rules
        let time = now()
        do throws(ImageRefusal) {
            let order = try order(exchange, rules, time)
            guard let thumbnail = cache.readyThumbnail(for: order.request, as: order.encoding) else { return nil }
            return ServedImage(thumbnail, order, name: rules.name).response(to: exchange, rules, at: time)
        } catch {
            return Response(refusal: error)
        }
    }

    package func response(to exchange: Exchange) async -> Response {
        guard exchange.method == .get || exchange.method == .head else {
            return Self.response(toOther: exchange.method)
        }
        let rules = rules
        let order: ImageOrder
        do throws(ImageRefusal) { order = try self.order(exchange, rules, now()) } catch {
            return Response(refusal: error)
        }
        var request = order.request
        request.file.client = exchange.client.subscriber
        do throws(ImageCacheError) {
            let thumbnail = try await cache.thumbnail(for: request, as: order.encoding)
            return ServedImage(thumbnail, order, name: rules.name).response(to: exchange, rules, at: now())
        } catch {
            return Response(imageFailure: error)
        }
    }

    private func order(
        _ exchange: Exchange, _ rules: ImageRules, _ now: Date
    ) throws(ImageRefusal) -> ImageOrder {
        guard case .path(let target) = exchange.head.target else {
            throw .mistake(ImageMistake(code: "bad-target", message: "Only a path can be asked for."))
        }
        return try known.order(
            target: target, accept: exchange.head.fields[.accept], by: rules, now: Int64(now.timeIntervalSince1970))
    }

    private static func response(toOther method: HTTPRequest.Method) -> Response {
        let allow: HTTPFields = [.allow: "GET, HEAD, OPTIONS"]
        guard method == .options else {
            return .failure(405, "method", "Images are for GET and HEAD.", fields: allow)
        }
        return Response(HTTPResponse(status: .noContent, headerFields: allow))
    }
}
