/// A number of bytes with a unit: `500MB`, `2GiB`, `1.5 G`, `4096`.
///
/// `kB`, `MB`, `GB`, `TB` are powers of 1000 and `KiB`, `MiB`, `GiB`, `TiB` powers of 1024 (IEC 80000-13). A single
/// letter (`k`, `M`, `G`, `T`) is a power of 1024, as in curl's `--limit-rate`. Letter case is ignored.
package struct ByteSize: Equatable, Sendable {
    package var bytes: Int64

    package init(_ bytes: Int64) { self.bytes = bytes }

    package init?(text: String) {
        let text = text.filter { $0 != " " && $0 != "_" }
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        guard let value = Double(number), value.isFinite, value >= 0 else { return nil }
        guard let unit = Self.unit(named: text.dropFirst(number.count).lowercased()) else { return nil }
        let product = (value * unit).rounded(.toNearestOrEven)
        guard product < 0x1p62 else { return nil }
        // Whole numbers of bytes stay exact beyond 2^53.
        if unit == 1, let exact = Int64(number) { bytes = exact } else { bytes = Int64(product) }
    }

    private static func unit(named name: String) -> Double? {
        switch name {
        case "", "b": 1
        case "kb": 1e3
        case "mb": 1e6
        case "gb": 1e9
        case "tb": 1e12
        case "k", "ki", "kib": 0x1p10
        case "m", "mi", "mib": 0x1p20
        case "g", "gi", "gib": 0x1p30
        case "t", "ti", "tib": 0x1p40
        default: nil
        }
    }

    /// The exact number as text that ``init(text:)`` parses: `3MiB`, `1000`.
    package var exactText: String {
        let power = bytes > 0 ? min(bytes.trailingZeroBitCount / 10, 4) : 0
        return "\(bytes >> Int64(10 * power))\(["", "KiB", "MiB", "GiB", "TiB"][power])"
    }
}

extension ByteSize: CustomStringConvertible {
    /// Three significant digits with a binary unit: `812 B`, `1.46 MiB`, `2.00 GiB`.
    package var description: String {
        guard bytes >= 1024 else { return "\(bytes) B" }
        var value = Double(bytes)
        var unit = "B"
        for next in ["KiB", "MiB", "GiB", "TiB"] where value >= 1023.5 {
            value /= 1024
            unit = next
        }
        let decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0
        return "\(Self.fixed(value, decimals: decimals)) \(unit)"
    }

    /// Formats `value` with a fixed number of decimals, without the formatters of full Foundation, which cost start-up
    /// time.
    private static func fixed(_ value: Double, decimals: Int) -> String {
        var scale = 1.0
        for _ in 0..<decimals { scale *= 10 }
        let digits = String(Int64((value * scale).rounded()))
        guard decimals > 0 else { return digits }
        let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
        return padded.dropLast(decimals) + "." + padded.suffix(decimals)
    }
}
