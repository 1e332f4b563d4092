import HTTPSemantics
import HTTPServer
import ImageCache
import ImageEffects

/// An invalid option in an image's URL.
struct ImageOptionError: Error, Equatable {
    /// The value of `error` in the JSON body.
    let code: String
    /// The message, which names the option.
    let message: String

    static func option(_ name: some StringProtocol, _ problem: String) -> ImageOptionError {
        // The name is arbitrary client input, so it is quoted and truncated.
        ImageOptionError(code: "bad-option", message: "The option \"\(name.prefix(32))\" \(problem).")
    }
}

extension ImageOptions {
    /// Parses `name=value,name=value`, percent-encoded or not. Each option may occur once, under its long or its short name.
    ///
    /// - Parameter base: The values of the options that are not in the text.
    init(_ text: some StringProtocol, over base: ImageOptions = ImageOptions()) throws(ImageOptionError) {
        self = base
        try read(text)
        try checkTogether()
    }

    /// Parses options without checking their combination.
    ///
    /// - Returns: The long names of the options in the text.
    @discardableResult
    mutating func read(_ text: some StringProtocol) throws(ImageOptionError) -> Set<String> {
        var seen: Set<String> = []
        for part in Self.members(text) {
            guard let equals = part.firstIndex(of: "=") else {
                throw part.isEmpty
                    ? ImageOptionError(code: "bad-option", message: "An option is empty.")
                    : .option(part, "has no value")
            }
            let given = part[..<equals]
            guard let bytes = PercentEncoding.strictlyDecoded(part[part.index(after: equals)...].utf8),
                let value = String(validating: bytes, as: UTF8.self), !value.isEmpty
            else {
                throw .option(given, "has an invalid value")
            }
            guard let name = Self.names[String(given)] else {
                throw .option(given, "is unknown; known are \(Self.knownNames)")
            }
            guard seen.insert(name).inserted else { throw .option(given, "is specified more than once") }
            do throws(OptionValueError) { try read(name, value) } catch { throw .option(given, error.problem) }
        }
        if frame != nil { keepsAnimation = false }
        return seen
    }

    private static let names = [
        "width": "width", "w": "width", "height": "height", "h": "height", "fit": "fit", "format": "format",
        "f": "format", "quality": "quality", "q": "quality", "max-bytes": "max-bytes", "dpr": "dpr",
        "gravity": "gravity", "g": "gravity",
        "position": "gravity", "background": "background", "bg": "background", "metadata": "metadata", "frame": "frame",
        "anim": "anim", "r": "radius", "wm": "watermark", "pd": "padding", "grayscale": "gray",
    ].merging(ImageOperations.names.map { ($0, $0) }) { name, _ in name }

    /// The long names of all options.
    private static let knownNames = Set(names.values).sorted().joined(separator: ", ")

    private mutating func read(_ name: String, _ value: String) throws(OptionValueError) {
        func whole(_ range: ClosedRange<Int>) throws(OptionValueError) -> Int { try OptionValue.whole(value, range) }
        func one<Choice: RawRepresentable & CaseIterable>(_: Choice.Type) throws(OptionValueError) -> Choice
        where Choice.RawValue == String {
            guard let choice = Choice(rawValue: value) else {
                throw OptionValueError("must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            return choice
        }
        if try effects.read(name, value) { return }
        switch name {
        case "width":
            isWidthAuto = takesHints && value == "auto"
            width = isWidthAuto ? nil : try whole(1...Self.longestSide)
        case "height": height = try whole(1...Self.longestSide)
        case "fit":
            guard let named = Fit.allCases.first(where: { $0.names.contains(value) }) else {
                throw OptionValueError("must be one of \(Fit.allCases.flatMap(\.names).joined(separator: ", "))")
            }
            fit = named
        case "format": format = try one(Format.self)
        case "quality": quality = try whole(1...100)
        case "max-bytes": maxBytes = try whole(500...(16 << 20))
        case "dpr":
            guard let ratio = OptionValue.decimal(value[...], digits: 2), (0.5...4).contains(ratio) else {
                throw OptionValueError("must be a number from 0.5 to 4")
            }
            devicePixelRatio = ratio
        case "gravity":
            guard let position = ImageSizing.Position(option: value) else {
                throw OptionValueError(
                    "must be auto, entropy, center, a side, a corner such as top-left, or 0.5x0.5")
            }
            gravity = position
        case "background":
            guard let color = ImageSizing.Color(option: value) else {
                throw OptionValueError("must be a colour such as ffcc00")
            }
            background = color
        case "frame": frame = try whole(0...999)
        case "anim": keepsAnimation = try OptionValue.flag(value)
        default:
            guard value == "keep" || value == "none" else { throw OptionValueError("must be keep or none") }
            keepsMetadata = value == "keep"
        }
    }

    /// Rejects options that are valid alone but not together.
    func checkTogether() throws(ImageOptionError) {
        for (name, side) in [("width", width), ("height", height)] {
            guard (Double(side ?? 0) + border) * devicePixelRatio <= Double(Self.longestSide) else {
                let what = effects.padding > 0 ? "and its padding times dpr exceed" : "times dpr exceeds"
                throw .option(name, "\(what) \(Self.longestSide) pixels")
            }
        }
        let squared = devicePixelRatio * devicePixelRatio
        // A side that follows has at least one pixel.
        let paddedArea = (Double(width ?? 1) + border) * (Double(height ?? 1) + border) * squared
        guard paddedArea <= Double(Self.largestArea) else {
            let what = effects.padding > 0 ? "and height with their padding exceed" : "times height exceeds"
            throw .option("width", "\(what) \(Self.largestArea) pixels")
        }
        let area = Double(width ?? 0) * Double(height ?? 0) * squared
        // The width is not known until the client sends it.
        let width = isWidthAuto ? width ?? 1 : width
        if effects.blur > 0, width == nil || height == nil || area > Double(Self.largestBlurredArea) {
            throw .option("blur", "requires a width and a height of at most \(Self.largestBlurredArea) pixels")
        }
        if effects.focalPoint != nil, fit != .cover, fit != .crop, effects.zoom == 1 {
            throw .option("fp", "requires fit=cover, fit=crop or zoom")
        }
        if fit != .inside, width == nil, height == nil { throw .option("fit", "requires a width or a height") }
        if fit.needsBothSides, width == nil || height == nil {
            throw .option("fit", "requires a width and a height")
        }
    }
}
