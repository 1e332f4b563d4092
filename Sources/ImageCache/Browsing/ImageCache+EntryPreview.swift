import DiskStore
import FoundationEssentials
public import ImageCodec

/// A small picture of a stored image.
public struct EntryPreview: Sendable {
    public let bytes: [UInt8]
    public let format: ImageFormat
}

extension ImageCache {
    /// A small picture of a stored image, for somebody who looks through the cache. The origin is not asked, nothing is
    /// stored, and it does not count as an access.
    ///
    /// - Parameters:
    ///   - id: The entry's number (``CacheEntry/id``).
    ///   - sizing: The size to bring it to.
    /// - Returns: JPEG, or PNG for an image with transparency; `nil` when the entry is gone or is no image that can be
    ///   decoded within the default limits (``DecodingLimits``) and a second of CPU time.
    public func preview(ofEntry id: Int64, _ sizing: ImageSizing) async throws(ImageCacheError) -> EntryPreview? {
        let pipeline = pipeline
        let decoder = ImageDecoder.ofPreviews
        let found = try await executor.run { [self] () throws(ImageCacheError) -> (StoredBody, Int)? in
            try translating {
                guard let entry = try store.entry(id), let body = try store.open(entry),
                    let source = try? ImageSource(duplicating: body.descriptor),
                    let info = try? ImageInfo.read(source, limits: decoder.limits)
                else { return nil }
                return (body, ImagePipeline.memory(for: info, []))
            }
        }
        guard let (body, memory) = found else { return nil }
        // Behind whatever clients wait for.
        return try await pipeline.slots.run(priority: .background, memory: memory, on: pipeline.decoding) {
            guard let source = try? ImageSource(duplicating: body.descriptor),
                let image = try? decoder.decode(source, to: sizing)
            else { return nil }
            let encoder: ImageEncoder = image.isOpaque ? .jpeg(quality: 75) : .png()
            return (try? encoder.encode(image)).map { EntryPreview(bytes: $0, format: encoder.format) }
        }
    }
}

extension ImageDecoder {
    /// Shows what there is of an image, and not at any price.
    fileprivate static var ofPreviews: ImageDecoder {
        var decoder = ImageDecoder()
        decoder.allowTruncated = true
        decoder.limits.seconds = 1
        return decoder
    }
}
