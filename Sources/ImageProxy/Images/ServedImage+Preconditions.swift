import HTTPServer
import HTTPTypes
import ImageCache

extension ServedImage {
    /// The response to a request whose precondition failed.
    var preconditionFailure: Response {
        .failure(
            412, "precondition", "The image is another one than the request is for.",
            fields: [.eTag: thumbnail.entityTag.text])
    }

    /// The image pixels per CSS pixel, or nil if the requested ratio was 1.
    ///
    /// An image that is not enlarged may have fewer pixels than requested.
    var contentPixelRatio: Double? {
        let (options, ratio) = (operation.options, operation.options.devicePixelRatio)
        guard thumbnail.isImage, ratio != 1 || operation.hintNames.contains("Sec-CH-DPR") else { return nil }
        let shares = [(options.width, thumbnail.width), (options.height, thumbnail.height)].compactMap { side, pixels in
            side.map { Double(pixels) / Double($0) }
        }
        guard let most = shares.max() else { return 1 }
        return min(max(most, min(1, ratio)), max(1, ratio))
    }
}

extension Thumbnail {
    fileprivate var isImage: Bool { format.mediaType.hasPrefix("image/") }
}
