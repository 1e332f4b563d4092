import ImageCache
import ImageEffects

extension ImageOptions {
    /// The size to decode to.
    var decodedSizing: ImageSizing? { effects.decodedSizing(for: sizing) }

    /// The effects in their order.
    ///
    /// - Parameter watermarks: The watermarks by name.
    func processors(_ watermarks: [String: ImageWatermark]) throws(ImageOptionError) -> [ImageProcessor] {
        let mark = effects.watermark.flatMap { watermarks[$0] }
        if effects.watermark != nil, mark == nil {
            let known = watermarks.keys.sorted().joined(separator: ", ")
            throw .option("watermark", known.isEmpty ? "is not configured" : "must be one of \(known)")
        }
        return effects.processors(
            for: sizing, on: background, devicePixelRatio: devicePixelRatio, watermark: mark)
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
}
