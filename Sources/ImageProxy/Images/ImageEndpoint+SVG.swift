import HTTPServer
import HTTPTypes
import ImageCache

extension ImageEndpoint {
    /// The greatest size of an SVG in bytes: it is read into memory.
    static let largestSVG = 1 << 20

    /// The response to a request whose original is an SVG that is passed through; nil: another failure.
    func passedSVG(
        _ error: ImageCacheError, of operation: ImageOperation, _ request: ImageRequest, for incoming: Request,
        _ rules: ImageRules
    ) async throws(ImageCacheError) -> Response? {
        guard rules.svg == .pass, error.unreadFormat == .svg, operation.isOriginal,
            let file = try await cache.unchanged(request, if: .svg, mostBytes: Self.largestSVG)
        else { return nil }
        var response = ServedImage(file, operation, name: rules.name).response(to: incoming, rules, at: now())
        // A page of its own with no rights: its scripts do not run, also when it is opened by itself.
        response.head.headerFields[.contentSecurityPolicy] = "sandbox"
        return response
    }
}

extension ImageOperation {
    /// True if the image is the original: no size, effect, frame or other format is asked for.
    fileprivate var isOriginal: Bool {
        request.sizing == nil && request.processors.isEmpty && options.format == .auto && options.frame == nil
            && encoding != .description
    }
}

extension ImageCacheError {
    /// The known format of an original that is not read.
    fileprivate var unreadFormat: ImageFormat? {
        code.codecCode == .unsupportedFormat ? (cause as? ImageCodecError)?.format : nil
    }

    /// The response to a request for an SVG, where SVGs are passed through, that asks for something else than the original.
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
