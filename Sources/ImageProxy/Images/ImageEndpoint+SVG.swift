import HTTPServer
import HTTPTypes
import ImageCache

extension ImageEndpoint {
    /// The largest SVG in bytes. It is read into memory.
    static let largestSVG = 1 << 20

    /// The response to a request whose original is an SVG that is passed through, or nil for any other failure.
    func passedSVG(
        _ error: ImageCacheError, of operation: ImageOperation, _ request: ImageRequest, for incoming: Request,
        _ rules: ImageRules
    ) async throws(ImageCacheError) -> Response? {
        guard rules.svg == .pass, error.unreadFormat == .svg, operation.isOriginal,
            let file = try await cache.unchanged(request, if: .svg, mostBytes: Self.largestSVG)
        else { return nil }
        var response = ServedImage(file, operation, name: rules.name).response(to: incoming, rules, at: now())
        // Sandboxed, so that scripts do not run even if a browser opens the SVG as a page.
        response.head.headerFields[.contentSecurityPolicy] = "sandbox"
        return response
    }
}

extension ImageOperation {
    /// True if the request is for the original: no size, effect, frame or other format.
    fileprivate var isOriginal: Bool {
        request.sizing == nil && request.processors.isEmpty && options.format == .auto && options.frame == nil
            && encoding != .description
    }
}

extension ImageCacheError {
    /// The format of an original that is recognised but not decoded.
    fileprivate var unreadFormat: ImageFormat? {
        code.codecCode == .unsupportedFormat ? (cause as? ImageCodecError)?.format : nil
    }

    /// True if SVGs are passed through, and the request asks for another image than the SVG original.
    func isSVGOtherwise(_ rules: ImageRules) -> Bool { rules.svg == .pass && unreadFormat == .svg }
}

extension Response {
    /// The response to such a request.
    static func svgOtherwise(_ error: ImageCacheError) -> Response {
        var response = failure(
            415, "svg-unchanged",
            "The original is SVG, which is sent only as it is: without a size, an effect, a frame or another format.")
        response.detail = error.description
        return response
    }
}

extension HTTPField.Name {
    fileprivate static let contentSecurityPolicy = known("Content-Security-Policy")
}
