import ConcurrencyPrimitives
import DiskStore
import FoundationEssentials
package import ImageCodec

/// A small picture of a stored image.
package struct EntryPreview: Sendable {
    package let bytes: [UInt8]
    package let format: ImageFormat
}

extension DownloadCache {
    /// A small picture of a stored image, for a user interface. This does not contact the origin, does not store anything, and does not
    /// count as an access.
    ///
    /// - Parameters:
    ///   - id: The entry's number (``CacheEntry/id``).
    ///   - sizing: The size of the picture.
    /// - Returns: A JPEG, or a PNG if the image may have transparency. `nil` if the entry does not exist, or is not an image that can be
    ///   decoded within the default limits (``DecodingLimits``) and a second of CPU time.
    package func preview(ofEntry id: Int64, _ sizing: ImageSizing) async throws(ImageCacheError) -> EntryPreview? {
        let pipeline = pipeline
        let decoder = ImageDecoder.forPreviews(pipeline.decoders)
        let body = try await onExecutor { (operations) throws(ImageCacheError) -> StoredBody? in
            try operations.translating {
                guard let entry = try operations.store.entry(id) else { return nil }
                return try operations.store.open(entry)
            }
        }
        // Clients' requests go first.
        var ticket = DecodingSlots.Ticket(priority: .background, owner: nil, cost: ImageRenderer.headerCost)
        let renderer = pipeline.renderer
        guard let body, let read = try? await renderer.header(of: body, ticket, decoder).get(),
            let target = try? decoder.target(sizing, of: read.header)
        else { return nil }
        let header = read.header
        let encoding = ImageEncoder.png().memory(width: target.width, height: target.height, isOpaque: false)
        let memory = header.memory(at: target.scale) + target.memory + encoding
        ticket.cost = header.pixelCount
        return try await renderer.slots.run(ticket, memory: { memory }, on: renderer.executor) {
            let encoder: ImageEncoder = header.mayHaveAlpha ? .png() : .jpeg(quality: 75)
            let bytes = try? renderer.thumbnail(
                of: body.descriptor, byteCount: Int(body.size), sizing, decoder, as: encoder, after: read.work)
            return bytes.map { EntryPreview(bytes: $0, format: encoder.format) }
        }
    }
}

extension ImageDecoder {
    /// A decoder that accepts truncated files and spends little time.
    fileprivate static func forPreviews(_ registered: [any ImageDecoding]) -> ImageDecoder {
        var decoder = ImageDecoder()
        decoder.registered = registered
        decoder.allowTruncated = true
        decoder.limits.seconds = 1
        return decoder
    }
}
