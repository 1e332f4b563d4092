import HTTPSemantics

/// Percent-encoding as AWS's signatures demand it: every byte but unreserved characters (RFC 3986 section 2.3), with digits in upper case.
///
/// URLs are sent in this spelling too, so that both sides sign the same text.
enum AWSEncoding {
    /// A path whose segments are encoded once, its slashes kept.
    static func path(_ path: String) -> String { encoded(path, keepsSlashes: true) }

    /// The name or the value of a query's parameter.
    static func component(_ text: String) -> String { encoded(text, keepsSlashes: false) }

    /// Parameters in the order of their encoded names, then values.
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
