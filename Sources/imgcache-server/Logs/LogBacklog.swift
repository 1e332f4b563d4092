import HTTPServer

/// The lines of a log that wait to be written, and the number of those that are lost.
struct LogBacklog {
    struct Batch {
        let bytes: [UInt8]
        /// The number of lost lines, which is the last line; 0 if there is none.
        fileprivate let leftOut: Int
        /// True if the batch begins with the end of a line that was written in part.
        fileprivate let endsLine: Bool
    }

    private static let lineEnd = UInt8(ascii: "\n")
    /// The number of bytes that a pipe takes at once: a writable pipe has room for them, and does not mix them with another writer's bytes
    /// (pipe(7), PIPE_BUF).
    private static let mostAtOnce = 4096

    private var lines: [UInt8] = []
    /// The number of lines that were lost since the last one that says so.
    private(set) var leftOut = 0
    /// True if what was written ends inside a line.
    private var isTorn = false

    /// Adds a line, without its end; returns false if too many bytes wait already.
    mutating func add(_ line: [UInt8], upTo limit: Int) -> Bool {
        guard lines.count < limit else {
            leftOut += 1
            return false
        }
        lines += line + [Self.lineEnd]
        return true
    }

    /// The line about lost lines, without its end.
    static func lineAboutLost(_ leftOut: Int) -> [UInt8] {
        var note = JSONLine()
        note.add("log_lines_left_out", leftOut)
        return note.finished()
    }

    /// The beginning of lines that is written to a pipe next: as many lines as it takes at once, or a part of a longer one.
    static func piece(of bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let most = bytes.prefix(mostAtOnce)
        guard most.count < bytes.count, let end = most.lastIndex(of: lineEnd) else { return most }
        return most[...end]
    }

    /// Takes all lines, and the number of lost ones.
    ///
    /// - Parameter note: The line about lost lines, without its end.
    mutating func take(_ note: (Int) -> [UInt8] = LogBacklog.lineAboutLost) -> Batch {
        var bytes = lines
        if leftOut > 0 { bytes += note(leftOut) + [Self.lineEnd] }
        let endsLine = isTorn && !bytes.isEmpty
        if endsLine { bytes.insert(Self.lineEnd, at: 0) }
        defer { (lines, leftOut) = ([], 0) }
        return Batch(bytes: bytes, leftOut: leftOut, endsLine: endsLine)
    }

    /// Records how many bytes of a batch were written. The lines of the others are lost.
    mutating func note(_ written: Int, of batch: Batch) {
        let rest = batch.bytes[written...]
        if written > 0 { isTorn = batch.bytes[written - 1] != Self.lineEnd }
        guard !rest.isEmpty else { return }
        leftOut += rest.count { $0 == Self.lineEnd }
        if written == 0, batch.endsLine { leftOut -= 1 }
        if batch.leftOut > 0 { leftOut += batch.leftOut - 1 }
    }
}
