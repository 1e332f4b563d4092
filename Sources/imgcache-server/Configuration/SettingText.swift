import HTTPSemantics

/// Settings as people write them.
enum SettingText {
    /// `4096`, `64k`, `500MB`, `2GiB`: a bare letter and `KiB` … are powers of 1024, `kB`, `MB` … of 1000.
    static func bytes(_ text: String) -> Int64? {
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        guard let value = Double(number), value.isFinite else { return nil }
        let unit: Double
        switch text.dropFirst(number.count).lowercased() {
        case "", "b": unit = 1
        case "kb": unit = 1e3
        case "mb": unit = 1e6
        case "gb": unit = 1e9
        case "tb": unit = 1e12
        case "k", "kib": unit = 0x1p10
        case "m", "mib": unit = 0x1p20
        case "g", "gib": unit = 0x1p30
        case "t", "tib": unit = 0x1p40
        default: return nil
        }
        let product = (value * unit).rounded()
        return product < 0x1p62 ? Int64(product) : nil
    }

    /// Bytes as ``bytes(_:)`` reads them again.
    static func text(ofBytes bytes: Int64) -> String {
        for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] as [(Int64, String)]
        where bytes > 0 && bytes % (1 << shift) == 0 {
            return "\(bytes >> shift)\(unit)"
        }
        return "\(bytes)"
    }

    /// `30` (seconds), `250ms`, `30s`, `5m`, `1h`.
    static func duration(_ text: String) -> Duration? {
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        guard let value = Double(number), value.isFinite, value < 1e9 else { return nil }
        switch text.dropFirst(number.count) {
        case "ms": return .milliseconds(Int64((value).rounded()))
        case "", "s": return .milliseconds(Int64((value * 1000).rounded()))
        case "m", "min": return .seconds(Int64((value * 60).rounded()))
        case "h": return .seconds(Int64((value * 3600).rounded()))
        default: return nil
        }
    }

    /// A duration as ``duration(_:)`` reads it again.
    static func text(of duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        return milliseconds % 1000 == 0 ? "\(milliseconds / 1000)s" : "\(milliseconds)ms"
    }

    static func flag(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "true", "yes", "on", "1": true
        case "false", "no", "off", "0": false
        default: nil
        }
    }

    /// The members of a comma-separated list.
    static func list(_ text: String) -> [String] { ListedTokens(text).map(String.init) }
}
