import ImageCache

/// The options in an image's URL that change its pixels, apart from the size.
struct ImageEffects: Hashable, Sendable {
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

    /// A radius that rounds the shorter sides completely.
    static let greatestRadius = 1 << 20
}

extension ImageOptions {
    static let effectNames = [
        "trim": "trim", "radius": "radius", "r": "radius", "wm": "watermark", "watermark": "watermark",
        "wm-position": "wm-position", "wm-scale": "wm-scale", "wm-opacity": "wm-opacity", "fp": "fp",
    ]

    /// Parses an option of an effect, or a focal point.
    ///
    /// - Returns: False if the option is not an effect.
    mutating func readEffect(
        _ name: String, _ given: some StringProtocol, _ value: String
    ) throws(ImageOptionError) -> Bool {
        func whole(_ range: ClosedRange<Int>) throws(ImageOptionError) -> Int {
            guard let number = Self.number(value, range) else {
                throw .option(given, "must be an integer from \(range.lowerBound) to \(range.upperBound)")
            }
            return number
        }
        switch name {
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

    /// An integer in decimal digits.
    static func number(_ text: String, _ range: ClosedRange<Int>) -> Int? {
        guard (1...6).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
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

    /// The size to decode to. A trimmed image is resized after it was trimmed.
    var decodedSizing: ImageSizing? { effects.trim == nil ? sizing : .fit(4096, 4096) }

    /// The effects, in their order: trim and resize, blur, watermark, corners.
    ///
    /// - Parameter watermarks: The watermarks by name.
    func processors(_ watermarks: [String: ImageWatermark]) throws(ImageOptionError) -> [ImageProcessor] {
        var processors: [ImageProcessor] = []
        if let tolerance = effects.trim {
            processors.append(.trim(tolerance: tolerance))
            if let sizing { processors.append(.resize(sizing)) }
        }
        if blur > 0 { processors.append(.blur(sigma: Double(blur) / 2)) }
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
        if effects.radius > 0 {
            processors.append(.roundedCorners(radius: Double(effects.radius) * devicePixelRatio))
        }
        return processors
    }
}
