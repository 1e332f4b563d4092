package import ImageCodec

/// The changes of an image, apart from its size, that options of URLs and of the command ask for.
package struct ImageOperations: Hashable, Sendable {
    /// The part of the upright original that is used, or nil for all of it.
    package var crop: ImageRegion?
    /// The largest difference of a channel from the border colour that is still trimmed, or nil to trim nothing.
    package var trim: Int?
    /// The rotation clockwise: 0, 90, 180 or 270 degrees.
    package var rotation = 0
    package var flipsHorizontally = false
    package var flipsVertically = false
    /// The factor by which the part around the focal point is enlarged: 1 uses the whole image.
    package var zoom = 1.0
    /// The point of the turned image that a crop to the size and a zoom keep, or nil for none.
    package var focalPoint: ImageSizing.Position?
    /// The radius in pixels of the result, or 0 for none.
    package var blur = 0
    /// The amount of an unsharp mask, or 0 for none.
    package var sharpening = 0.0
    /// Factors of the colours, as in CSS.
    package var brightness = 1.0
    package var contrast = 1.0
    package var saturation = 1.0
    package var isGray = false
    /// True for black and white without gray.
    package var isBitonal = false
    /// The name or the file of a watermark, or nil for none.
    package var watermark: String?
    package var watermarkPosition = ImageSizing.Position.bottomRight
    /// The watermark's width in percent of the image's width.
    package var watermarkScale = 25
    /// The watermark's opacity in percent.
    package var watermarkOpacity = 100
    /// The width of a border in CSS pixels, or 0 for none.
    package var padding = 0
    /// The radius of the corners in CSS pixels, or 0 for none.
    package var radius = 0

    /// No changes.
    package init() {}

    /// A radius that rounds the shorter sides completely.
    package static let greatestRadius = 1 << 20

    /// The rotation, then the reflection, as an orientation.
    package var orientation: ImageOrientation {
        let flips = (flipsHorizontally, flipsVertically)
        return switch rotation {
        case 90: [.right, .leftMirrored, .rightMirrored, .left][Self.index(flips)]
        case 180: [.down, .downMirrored, .upMirrored, .up][Self.index(flips)]
        case 270: [.left, .rightMirrored, .leftMirrored, .right][Self.index(flips)]
        default: [.up, .upMirrored, .downMirrored, .down][Self.index(flips)]
        }
    }

    /// None, horizontally, vertically, both.
    private static func index(_ flips: (Bool, Bool)) -> Int { (flips.0 ? 1 : 0) + (flips.1 ? 2 : 0) }
}

extension ImageOperations {
    /// The size to decode to.
    ///
    /// An image that is changed before it is resized is decoded with at most 4096 pixels a side, or as it is if a part of it is chosen in
    /// its own pixels.
    ///
    /// - Parameter sizing: The size of the result, or nil for the original's.
    package func decodedSizing(for sizing: ImageSizing?) -> ImageSizing? {
        if case .pixels = crop { return nil }
        if !isChangedBeforeSize(sizing) { return orientation.swapsSides ? sizing?.transposed : sizing }
        return .fit(4096, 4096)
    }

    /// True if the image must be cropped, trimmed or turned before it is resized. Whether it is turned before or after does not matter if its
    /// middle is kept.
    private func isChangedBeforeSize(_ sizing: ImageSizing?) -> Bool {
        let isOffCentre = sizing.map { $0.position != .center } ?? false
        return crop != nil || trim != nil || zoom > 1 || isOffCentre && orientation != .up
    }

    /// The part that a zoom shows: its centre is the focal point, as far as the image reaches.
    private var zoomed: (x: Double, y: Double, side: Double) {
        let side = 1 / zoom
        let (x, y) = if case .focus(let x, let y) = focalPoint { (x, y) } else { (0.5, 0.5) }
        func start(_ centre: Double) -> Double { min(max(centre - side / 2, 0), 1 - side) }
        return (start(x), start(y), side)
    }

    /// The focal point in the part that a zoom shows.
    package var focalPointInZoom: ImageSizing.Position? {
        guard zoom > 1, case .focus(let x, let y) = focalPoint else { return focalPoint }
        let part = zoomed
        return .focus(x: (x - part.x) / part.side, y: (y - part.y) / part.side)
    }

    /// The effects, in their order: crop, trim, turn, zoom and resize, background, blur, sharpen, colours, watermark, padding, corners.
    ///
    /// - Parameters:
    ///   - sizing: The size of the result, or nil for the original's.
    ///   - background: The colour under transparent pixels and of the padding, or nil for none.
    ///   - devicePixelRatio: The number of pixels for a CSS pixel.
    ///   - mark: The watermark. Its position, scale and opacity are replaced.
    package func processors(
        for sizing: ImageSizing?, on background: ImageSizing.Color?, devicePixelRatio: Double,
        watermark mark: ImageWatermark?
    ) -> [ImageProcessor] {
        var processors: [ImageProcessor] = []
        if let crop { processors.append(.region(crop)) }
        if let trim { processors.append(.trim(tolerance: trim)) }
        if orientation != .up { processors.append(.orient(orientation)) }
        if zoom > 1 {
            let part = zoomed
            processors.append(.region(.shares(x: part.x, y: part.y, width: part.side, height: part.side)))
        }
        if isChangedBeforeSize(sizing), let sizing { processors.append(.resize(sizing)) }
        // A size of this fit has the background itself.
        if let background, sizing?.fit != .contain { processors.append(.background(background)) }
        if blur > 0 { processors.append(.blur(sigma: Double(blur) / 2)) }
        if sharpening > 0 { processors.append(.sharpen(amount: sharpening)) }
        if [brightness, contrast, saturation].contains(where: { $0 != 1 }) {
            processors.append(.adjust(brightness: brightness, contrast: contrast, saturation: saturation))
        }
        if isGray { processors.append(.grayscale) }
        if isBitonal { processors.append(.bitonal) }
        if var mark {
            mark.position = watermarkPosition
            mark.scale = Double(watermarkScale) / 100
            mark.opacity = Double(watermarkOpacity) / 100
            processors.append(.watermark(mark))
        }
        if padding > 0 {
            let pixels = Int((Double(padding) * devicePixelRatio).rounded())
            processors.append(.pad(by: pixels, color: background))
        }
        if radius > 0 { processors.append(.roundedCorners(radius: Double(radius) * devicePixelRatio)) }
        return processors
    }
}

extension ImageSizing {
    /// The size of an image that is turned by 90 degrees afterwards.
    fileprivate var transposed: ImageSizing {
        var sizing = self
        (sizing.width, sizing.height) = (height, width)
        return sizing
    }
}
