/// A path in its most decoded reading, as the most permissive servers and proxies interpret it.
///
/// Escapes are decoded repeatedly until none is left; a backslash is a slash; a segment ends at `;` (path parameters,
/// RFC 3986 section 3.3) and at NUL; white space around it and empty segments do not count; the overlong UTF-8 forms of
/// `.`, `/` and `\` are those characters.
public struct DecodedPath: Sendable, Hashable {
    /// The segments that are not empty.
    public private(set) var segments: [[UInt8]] = []

    /// - Parameter path: without a query.
    public init(_ path: some Sequence<UInt8>) {
        var bytes: [UInt8] = []
        for byte in path {
            bytes.append(byte)
            Self.reduce(&bytes)
        }
        for part in bytes.split(whereSeparator: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }) {
            var segment = part.prefix { $0 != UInt8(ascii: ";") && $0 != 0 }
            while let last = segment.last, Self.isSpace(last) { segment.removeLast() }
            segment = segment.drop(while: Self.isSpace)
            if !segment.isEmpty { segments.append(Array(segment)) }
        }
    }

    /// True if a segment is `.` or `..`.
    public var hasDotSegments: Bool { segments.contains { (1...2).contains($0.count) && $0.allSatisfy { $0 == 0x2E } } }

    /// Returns true if the path starts with all of `base`'s segments and nothing leads out of them again.
    public func isBelow(_ base: DecodedPath) -> Bool { segments.starts(with: base.segments) && !hasDotSegments }

    /// Decodes at the end of the bytes read so far while possible: linear for any input.
    private static func reduce(_ bytes: inout [UInt8]) {
        while true {
            if bytes.count >= 3, bytes[bytes.count - 3] == UInt8(ascii: "%"),
                let byte = PercentEncoding.byte(bytes.suffix(2))
            {
                bytes.removeLast(3)
                bytes.append(byte)
            } else if let last = bytes.last, Self.isLeftOut(last) {
                bytes.removeLast()
            } else if let character = overlong(bytes.suffix(2)) {
                bytes.removeLast(2)
                bytes.append(character)
            } else {
                return
            }
        }
    }

    private static func overlong(_ bytes: ArraySlice<UInt8>) -> UInt8? {
        switch (bytes.first, bytes.last) {
        case (0xC0, 0xAE): UInt8(ascii: ".")
        case (0xC0, 0xAF): UInt8(ascii: "/")
        case (0xC1, 0x9C): UInt8(ascii: "\\")
        default: nil
        }
    }

    /// Returns true for tabs and line ends, which browsers remove wherever they occur (WHATWG URL section 4.4).
    private static func isLeftOut(_ byte: UInt8) -> Bool { byte == 0x09 || byte == 0x0A || byte == 0x0D }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0B || byte == 0x0C }
}

extension HTTPURL {
    /// Returns true if the URL is `base` or lies below its path, however its server reads it: both as written and in
    /// its most decoded reading (``DecodedPath``), at the same scheme, host and port.
    ///
    /// A base without a path contains its entire origin.
    public func isBelow(_ base: HTTPURL) -> Bool {
        guard hasSameOrigin(as: base) else { return false }
        let path = path
        var folder = base.path
        while folder.utf8.last == UInt8(ascii: "/") { folder = folder.dropLast() }
        if folder.isEmpty { return true }
        guard path.utf8.starts(with: folder.utf8) else { return false }
        let rest = path.utf8.dropFirst(folder.utf8.count)
        guard rest.isEmpty || rest.first == UInt8(ascii: "/") else { return false }
        if rest.allSatisfy(Self.hasOneReading) { return true }
        return DecodedPath(path.utf8).isBelow(DecodedPath(folder.utf8))
    }

    private static func hasOneReading(_ byte: UInt8) -> Bool {
        byte != UInt8(ascii: "%") && byte != UInt8(ascii: ";") && byte != UInt8(ascii: "\\")
    }
}
