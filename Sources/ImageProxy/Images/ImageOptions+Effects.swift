import ImageCache

/// The options in an image's URL that change its pixels, apart from the size.
struct ImageEffects: Hashable, Sendable {
    /// The part of the upright original that is used, or nil for all of it.
    var crop: ImageRegion?
    /// The factor by which the part around the focal point is enlarged: 1 uses the whole image.
    var zoom = 1.0
    /// The rotation clockwise: 0, 90, 180 or 270 degrees.
    var rotation = 0
    var flipsHorizontally = false
    var flipsVertically = false
    /// The amount of an unsharp mask, or 0 for none.
    var sharpening = 0.0
    /// Factors of the colours, as in CSS.
    var brightness = 1.0
    var contrast = 1.0
    var saturation = 1.0
    var isGray = false
    /// The width of a border in CSS pixels, or 0 for none.
    var padding = 0
    /// The largest difference of a channel from the border colour that is still trimmed, or nil to trim nothing.
    var trim: Int?
    /// The radius of the corners in CSS pixels, or 0 for none.
    var radius = 0
    /// The name of a watermark, or nil for none.
    var watermark: String?
    var watermarkPosition = ImageSizing.Position.bottomRight
    /// The watermark's width in percent of the image's width.
    var watermarkScale = 25
    /// The watermark's opacity in percent.
    var watermarkOpacity = 100

    /// The rotation, then the reflection, as an orientation.
    var orientation: ImageOrientation {
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

    /// A radius that rounds the shorter sides completely.
    static let greatestRadius = 1 << 20
}

extension ImageSizing {
    /// The size of an image that is turned by 90 degrees afterwards.
    fileprivate var transposed: ImageSizing {
        var sizing = self
        (sizing.width, sizing.height) = (height, width)
        return sizing
    }
}

extension ImageOptions {
    static let effectNames = [
        "trim": "trim", "radius": "radius", "r": "radius", "wm": "watermark", "watermark": "watermark",
        "crop": "crop", "zoom": "zoom", "rotate": "rotate", "flip": "flip",
        "sharpen": "sharpen", "brightness": "brightness", "contrast": "contrast", "saturation": "saturation",
        "gray": "gray", "grayscale": "gray", "padding": "padding", "pd": "padding",
        "wm-position": "wm-position", "wm-scale": "wm-scale", "wm-opacity": "wm-opacity", "fp": "fp",
    ]

    /// Parses an option of an effect, or a focal point.
    ///
    /// - Returns: False if the option is not an effect.
    mutating func readEffect(
        _ name: String, _ given: some StringProtocol, _ value: String
    ) throws(ImageOptionError) -> Bool {
        func whole(_ range: ClosedRange<Int>) throws(ImageOptionError) -> Int { try Self.whole(value, range, given) }
        func number(from least: Int) throws(ImageOptionError) -> Double {
            guard let number = Self.decimal(value[...]), (Double(least)...10).contains(number) else {
                throw .option(given, "must be a number from \(least) to 10")
            }
            return number
        }
        switch name {
        case "crop":
            guard let region = Self.region(value) else {
                throw .option(
                    given, "must be 10x20x300x200 (left, top, width, height in pixels), or 10x5x80x60p (percent)")
            }
            effects.crop = region
        case "zoom": effects.zoom = try number(from: 1)
        case "rotate":
            guard let angle = Self.number(value, 0...270), angle % 90 == 0 else {
                throw .option(given, "must be 0, 90, 180 or 270")
            }
            effects.rotation = angle
        case "flip":
            guard ["h", "v", "hv"].contains(value) else { throw .option(given, "must be h, v or hv") }
            (effects.flipsHorizontally, effects.flipsVertically) = (value.contains("h"), value.contains("v"))
        case "sharpen": effects.sharpening = try number(from: 0)
        case "brightness": effects.brightness = try number(from: 0)
        case "contrast": effects.contrast = try number(from: 0)
        case "saturation": effects.saturation = try number(from: 0)
        case "gray":
            effects.isGray = try Self.flag(value, given)
        case "padding": effects.padding = try whole(0...1000)
        case "trim": effects.trim = try whole(0...255)
        case "radius": effects.radius = value == "max" ? ImageEffects.greatestRadius : try whole(0...4096)
        case "watermark": effects.watermark = value
        case "wm-position":
            guard let position = Self.position(value), position != .attention, position != .entropy else {
                throw .option(given, "must be center, a side, a corner such as top-left, or 0.5x0.5")
            }
            effects.watermarkPosition = position
        case "wm-scale": effects.watermarkScale = try whole(1...100)
        case "wm-opacity": effects.watermarkOpacity = try whole(0...100)
        case "fp":
            let shares = value.split(whereSeparator: { $0 == "," || $0 == "x" })
            guard shares.count == 2, value.utf8.count == shares[0].utf8.count + shares[1].utf8.count + 1,
                let x = Self.share(shares[0]), let y = Self.share(shares[1])
            else { throw .option(given, "must be a point such as 0.5,0.2, from the upper left 0,0 to 1,1") }
            focalPoint = .focus(x: x, y: y)
        default: return false
        }
        return true
    }

