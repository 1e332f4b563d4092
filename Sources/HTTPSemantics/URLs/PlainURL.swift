/// URLs that are normal at a glance, as nearly all are: a cache hit must not pay for taking one apart.
enum PlainURL {
    /// Where the host is, if scheme and host are in lower case, there is no port, no user, nothing escaped or to be escaped, no
    /// segment that begins with a dot, and no fragment.
    static func host(of url: String) -> Range<Int>? {
        var url = url
        return url.withUTF8 { bytes in
            guard let start = start(bytes) else { return nil }
            var end = start
            while end < bytes.count, bytes[end] != UInt8(ascii: "/") {
                guard bytes[end].isPlainInHost else { return nil }
                end += 1
            }
            guard end > start, end < bytes.count else { return nil }
            var isInPath = true
            for index in end..<bytes.count {
                switch bytes[index] {
                case 0...0x20, 0x7F..., UInt8(ascii: "%"), UInt8(ascii: "#"): return nil
                case UInt8(ascii: "?"): isInPath = false
                case UInt8(ascii: ".") where isInPath && bytes[index - 1] == UInt8(ascii: "/"): return nil
                default: break
                }
            }
            return start..<end
        }
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
