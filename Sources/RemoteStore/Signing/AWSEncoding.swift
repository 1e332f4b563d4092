import HTTPSemantics

/// Percent-encoding as AWS's signatures require: every byte except unreserved characters (RFC 3986 section 2.3), with upper-case digits.
///
/// URLs are also sent in this encoding, so that both sides sign the same text.
enum AWSEncoding {
    /// Encodes the segments of a path once, and keeps its slashes.
    static func path(_ path: String) -> String { encoded(path, keepsSlashes: true) }

    /// Encodes the name or the value of a query parameter.
    static func component(_ text: String) -> String { encoded(text, keepsSlashes: false) }

    /// Encodes parameters and sorts them by encoded name, then by value.
    static func query(_ parameters: [(name: String, value: String)]) -> String {
        let encoded = parameters.map { (component($0.name), component($0.value)) }
        return encoded.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    private static func encoded(_ text: String, keepsSlashes: Bool) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                result.append(byte)
            case UInt8(ascii: "/") where keepsSlashes: result.append(byte)
            default: PercentEncoding.append(byte, to: &result)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