    /// Parses `left x top x width x height`, in pixels, or in percent with a `p` behind it.
    private static func region(_ text: String) -> ImageRegion? {
        let isPercent = text.hasSuffix("p")
        let parts = text.dropLast(isPercent ? 1 : 0).split(separator: "x", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        if isPercent {
            let shares = parts.compactMap { decimal($0) }.filter { $0 <= 100 }.map { $0 / 100 }
            guard shares.count == 4, shares[0] < 1, shares[1] < 1, shares[2] > 0, shares[3] > 0 else { return nil }
            return .shares(x: shares[0], y: shares[1], width: shares[2], height: shares[3])
        }
        let pixels = parts.compactMap { number(String($0), 0...999_999) }
        guard pixels.count == 4, pixels[2] > 0, pixels[3] > 0 else { return nil }
        return .pixels(x: pixels[0], y: pixels[1], width: pixels[2], height: pixels[3])
    }

    /// Parses a number with at most two digits behind the point, and some before it.
    static func decimal(_ text: Substring, digits: Int = 3) -> Double? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), (1...digits).contains(parts[0].utf8.count),
            parts.count == 1 || (1...2).contains(parts[1].utf8.count),
            parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } })
        else { return nil }
        return Double(text)
    }

    static func flag(_ text: String, _ given: some StringProtocol) throws(ImageOptionError) -> Bool {
        guard let flag = ["1": true, "true": true, "0": false, "false": false][text] else {
            throw .option(given, "must be 1 or 0, true or false")
        }
        return flag
    }

    static func whole(
        _ text: String, _ range: ClosedRange<Int>, _ given: some StringProtocol
    ) throws(ImageOptionError) -> Int {
        guard let number = number(text, range) else {
            throw .option(given, "must be an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// An integer in decimal digits.
    static func number(_ text: String, _ range: ClosedRange<Int>) -> Int? {
        guard (1...9).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int(text), range.contains(number)
        else { return nil }
        return number
    }

    /// Splits a text of options at its commas, except for the comma of `fp=x,y`.
    static func members(_ text: some StringProtocol) -> [Substring] {
        var members: [Substring] = []
        for part in Substring(text).split(separator: ",", omittingEmptySubsequences: false) {
            if let last = members.last, last.hasPrefix("fp="), !last.contains(","),
                part.utf8.first.map({ $0 != 0x2C }) == true,
                part.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") })
            {
                members[members.count - 1] = last.base[last.startIndex..<part.endIndex]
            } else {
                members.append(part)
            }
        }
        return members
    }

    /// The size to decode to.
    ///
    /// An image that is changed before it is resized is decoded with at most 4096 pixels a side, or as it is if a part of it is chosen in
    /// its own pixels.
    var decodedSizing: ImageSizing? {
        if case .pixels = effects.crop { return nil }
        if !isChangedBeforeSize { return effects.orientation.swapsSides ? sizing?.transposed : sizing }
        return .fit(4096, 4096)
    }

    /// True if the image must be cropped, trimmed or turned before it is resized. Whether it is turned before or after does not matter if its
    /// middle is kept.
    private var isChangedBeforeSize: Bool {
        let isOffCentre = sizing.map { $0.position != .center } ?? false
        return effects.crop != nil || effects.trim != nil || effects.zoom > 1
            || isOffCentre && effects.orientation != .up
    }

    /// The part that a zoom shows: its centre is the focal point, as far as the image reaches.
    private var zoomed: (x: Double, y: Double, side: Double) {
        let side = 1 / effects.zoom
        let (x, y) = if case .focus(let x, let y) = focalPoint { (x, y) } else { (0.5, 0.5) }
        func start(_ centre: Double) -> Double { min(max(centre - side / 2, 0), 1 - side) }
        return (start(x), start(y), side)
    }

    /// The focal point in the part that a zoom shows.
    var focalPointInZoom: ImageSizing.Position? {
        guard effects.zoom > 1, case .focus(let x, let y) = focalPoint else { return focalPoint }
        let part = zoomed
        return .focus(x: (x - part.x) / part.side, y: (y - part.y) / part.side)
    }

    /// The effects, in their order: crop, trim, turn, zoom and resize, background, blur, sharpen, colours, watermark, padding, corners.
    ///
    /// - Parameter watermarks: The watermarks by name.
    func processors(_ watermarks: [String: ImageWatermark]) throws(ImageOptionError) -> [ImageProcessor] {
        var processors: [ImageProcessor] = []
        if let crop = effects.crop { processors.append(.region(crop)) }
        if let tolerance = effects.trim { processors.append(.trim(tolerance: tolerance)) }
        if effects.orientation != .up { processors.append(.orient(effects.orientation)) }
        if effects.zoom > 1 {
            let part = zoomed
            processors.append(.region(.shares(x: part.x, y: part.y, width: part.side, height: part.side)))
        }
        if isChangedBeforeSize, let sizing { processors.append(.resize(sizing)) }
        if let background, !fit.fillsBox { processors.append(.background(background)) }
        if blur > 0 { processors.append(.blur(sigma: Double(blur) / 2)) }
        if effects.sharpening > 0 { processors.append(.sharpen(amount: effects.sharpening)) }
        let factors = [effects.brightness, effects.contrast, effects.saturation]
        if factors.contains(where: { $0 != 1 }) {
            processors.append(.adjust(brightness: factors[0], contrast: factors[1], saturation: factors[2]))
        }
        if effects.isGray { processors.append(.grayscale) }
        if let name = effects.watermark {
            guard var mark = watermarks[name] else {
                let known = watermarks.keys.sorted().joined(separator: ", ")
                throw .option("watermark", known.isEmpty ? "is not configured" : "must be one of \(known)")
            }
            mark.position = effects.watermarkPosition
            mark.scale = Double(effects.watermarkScale) / 100
            mark.opacity = Double(effects.watermarkOpacity) / 100
            processors.append(.watermark(mark))
        }
        if effects.padding > 0 {
            let pixels = Int((Double(effects.padding) * devicePixelRatio).rounded())
            processors.append(.pad(by: pixels, color: background))
        }
        if effects.radius > 0 {
            processors.append(.roundedCorners(radius: Double(effects.radius) * devicePixelRatio))
        }
        return processors
    }
}
