import HTTPSemantics
import ImageEffects

/// The parameters of an image in the IIIF Image API 3.0, in the order in which they are applied.
struct IIIFImage: Equatable {
    enum Region: Equatable {
        case full
        /// The middle of the image.
        case square
        case pixels(x: Int, y: Int, width: Int, height: Int)
        case percent(x: Double, y: Double, width: Double, height: Double)
    }

    enum Size: Equatable {
        case max
        /// A side that is missing follows from the proportions.
        case width(Int)
        case height(Int)
        case exactly(width: Int, height: Int)
        case percent(Double)
        /// The largest size within a box.
        case within(width: Int, height: Int)
    }

    enum Quality: String, CaseIterable {
        case `default`, color, gray, bitonal
    }

    /// The formats by their extensions.
    static let formats: [String: ImageOptions.Format] = [
        "jpg": .jpeg, "png": .png, "webp": .webp, "gif": .gif, "avif": .avif,
    ]

    let region: Region
    let size: Size
    /// True for a size with `^`.
    let allowsEnlargement: Bool
    /// Clockwise, after the reflection: 0, 90, 180 or 270 degrees.
    let rotation: Int
    /// True if left and right are exchanged.
    let isMirrored: Bool
    let quality: Quality
    /// The extension: a key of ``formats``.
    let format: String

    // MARK: Reading

    /// - Parameter segments: Region, size, rotation, and quality with format, percent-encoded.
    init(_ segments: [Substring]) throws(ImageOptionError) {
        region = try Self.region(try Self.decoded(segments[0], "region"))
        let size = try Self.decoded(segments[1], "size")
        allowsEnlargement = size.hasPrefix("^")
        self.size = try Self.size(size.dropFirst(allowsEnlargement ? 1 : 0))
        let rotation = try Self.decoded(segments[2], "rotation")
        isMirrored = rotation.hasPrefix("!")
        guard let angle = Self.decimal(rotation.dropFirst(isMirrored ? 1 : 0)), [0, 90, 180, 270, 360].contains(angle)
        else { throw .option("rotation", "must be 0, 90, 180 or 270, or one of them after !") }
        self.rotation = Int(angle) % 360
        let file = try Self.decoded(segments[3], "quality")
        let dot = file.lastIndex(of: ".") ?? file.endIndex
        guard let quality = Quality(rawValue: String(file[..<dot])) else {
            throw .option("quality", "must be \(Quality.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        self.quality = quality
        format = String(file[dot...].dropFirst())
        guard Self.formats[format] != nil else {
            throw .option("format", "must be \(Self.formats.keys.sorted().joined(separator: ", "))")
        }
    }

    private static func decoded(_ segment: Substring, _ name: String) throws(ImageOptionError) -> String {
        guard let bytes = PercentEncoding.strictlyDecoded(segment.utf8),
            let text = String(validating: bytes, as: UTF8.self)
        else { throw .option(name, "must be percent-encoded UTF-8") }
        return text
    }

    private static func region(_ text: String) throws(ImageOptionError) -> Region {
        if text == "full" { return .full }
        if text == "square" { return .square }
        if text.hasPrefix("pct:") {
            let shares = list(text.dropFirst("pct:".count)) { decimal($0) }
            if shares.count == 4, shares[2] > 0, shares[3] > 0 {
                return .percent(x: shares[0], y: shares[1], width: shares[2], height: shares[3])
            }
        } else {
            let pixels = list(text[...]) { whole($0) }
            if pixels.count == 4, pixels[2] > 0, pixels[3] > 0 {
                return .pixels(x: pixels[0], y: pixels[1], width: pixels[2], height: pixels[3])
            }
        }
        throw .option("region", "must be full, square, x,y,w,h or pct:x,y,w,h, with a width and a height above 0")
    }

    /// - Parameter text: The size without `^`.
    private static func size(_ text: Substring) throws(ImageOptionError) -> Size {
        if text == "max" { return .max }
        if text.hasPrefix("pct:") {
            if let percent = decimal(text.dropFirst("pct:".count)), percent > 0, percent <= 1_000_000 {
                return .percent(percent)
            }
        } else if text.hasPrefix("!") {
            let sides = list(text.dropFirst()) { whole($0) }
            if sides.count == 2, sides[0] > 0, sides[1] > 0 { return .within(width: sides[0], height: sides[1]) }
        } else {
            let sides = text.split(separator: ",", omittingEmptySubsequences: false)
            let numbers = sides.map { whole($0) ?? 0 }
            if sides.count == 2 {
                if numbers[0] > 0, numbers[1] > 0 { return .exactly(width: numbers[0], height: numbers[1]) }
                if numbers[0] > 0, sides[1].isEmpty { return .width(numbers[0]) }
                if numbers[1] > 0, sides[0].isEmpty { return .height(numbers[1]) }
            }
        }
        throw .option("size", "must be max, w, or ,h or w,h or !w,h or pct:n, or one of them after ^")
    }

    /// The numbers between commas, or an empty list if a part is not a number.
    private static func list<Number>(_ text: Substring, _ read: (Substring) -> Number?) -> [Number] {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        let numbers = parts.compactMap(read)
        return numbers.count == parts.count ? numbers : []
    }

    private static func whole(_ text: Substring) -> Int? { OptionValue.number(String(text), 0...999_999_999) }

    /// A number of digits and a point.
    private static func decimal(_ text: Substring) -> Double? {
        guard (1...20).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") })
        else { return nil }
        return Double(text)
    }
}
