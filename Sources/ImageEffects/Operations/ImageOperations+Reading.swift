import ImageCodec

extension ImageOperations {
    /// The names of the options, in the order in which the operations are applied.
    package static let names = [
        "crop", "trim", "rotate", "flip", "zoom", "fp", "blur", "sharpen", "brightness", "contrast", "saturation",
        "gray", "watermark", "wm-position", "wm-scale", "wm-opacity", "padding", "radius",
    ]

    /// Reads the value of an option.
    ///
    /// - Returns: False if no operation has this name.
    @discardableResult
    package mutating func read(_ name: String, _ value: String) throws(OptionValueError) -> Bool {
        func whole(_ range: ClosedRange<Int>) throws(OptionValueError) -> Int { try OptionValue.whole(value, range) }
        func number(from least: Int) throws(OptionValueError) -> Double {
            guard let number = OptionValue.decimal(value[...]), (Double(least)...10).contains(number) else {
                throw OptionValueError("must be a number from \(least) to 10")
            }
            return number
        }
        switch name {
        case "crop":
            guard let region = Self.region(value) else {
                throw OptionValueError(
                    "must be 10x20x300x200 (left, top, width, height in pixels), or 10x5x80x60p (percent)")
            }
            crop = region
        case "trim": trim = try whole(0...255)
        case "rotate":
            guard let angle = OptionValue.number(value, 0...270), angle % 90 == 0 else {
                throw OptionValueError("must be 0, 90, 180 or 270")
            }
            rotation = angle
        case "flip":
            guard ["h", "v", "hv"].contains(value) else { throw OptionValueError("must be h, v or hv") }
            (flipsHorizontally, flipsVertically) = (value.contains("h"), value.contains("v"))
        case "zoom": zoom = try number(from: 1)
        case "fp":
            let shares = value.split(whereSeparator: { $0 == "," || $0 == "x" })
            guard shares.count == 2, value.utf8.count == shares[0].utf8.count + shares[1].utf8.count + 1,
                let x = OptionValue.share(shares[0]), let y = OptionValue.share(shares[1])
            else { throw OptionValueError("must be a point such as 0.5,0.2, from the upper left 0,0 to 1,1") }
            focalPoint = .focus(x: x, y: y)
        case "blur": blur = try whole(1...250)
        case "sharpen": sharpening = try number(from: 0)
        case "brightness": brightness = try number(from: 0)
        case "contrast": contrast = try number(from: 0)
        case "saturation": saturation = try number(from: 0)
        case "gray":
            isBitonal = value == "bitonal"
            isGray = try isBitonal ? false : OptionValue.flag(value, or: "bitonal")
        case "watermark": watermark = value
        case "wm-position":
            guard let position = ImageSizing.Position(option: value), position != .attention, position != .entropy
            else { throw OptionValueError("must be center, a side, a corner such as top-left, or 0.5x0.5") }
            watermarkPosition = position
        case "wm-scale": watermarkScale = try whole(1...100)
        case "wm-opacity": watermarkOpacity = try whole(0...100)
        case "padding": padding = try whole(0...1000)
        case "radius": radius = value == "max" ? Self.greatestRadius : try whole(0...4096)
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
            let shares = parts.compactMap { OptionValue.decimal($0) }.filter { $0 <= 100 }.map { $0 / 100 }
            guard shares.count == 4, shares[0] < 1, shares[1] < 1, shares[2] > 0, shares[3] > 0 else { return nil }
            return .shares(x: shares[0], y: shares[1], width: shares[2], height: shares[3])
        }
        let pixels = parts.compactMap { OptionValue.number(String($0), 0...999_999) }
        guard pixels.count == 4, pixels[2] > 0, pixels[3] > 0 else { return nil }
        return .pixels(x: pixels[0], y: pixels[1], width: pixels[2], height: pixels[3])
    }
}
