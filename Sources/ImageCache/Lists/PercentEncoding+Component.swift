package import HTTPSemantics

extension PercentEncoding {
    /// Encodes a text as a URL component: all but unreserved characters are escaped (RFC 3986 section 2.3).
    package static func encodedComponent(_ text: String) -> String {
        var result: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: result.append(byte)
            default: append(byte, to: &result)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
