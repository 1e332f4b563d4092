import CXXHash
import Digests
public import ImageCodec

/// An image that is drawn over other images.
public struct ImageWatermark: Sendable, Hashable {
    /// The pixels of the mark.
    public let image: DecodedImage
    /// The position of the watermark, as in ``ImageSizing``, except that `entropy` and `attention` mean the centre. Default: the lower
    /// right corner.
    public var position = ImageSizing.Position.bottomRight
    /// The width of the watermark as a fraction of the image's width, 0 to 1. The watermark is never higher than the image. Default 0.25.
    public var scale = 0.25
    /// The opacity, 0 to 1, in addition to the watermark's own. Default 1.
    public var opacity = 1.0
    /// A hash of the pixels.
    private let digest: String

    public init(_ image: DecodedImage) {
        self.image = image
        let hash = image.withUnsafeBytes { cxxhash_128bits($0.baseAddress, $0.count) }
        let text = withUnsafeBytes(of: (hash.high64.bigEndian, hash.low64.bigEndian)) { Array($0).hexadecimal }
        digest = "\(image.width)x\(image.height)-\(text)"
    }

    /// The decoder of a watermark's file, which has at most 16 megapixels.
    package static var decoder: ImageDecoder {
        var decoder = ImageDecoder()
        decoder.limits.pixels = 16 << 20
        return decoder
    }

    /// All properties that affect the result.
    var identity: String { "watermark(\(digest),\(position),\(scale),\(opacity))" }

    public static func == (left: Self, right: Self) -> Bool { left.identity == right.identity }
    public func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}
