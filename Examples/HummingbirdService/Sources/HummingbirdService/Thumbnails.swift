import Hummingbird
import ImageCache

/// Answers requests for thumbnails.
struct Thumbnails {
    let cache: DownloadCache

    func response(to request: Request) async throws -> Response {
        let parameters = request.uri.queryParameters
        guard let url = parameters["url"].map(String.init) else {
            throw HTTPError(.badRequest, message: "url is missing")
        }
        let side = parameters["size"].flatMap { Int($0) } ?? 256
        guard (1...2048).contains(side) else {
            throw HTTPError(.badRequest, message: "size must be an integer from 1 to 2048")
        }
        var image = ImageRequest(url, .cover(side, side, position: .attention))
        image.file.transfer.retry.maxRetries = 1  // a client waits
        image.file.transfer.connectTimeout = .seconds(5)

        do throws(ImageCacheError) {
            let thumbnail = try await cache.thumbnail(for: image, as: .webp(quality: 75))
            let tag = thumbnail.entityTag.text
            guard request.headers[.ifNoneMatch] != tag else {
                return Response(status: .notModified, headers: [.eTag: tag])
            }
            return Response(
                status: .ok, headers: [.eTag: tag, .contentType: "image/webp"],
                body: .init(byteBuffer: ByteBuffer(bytes: thumbnail.bytes)))
        } catch {
            throw HTTPError(Self.status(of: error), message: "no thumbnail: \(error.code)")
        }
    }

    private static func status(of error: ImageCacheError) -> HTTPResponse.Status {
        switch error.code {
        case .invalidRequest: .badRequest
        case .addressRefused: .forbidden
        case .unreachable: .gatewayTimeout
        case .cancelled: .serviceUnavailable
        default: error.code.codecCode == nil ? .badGateway : .unprocessableContent
        }
    }
}
