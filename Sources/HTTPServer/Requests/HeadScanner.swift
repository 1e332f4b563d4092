/// Finds the lines of a head in bytes that arrive in parts; each byte is examined once.
///
/// A line ends with CRLF only: RFC 9112 section 2.2 lets a recipient accept a single LF, and recipients that differ in
/// this see different requests.
struct HeadScanner {
    /// The number of bytes examined.
    private var scanned = 0
    private var lineStart = 0
    /// The end of the first line, its CRLF included.
    private(set) var firstLineEnd: Int?

    var hasExaminedNothing: Bool { scanned == 0 }

    /// The length of the head, including the empty line at its end; nil if that is missing.
    mutating func end(in bytes: Span<UInt8>) throws(RequestError) -> Int? {
        var index = scanned
        defer { scanned = index }
        while index < bytes.count {
            guard bytes[index] == .lineFeed else {
                index += 1
                continue
            }
            guard index > lineStart, bytes[index - 1] == .carriageReturn else {
                throw .bad("bare-line-feed", "A line ends with LF alone.")
            }
            index += 1
            if firstLineEnd == nil { firstLineEnd = index }
            if index - lineStart == 2 { return index }
            lineStart = index
        }
        return nil
    }
}
