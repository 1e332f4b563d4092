import FoundationEssentials
import ImageCodec

extension DownloadCache {
    /// The properties of an image file, with placeholders that stand for it until it is loaded.
    ///
    /// Kept in memory and on disk beside the original, as thumbnails are.
    ///
    /// - Parameter request: The original; its size and effects are not looked at.
    /// - Throws: The errors of ``file(for:)-(FileRequest)``, and ``ImageCacheError/Code/undecodable(_:)``.
    public func info(for request: ImageRequest) async throws(ImageCacheError) -> ImageDescription {
        var original = request
        original.sizing = .placeholder
        original.processors = []
        let json = try await thumbnail(for: original, as: .description)
        do { return try JSONDecoder().decode(ImageDescription.self, from: Data(json.bytes)) } catch {
            throw ImageCacheError(.undecodable(.failed), url: request.file.url, message: "\(error)")
        }
    }
}

extension ImageSizing {
    /// The size from which placeholders are computed.
    package static var placeholder: ImageSizing { DecodedImage.placeholderSizing }
}
