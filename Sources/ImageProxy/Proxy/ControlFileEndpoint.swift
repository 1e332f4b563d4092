import HTTPSemantics
import HTTPServer
import HTTPTypes
import ImageCache
import Zsync

/// Serves `/zsync/VERSION/PATH`: the control file of zsync of the complete stored body at PATH.
///
/// A client gets the control file of a body that it may get itself: the body's request decides, with the client's fields, and is confirmed by the
/// origin if its response is not fresh. The lifetime of the control file is the body's. Nothing is fetched to make one.
struct ControlFileEndpoint: RequestHandler {
    let proxy: ProxyEndpoint
    private var cache: DownloadCache { proxy.cache }

    func readyResponse(to incoming: Request) -> Response? { nil }

    func response(to incoming: Request) async -> Response {
        guard incoming.method == .get || incoming.method == .head else {
            return .failure(405, "method", "Control files support GET and HEAD only.", fields: [.allow: "GET, HEAD"])
        }
        guard case .path(let target) = incoming.head.target, let (version, path) = ControlFiles.parts(of: target) else {
            return Self.missing
        }
        var request = incoming
        request.head.target = .path(path)
        request.head.method = .head
        request.head.fields = request.head.fields.withoutConditions
        guard let forwarded = proxy.request(for: request) else { return Self.missing }
        do throws(ImageCacheError) {
            guard let file = try await cache.storedFile(for: forwarded), file.response.status == .ok,
                file.size >= ControlFiles.leastLength, ControlFiles.version(of: file.response.fields) == version
            else { return Self.missing }
            // The client's right to the body, and its lifetime.
            let body = await proxy.response(to: request)
            guard body.head.status == .ok, ControlFiles.version(of: body.head.headerFields) == version else {
                return body.error == nil ? Self.missing : body
            }
            guard let made = try await ControlFiles.file(of: file, in: cache) else {
                return .failure(500, "control-file", "The control file could not be made.")
            }
            return Self.response(with: ControlFiles.content(made, of: path), of: body, to: incoming)
        } catch {
            return Response(failure: error)
        }
    }

    private static var missing: Response {
        .failure(404, "no-control-file", "This version of the file is not completely stored here.")
    }

    /// The fields that describe the content of the body itself.
    private static let bodyFields: [HTTPField.Name] = [
        .acceptRanges, .contentDisposition, .contentLanguage, .contentLocation, .link, .known("Content-Digest"),
        .known("Content-MD5"), .known("Digest"), .known("Repr-Digest"),
    ]

    private static func response(
        with content: (Response.Body, length: Int64), of body: Response, to incoming: Request
    ) -> Response {
        var response = body
        // The validators stay: they tell which version of the body the control file is for.
        for name in bodyFields { response.head.headerFields[name] = nil }
        response.head.headerFields[.contentType] = ZsyncControl.mediaType
        response.head.headerFields[.contentLength] = String(content.length)
        response.body = incoming.method == .head ? .none : content.0
        return response
    }
}
