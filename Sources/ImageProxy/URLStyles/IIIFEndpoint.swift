import FoundationEssentials
import HTTPSemantics
import HTTPServer
import HTTPTypes

/// Serves a URL of the IIIF Image API 3.0: an image of an origin, or its `info.json`.
///
/// Requests arrive with the target of the original's description. Parts and sizes depend on the size in that description.
struct IIIFEndpoint: RequestHandler {
    let images: ImageEndpoint
    let url: IIIFURL
    /// The scheme and the authority of the service for `info.json`; nil if they are unknown.
    let base: String?

    func readyResponse(to incoming: Request) -> Response? {
        guard case .image(let image) = url.resource, incoming.method == .get || incoming.method == .head,
            let size = images.readyResponse(to: description(for: incoming)).flatMap({ OriginalSize($0) }),
            let rendering = try? IIIFRendering(image, ofWidth: size.width, height: size.height),
            let response = images.readyResponse(to: incoming.with(rendering.target(of: url.original)))
        else { return nil }
        return finished(response, rendering)
    }

    func response(to incoming: Request) async -> Response {
        guard incoming.method == .get || incoming.method == .head else {
            var response = await images.response(to: incoming)
            // `Accept: application/ld+json;profile="…"` needs a preflight.
            if incoming.method == .options { response.head.headerFields[.accessControlAllowHeaders] = "*" }
            return finished(response)
        }
        switch url.resource {
        case .base: return finished(redirection)
        case .description:
            guard let base else { return finished(Self.misdirected) }
            let described = await images.response(to: description(for: incoming))
            guard let size = OriginalSize(described) else { return finished(described) }
            return finished(information(described, size, at: base, to: incoming))
        case .image(let image):
            let described = await images.response(to: description(for: incoming))
            guard let size = OriginalSize(described) else { return finished(described) }
            do throws(ImageOptionError) {
                let rendering = try IIIFRendering(image, ofWidth: size.width, height: size.height)
                let response = await images.response(to: incoming.with(rendering.target(of: url.original)))
                return finished(response, rendering)
            } catch {
                return finished(Response(.invalidOption(error)))
            }
        }
    }

    /// The request for the description of the original, without conditions.
    private func description(for incoming: Request) -> Request {
        var request = incoming
        request.head.method = .get
        // Clients of images may get another image in place of an error.
        let accept = url.resource == .description ? [] : incoming.head.fields[fields: .accept]
        request.head.fields = HTTPFields(accept)
        return request
    }

    // MARK: Responses

    private static let profile = "<http://iiif.io/api/image/3/level2.json>;rel=\"profile\""

    private func finished(_ response: Response, _ rendering: IIIFRendering? = nil) -> Response {
        var response = response
        response.allowAllOrigins()
        if let rendering, response.error == nil {
            let canonical = "</\(url.identifier)/\(rendering.canonical)>;rel=\"canonical\""
            response.head.headerFields[.link] = "\(canonical), \(Self.profile)"
        }
        return response
    }

    private var redirection: Response {
        Response(
            HTTPResponse(status: .seeOther, headerFields: [.location: "/\(url.identifier)/info.json"]),
            body: .bytes([]))
    }

    private static var misdirected: Response {
        .failure(421, "misdirected", "info.json requires a Host that is one of public-hosts, if there are any.")
    }

    private func information(
        _ described: Response, _ size: OriginalSize, at base: String, to incoming: Request
    ) -> Response {
        let accept = incoming.head.fields[values: .accept]
        let isLinked = accept.isEmpty || AcceptedFormats(accept).isLinkedJSON
        let document = Array(size.document(id: "\(base)/\(url.identifier)").utf8)
        var response = described
        response.reuse = nil
        response.body = incoming.method == .head ? .none : .bytes(document)
        for name: HTTPField.Name in [.eTag, .lastModified, .acceptRanges, .contentDisposition, .link] {
            response.head.headerFields[name] = nil
        }
        response.head.headerFields[.contentType] =
            isLinked ? "application/ld+json;profile=\"\(OriginalSize.context)\"" : "application/json"
        response.head.headerFields[.contentLength] = String(document.count)
        response.head.headerFields[.vary] = "Accept, Host"
        return response
    }
}

/// The size of an upright original, from its description.
struct OriginalSize: Decodable {
    let width: Int
    let height: Int

    static let context = "http://iiif.io/api/image/3/context.json"

    /// Returns nil for another response than a description.
    init?(_ response: Response) {
        guard response.head.status == .ok, case .bytes(let bytes) = response.body,
            let size = try? JSONDecoder().decode(OriginalSize.self, from: Data(bytes)), size.width > 0, size.height > 0
        else { return nil }
        self = size
    }

    /// `info.json`
    ///
    /// - Parameter id: The base URI of the image, which needs no escapes in JSON.
    func document(id: String) -> String {
        let factors = factors
        // The smallest first. Sizes beyond the limits are left out.
        let sizes = factors.reversed().map { (width: (width + $0 - 1) / $0, height: (height + $0 - 1) / $0) }
            .filter { size in
                size.width <= ImageOptions.longestSide && size.height <= ImageOptions.longestSide
                    && size.width * size.height <= ImageOptions.largestArea
            }
        // The description of an array of numbers or plain words is JSON.
        let members = [
            "\"@context\":\"\(Self.context)\"", "\"id\":\"\(id)\"", "\"type\":\"ImageService3\"",
            "\"protocol\":\"http://iiif.io/api/image\"", "\"profile\":\"level2\"",
            "\"width\":\(width)", "\"height\":\(height)", "\"maxWidth\":\(ImageOptions.longestSide)",
            "\"maxHeight\":\(ImageOptions.longestSide)", "\"maxArea\":\(ImageOptions.largestArea)",
            "\"sizes\":[\(sizes.map { "{\"width\":\($0.width),\"height\":\($0.height)}" }.joined(separator: ","))]",
            "\"tiles\":[{\"width\":\(Self.tile),\"scaleFactors\":\(factors)}]",
            "\"extraQualities\":\(IIIFImage.Quality.allCases.filter { $0 != .default }.map(\.rawValue))",
            "\"extraFormats\":\(IIIFImage.formats.keys.filter { !["jpg", "png"].contains($0) }.sorted())",
            "\"extraFeatures\":\(Self.features)",
        ]
        return "{\(members.joined(separator: ","))}"
    }

    /// The side of a tile in pixels.
    private static let tile = 512

    /// The powers of two by which the image is divided, until it is one tile.
    private var factors: [Int] {
        var factors = [1]
        while let last = factors.last, last * Self.tile < max(width, height) { factors.append(last * 2) }
        return factors
    }

    /// The features that level 2 does not require.
    private static let features = ["canonicalLinkHeader", "mirroring", "profileLinkHeader", "sizeUpscaling"]
}

extension Response {
    /// Lets pages of all origins read the response (CORS).
    mutating func allowAllOrigins() { head.headerFields[.accessControlAllowOrigin] = "*" }
}
