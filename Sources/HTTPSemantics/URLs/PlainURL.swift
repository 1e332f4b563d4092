/// A fast path for URLs that are already in normal form, as nearly all are: a cache hit must not pay for full parsing.
struct PlainURL {
    /// The range of the host, and the start of the path.
    let host: Range<Int>
    let pathStart: Int
    /// `nil` for the scheme's default.
    let port: Int?

    /// `nil` unless scheme and host are in lower case, and there is no user, no escape and nothing to be escaped, no
    /// segment that begins with a dot, no fragment, and no redundant port.
    init?(_ url: String) {
        var url = url
        let parts = url.withUTF8 { bytes -> (Range<Int>, Int, Int?)? in
            guard let start = Self.start(bytes) else { return nil }
            var end = start
            while end < bytes.count, bytes[end].isPlainInHost { end += 1 }
            guard end > start, end < bytes.count else { return nil }
            let host = start..<end
            let port = Self.port(bytes, &end)
            let isDefault = port == (start == "https://".utf8.count ? 443 : 80)
            guard end < bytes.count, bytes[end] == UInt8(ascii: "/"), !isDefault, Self.isPlain(bytes, from: end) else {
                return nil
            }
            return (host, end, port)
        }
        guard let parts else { return nil }
        (host, pathStart, port) = parts
    }

    private static func isPlain(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Bool {
        var isInPath = true
        for index in start..<bytes.count {
            switch bytes[index] {
            case 0...0x20, 0x7F..., UInt8(ascii: "%"), UInt8(ascii: "#"): return false
            case UInt8(ascii: "?"): isInPath = false
            case UInt8(ascii: ".") where isInPath && bytes[index - 1] == UInt8(ascii: "/"): return false
            default: break
            }
        }
        return true
    }

    /// Parses a port from 1 to 65535 without leading zeros at `end`, and moves `end` behind it.
    private static func port(_ bytes: UnsafeBufferPointer<UInt8>, _ end: inout Int) -> Int? {
        guard bytes[end] == UInt8(ascii: ":"), end + 1 < bytes.count, bytes[end + 1] != UInt8(ascii: "0") else {
            return nil
        }
        var value = 0
        var index = end + 1
        while index < bytes.count, bytes[index].isDigit, value < 0x10000 {
            value = value * 10 + Int(bytes[index] - UInt8(ascii: "0"))
            index += 1
        }
        guard value > 0, value < 0x10000 else { return nil }
        end = index
        return value
    }

    private static func start(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        for scheme: StaticString in ["http://", "https://"] {
            let count = scheme.utf8CodeUnitCount
            if bytes.count > count, scheme.withUTF8Buffer({ $0.elementsEqual(bytes[..<count]) }) { return count }
        }
        return nil
    }
}

extension UInt8 {
    fileprivate var isPlainInHost: Bool {
        (97...122).contains(self) || isDigit || self == UInt8(ascii: ".") || self == UInt8(ascii: "-")
    }
}
