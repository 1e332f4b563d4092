import Glibc
import ImageCodec
import ImageEffects

/// Decodes previews of a file that is still arriving. Used by one thread at a time, which it blocks.
protocol PreviewReading: AnyObject {
    /// The image of the first bytes of the file, if it is better than the previous one. No images follow an error.
    ///
    /// - Parameter byteCount: The number of received bytes, which must not decrease.
    func image(of descriptor: Int32, byteCount: Int) throws(ImageCodecError) -> DecodedImage?
}

/// Decodes previews in this process.
final class OwnPreview: PreviewReading {
    private let preview: ProgressiveJPEGPreview
    private let processors: [ImageProcessor]
    private let limits: DecodingLimits
    private let cancellation: ImageCancellation?
    private var read = 0
    private var hasBetter = false

    init(
        _ sizing: ImageSizing?, _ processors: [ImageProcessor], _ decoder: ImageDecoder,
        _ cancellation: ImageCancellation? = nil
    ) {
        preview = ProgressiveJPEGPreview(sizing: sizing, decoder: decoder, cancellation: cancellation)
        self.processors = processors
        limits = decoder.limits
        self.cancellation = cancellation
    }

    func image(of descriptor: Int32, byteCount: Int) throws(ImageCodecError) -> DecodedImage? {
        while read < byteCount {
            let wanted = min(byteCount - read, 256 << 10)
            let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, count in
                count = max(0, pread(descriptor, buffer.baseAddress, wanted, off_t(read)))
            }
            guard !bytes.isEmpty else { return nil }
            read += bytes.count
            if try preview.append(bytes) { hasBetter = true }
        }
        guard hasBetter, let image = try preview.image() else { return nil }
        hasBetter = false
        return try processors.process(image, within: ImageBudget(limits: limits, cancellation: cancellation))
    }
}
