import ConcurrencyPrimitives
import DiskStore
import FoundationEssentials
public import ImageCodec

/// A small picture of a stored image.
public struct EntryPreview: Sendable {
    public let bytes: [UInt8]
    public let format: ImageFormat
}

extension DownloadCache {
    /// A small picture of a stored image, for a user interface. The origin is not asked, nothing is
    /// stored, and it does not count as an access.
    ///
    /// - Parameters:
    ///   - id: The entry's number (``CacheEntry/id``).
    ///   - sizing: The size to bring it to.
    /// - Returns: JPEG, or PNG for an image that may have transparency; `nil` when the entry is gone or is no image that can be
    ///   decoded within the default limits (``DecodingLimits``) and a second of CPU time.
    public func preview(ofEntry id: Int64, _ sizing: ImageSizing) async throws(ImageCacheError) -> EntryPreview? {
        let pipeline = pipeline
        let decoder = ImageDecoder.forPreviews(pipeline.decoders)
        let found = try await onExecutor { (operations) throws(ImageCacheError) -> (StoredBody, ImageHeader, Int)? in
            try operations.translating {
                guard let entry = try operations.store.entry(id), let body = try operations.store.open(entry),
                    let header = try? pipeline.renderer.header(
                        of: body.descriptor, byteCount: Int(body.size), decoder),
                    let target = try? decoder.target(sizing, of: header)
                else { return nil }
                let encoding = ImageEncoder.png().memory(width: target.width, height: target.height, isOpaque: false)
                return (body, header, header.memory(at: target.scale) + target.memory + encoding)
            }
        }
        guard let (body, header, memory) = found else { return nil }
        // Behind whatever clients wait for.
        let turn = DecodingSlots.Turn(priority: .background, owner: nil, cost: header.pixelCount)
        let renderer = pipeline.renderer
        return try await renderer.slots.run(turn, memory: { memory }, on: renderer.executor) {
            let encoder: ImageEncoder = header.mayHaveAlpha ? .png() : .jpeg(quality: 75)
            let bytes = try? renderer.thumbnail(
                of: body.descriptor, byteCount: Int(body.size), sizing, decoder, as: encoder)
            return bytes.map { EntryPreview(bytes: $0, format: encoder.format) }
        }
    }
}

extension ImageDecoder {
    /// A decoder that accepts cut files and spends little time.
    fileprivate static func forPreviews(_ registered: [any ImageDecoding]) -> ImageDecoder {
        var decoder = ImageDecoder()
        decoder.registered = registered
        decoder.allowTruncated = true
        decoder.limits.seconds = 1
        return decoder
    }
}
