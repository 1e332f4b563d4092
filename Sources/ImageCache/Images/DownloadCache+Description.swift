import FoundationEssentials
public import ImageEffects

extension DownloadCache {
    /// The properties of an image file, with placeholders to show until it is loaded.
    ///
    /// They are kept in memory, and on disk next to the original, like thumbnails.
    ///
    /// - Parameter request: The original; the size and effects are ignored.
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
