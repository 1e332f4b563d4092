/// The segments `.` and `..` of a path, also escaped ones. Clients that remove them and clients that do not request
/// different resources.
public enum DotSegments {
    /// Returns true if a path, given without a query, contains any.
    public static func occur(in path: Substring.UTF8View) -> Bool {
        mayOccur(in: path) && path.split(separator: UInt8(ascii: "/")).contains { (1...2).contains(dots($0)) }
    }

    /// A quick test: most paths have dots only within segments.
    private static func mayOccur(in path: some Collection<UInt8>) -> Bool {
        var before = UInt8(ascii: "/")
        return path.contains { byte in
            defer { before = byte }
            return (byte == UInt8(ascii: ".") || byte == UInt8(ascii: "%")) && before == UInt8(ascii: "/")
        }
    }

    /// Removes dot segments (RFC 3986 section 5.2.4); a dot may be escaped (section 6.2.2.3).
    static func removed(from path: ArraySlice<UInt8>) -> [UInt8] {
        guard mayOccur(in: path) else { return Array(path) }
        var output: [ArraySlice<UInt8>] = []
        let segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            let dots = dots(segment)
            if dots == 1 {
                if isLast { output.append(segment.prefix(0)) }
            } else if dots == 2 {
                // The empty segment before the first slash stays.
                if output.count > 1 { output.removeLast() }
                if isLast { output.append(segment.prefix(0)) }
            } else {
                output.append(segment)
            }
        }
        return Array(output.joined(separator: [UInt8(ascii: "/")]))
    }

    /// The number of dots that a segment consists of; 0 if it is anything else.
    static func dots(_ segment: some Collection<UInt8>) -> Int {
        var rest = segment[...]
        var count = 0
        while let first = rest.first {
            if first == UInt8(ascii: ".") {
                rest = rest.dropFirst()
            } else if rest.starts(with: "%2e".utf8) || rest.starts(with: "%2E".utf8) {
                rest = rest.dropFirst(3)
            } else {
                return 0
            }
            count += 1
        }
        return count
    }
}
