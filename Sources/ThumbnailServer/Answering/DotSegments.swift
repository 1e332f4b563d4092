/// The segments `.` and `..` of a path (RFC 3986 section 3.3), also percent-encoded: who takes them out and who does not would
/// go to different places.
enum DotSegments {
    /// - Parameter target: a path, with or without a query.
    static func areIn(path target: String) -> Bool { are(in: target.utf8.prefix { $0 != UInt8(ascii: "?") }) }

    static func are(in path: Substring.UTF8View) -> Bool {
        var isAtStart = true
        for index in path.indices {
            let byte = path[index]
            if isAtStart, byte == UInt8(ascii: ".") || byte == UInt8(ascii: "%"), isDotSegment(at: index, of: path) {
                return true
            }
            isAtStart = byte == UInt8(ascii: "/")
        }
        return false
    }

    private static func isDotSegment(at start: Substring.Index, of path: Substring.UTF8View) -> Bool {
        let segment = path[start...].prefix { $0 != UInt8(ascii: "/") }
        return segment.count <= 6 && spellings.contains(Substring(segment).lowercased())
    }

    private static let spellings: Set<String> = [".", "..", "%2e", ".%2e", "%2e.", "%2e%2e"]
}
