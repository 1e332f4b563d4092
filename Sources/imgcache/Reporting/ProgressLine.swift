import Units

/// A line of the progress display: a pure function from numbers to text.
///
///     big.iso   43 %  1.72 GiB of 4.00 GiB  38.1 MiB/s  1 min 2 s left  resumed at 12 %
struct ProgressLine: Equatable, Sendable {
    var name: String
    /// The bytes available, held ones included.
    var received: Int64 = 0
    /// nil if unknown, as for a chunked response.
    var total: Int64?
    var bytesPerSecond: Double?
    var resumedFrom: Int64 = 0
    /// The reason for waiting, in words, while no bytes arrive.
    var note: String?

    /// The line in at most `width` columns. The name is shortened first, then parts are omitted from the right.
    func text(width: Int) -> String {
        let width = max(width, 10)
        let fields = parts()
        let nameWidth = max(8, min(32, width / 3, width - fields.reduce(0) { $0 + 2 + $1.count }))
        var line = Self.fitted(name, to: min(nameWidth, width))
        for part in fields where TerminalColumns.count(of: line) + 2 + part.count <= width { line += "  " + part }
        return line
    }

    /// The line as long as it is.
    var plainText: String { ([name] + parts().map { String($0.drop { $0 == " " }) }).joined(separator: ", ") }

    private func parts() -> [String] {
        var parts: [String] = []
        if let total, total > 0 {
            parts.append(Self.padded("\(Self.percent(received, of: total)) %", to: 5))
            parts.append("\(ByteSize(received)) of \(ByteSize(total))")
        } else {
            parts.append("\(ByteSize(received))")
        }
        if let note {
            parts.append(note)
        } else if let rate = bytesPerSecond {
            parts.append("\(ByteSize(Int64(rate)))/s")
            if let total, rate >= 1, total > received {
                parts.append("\(TimeSpan(seconds: Double(total - received) / rate)) left")
            }
        }
        if resumedFrom > 0 {
            if let total, total > 0 {
                parts.append("resumed at \(Self.percent(resumedFrom, of: total)) %")
            } else {
                parts.append("resumed at \(ByteSize(resumedFrom))")
            }
        }
        return parts
    }

    /// Rounded down, so that 100 % means complete.
    static func percent(_ part: Int64, of total: Int64) -> Int64 {
        min(100, Int64((Double(part) / Double(total) * 100).rounded(.down)))
    }

    private static func padded(_ text: String, to width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    /// Pads to `width`, or shortens in the middle, so that the extension stays readable.
    static func fitted(_ name: String, to width: Int) -> String {
        let columns = TerminalColumns.count(of: name)
        guard columns > width else { return name + String(repeating: " ", count: width - columns) }
        guard width > 3 else { return TerminalColumns.prefix(name, width) }
        let end = String(TerminalColumns.prefix(name.reversed(), (width - 1) / 2).reversed())
        let start = TerminalColumns.prefix(name, width - 1 - TerminalColumns.count(of: end))
        let rest = width - 1 - TerminalColumns.count(of: start + end)
        return start + "…" + end + String(repeating: " ", count: rest)
    }
}

/// The average rate over the last few seconds.
struct RateMeter: Sendable {
    private var samples: [(time: Double, bytes: Int64)] = []
    private let window = 5.0

    /// Records `bytes` received in total at `time` (seconds of any monotonic clock).
    mutating func record(bytes: Int64, at time: Double) {
        if let last = samples.last, bytes < last.bytes { samples.removeAll() }  // restarted
        samples.append((time, bytes))
        while samples.count > 2, let first = samples.first, time - first.time > window { samples.removeFirst() }
    }

    var bytesPerSecond: Double? {
        guard let first = samples.first, let last = samples.last, last.time > first.time else { return nil }
        return Double(last.bytes - first.bytes) / (last.time - first.time)
    }
}
