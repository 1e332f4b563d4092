import HTTPSemantics
import HTTPTypes

/// The request fields that describe a client's screen and connection: `Sec-CH-DPR`, `Sec-CH-Width` and `Save-Data`.
struct ClientHints: Sendable, Hashable {
    var devicePixelRatio: Double?
    /// The layout width in physical pixels.
    var width: Int?
    var savesData = false

    /// The value of `Accept-CH` (RFC 8942). Browsers send `Save-Data` unrequested.
    static let accepted = "Sec-CH-DPR, Sec-CH-Width"

    /// No hints.
    init() {}

    /// Treats invalid values as absent.
    init(_ fields: HTTPFields) {
        devicePixelRatio = fields[.secCHDPR].flatMap { Self.decimal($0) }
        width = fields[.secCHWidth].flatMap { Self.decimal($0) }.flatMap { Int(exactly: $0.rounded(.up)) }
        savesData = fields[.saveData].map { ["on", "?1"].contains($0.lowercased()) } ?? false
    }

    /// A positive decimal of RFC 9651 section 3.3.2, at most 65,535.
    private static func decimal(_ text: String) -> Double? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2,
            parts.allSatisfy({ part in
                (1...6).contains(part.utf8.count) && part.utf8.allSatisfy { (0x30...0x39).contains($0) }
            }), let value = Double(text), value > 0, value <= 65_535
        else { return nil }
        return value
    }

    /// A number in the format of `Content-DPR`: `2`, `1.5`.
    static func text(_ ratio: Double) -> String {
        let hundredths = Int((ratio * 100).rounded())
        let (whole, rest) = hundredths.quotientAndRemainder(dividingBy: 100)
        if rest == 0 { return "\(whole)" }
        return rest % 10 == 0 ? "\(whole).\(rest / 10)" : "\(whole).\(rest < 10 ? "0" : "")\(rest)"
    }
}

extension HTTPField.Name {
    fileprivate static let secCHDPR = known("Sec-CH-DPR")
    fileprivate static let secCHWidth = known("Sec-CH-Width")
    fileprivate static let saveData = known("Save-Data")
}

extension ImageRestrictions {
    /// The width of `width=auto` for clients that send no width, if no widths are listed.
    static let usualWidth = 1280

    /// Chooses the options that the URL and its preset leave open.
    ///
    /// Values are rounded up to a few steps, so that many screens share an image: the listed values, or by default the ratios 1, 1.5, 2, 3
    /// and 4, and widths that are multiples of 32.
    ///
    /// - Returns: The options, and the names of the fields on which they depend.
    /// - Throws: An error if the options are too large for every width of `width=auto`.
    func applying(
        _ hints: ClientHints, to reading: ImagePresets.Reading, _ options: ImageOptions
    ) throws(ImageRequestError) -> (options: ImageOptions, names: [String]) {
        let given = reading.given
        var (options, names) = (options, [String]())
        if !given.contains("dpr") {
            names.append("Sec-CH-DPR")
            if hints.savesData {
                options.devicePixelRatio = 1
            } else if let ratio = hints.devicePixelRatio {
                options.devicePixelRatio = Self.next(ratio, ratios)
            }
        }
        if options.isWidthAuto {
            names.append("Sec-CH-Width")
            let most = Int(Double(ImageOptions.longestSide) / options.devicePixelRatio)
            let layout = hints.width.map { Double($0) / options.devicePixelRatio }
            if widths.isEmpty {
                options.width =
                    layout.map { min(most, (Int($0.rounded(.up)) + 31) / 32 * 32) } ?? min(most, Self.usualWidth)
            } else {
                options.width = layout.map { Self.next(Int($0.rounded(.up)), widths) } ?? widths.max()
            }
        }
        if !given.contains("quality") || !given.contains("dpr") { names.append("Save-Data") }
        if hints.savesData, !given.contains("quality") {
            options.quality = min(options.quality, qualities.filter { $0 <= 50 }.max() ?? qualities.min() ?? 50)
        }
        if (try? options.checkTogether()) == nil {
            // If the box is too large at this pixel ratio, ignore the client's ratio.
            options.devicePixelRatio = reading.options.devicePixelRatio
        }
        if options.isWidthAuto, widths.isEmpty, (try? options.checkTogether()) == nil {
            // If the box is too large at this width, ignore the client's width.
            options.width = Self.usualWidth
        }
        do throws(ImageOptionError) { try options.checkTogether() } catch { throw .invalidOption(error) }
        return (options, names)
    }

    private var ratios: Set<Double> {
        devicePixelRatios.isEmpty ? (widths.isEmpty ? [1, 1.5, 2, 3, 4] : [1, 1.5, 2, 3]) : devicePixelRatios
    }

    /// The smallest value that is large enough, otherwise the largest.
    private static func next<Value: Comparable>(_ wanted: Value, _ values: Set<Value>) -> Value {
        values.filter { $0 >= wanted }.min() ?? values.max() ?? wanted
    }
}
