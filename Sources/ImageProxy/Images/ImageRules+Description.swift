import ImageCache

extension ImageRules {
    /// The word that replaces the options in the URL of an image's description: `/image/info/PATH`.
    static let descriptionName = "info"

    /// The operation for the description of an image, or nil if the target asks for an image.
    func description(_ verified: (target: String, expiry: Int64?)) throws(ImageRequestError) -> ImageOperation? {
        let rest = verified.target[...].dropFirst(Router.imagePrefix.utf8.count)
        guard rest.hasPrefix(Self.descriptionName + "/") else { return nil }
        let parsed: ImageTarget
        do throws(ImageOptionError) { parsed = try ImageTarget(rest, below: prefix) } catch {
            throw .invalidOption(error)
        }
        var file = FileRequest(try url(of: parsed.original))
        file.fields = fields
        file.transfer = transfer
        file.owner = namespace(of: parsed.original)
        var request = ImageRequest(file, .placeholder)
        request.decoder.limits = limits
        return ImageOperation(
            request: request, options: ImageOptions(), encoding: .description, variesOnAccept: false,
            original: OriginalReference(parsed.original, below: prefix), expiry: verified.expiry)
    }
}
