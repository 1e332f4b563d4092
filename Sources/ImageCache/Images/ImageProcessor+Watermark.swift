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

    /// All properties that affect the result.
    var identity: String { "watermark(\(digest),\(position),\(scale),\(opacity))" }

    public static func == (left: Self, right: Self) -> Bool { left.identity == right.identity }
    public func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}

/// Draws a watermark over an image.
private struct WatermarkProcessing: ImageProcessing {
    let mark: ImageWatermark

    var identity: String { mark.identity }

    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        let width = max(1, Int((Double(image.width) * min(max(mark.scale, 0), 1)).rounded()))
        var sizing = ImageSizing.fit(width, image.height)
        sizing.allowsEnlargement = true
        let resized = try mark.image.resized(to: sizing, within: budget)
        let place = mark.position.shares
        return try image.overlaid(
            with: resized, x: Int((Double(image.width - resized.width) * place.x).rounded()),
            y: Int((Double(image.height - resized.height) * place.y).rounded()), opacity: mark.opacity, within: budget)
    }

    func memory(width: Int, height: Int) -> Int { width * height * 12 + mark.image.cost }
}

extension ImageProcessor {
    /// Draws a watermark over the image.
    public static func watermark(_ mark: ImageWatermark) -> ImageProcessor {
        ImageProcessor(.watermark(mark), WatermarkProcessing(mark: mark))
    }

    /// Removes a border that has the colour of the upper left pixel.
    ///
    /// - Parameter tolerance: The maximum difference of each channel of a border pixel, 0 to 255.
    public static func trim(tolerance: Int) -> ImageProcessor {
        ImageProcessor(.trim(tolerance), TrimProcessing(tolerance: tolerance))
    }
}

/// Removes a border.
private struct TrimProcessing: ImageProcessing {
    let tolerance: Int

    var identity: String { "trim(\(tolerance))" }
    var hasOneSize: Bool { false }

    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        try image.trimmed(tolerance: tolerance, within: budget)
    }

    func memory(width: Int, height: Int) -> Int { width * height * 4 }
}
