import Units

/// A line of the progress display: a pure function from a value and a width to text.
///
///     big.iso  [===>      ]   43 %  1.72 GiB of 4.00 GiB  38.1 MiB/s  1 min 2 s left  resumed at 12 %
///     big.iso  [===>      ]   43 %  1.72 GiB of 4.00 GiB  no data for 12 s, connection reset, again in 4 s
struct ProgressLine: Equatable, Sendable {
    /// The activity of a download at one moment.
    enum Activity: Equatable, Sendable {
        /// Bytes arrive. The rate is `nil` until it was measured for a second.
        case receiving(bytesPerSecond: Double?)
        /// No bytes arrive.
        case waiting(Pause)
    }

    /// A time in which no bytes arrive.
    struct Pause: Equatable, Sendable {
        /// Seconds since the last byte, if they are worth mentioning.
        var silence: Double?
        /// The reason, in words.
        var reason: String?
        /// The number of seconds until the next attempt, if there is one.
        var nextTry: Double?
    }

    var name: String
    /// The number of available bytes, also from earlier runs.
    var received: Int64 = 0
    /// `nil` if unknown, as for a chunked response.
    var total: Int64?
    var resumedFrom: Int64 = 0
    var activity = Activity.receiving(bytesPerSecond: nil)

    /// Formats the line in at most `width` columns.
    ///
    /// Parts are omitted if they leave too little room for the name: first the position at which the download resumed, then the bytes.
    /// Percent, rate and remaining time are kept longest. The bar takes free space after the name, so that it moves no other part.
    func text(width: Int) -> String {
        let width = max(width, 0)
        let name = name.forTerminal
        let columns = TerminalColumns.count(of: name)
        for (fields, least) in layouts(width: width, nameColumns: columns) {
            let room = width - fields.reduce(0) { $0 + 2 + TerminalColumns.count(of: $1) }
            guard room >= min(columns, least) else { continue }
            let column = min(room, max(8, min(32, width / 3)))
            let least = 2 + Self.leastBar
            if room - column >= least, let bar = bar(cells: min(20, room - column - 2)) {
                return ([Self.fitted(name, to: column), bar] + fields).joined(separator: "  ")
            }
            // Within the name's column, after a short name.
            if column - columns >= least, let bar = bar(cells: Self.leastBar) {
                return ([Self.fitted(name, to: column - least), bar] + fields).joined(separator: "  ")
            }
            return ([Self.fitted(name, to: column)] + fields).joined(separator: "  ")
        }
        return Self.fitted(name, to: width)
    }

    /// The line without a limit on its length.
    var plainText: String {
        let details: [String?] =
            switch activity {
            case .receiving(let rate): [Self.text(of: rate), secondsLeft(rate).map { "\(TimeSpan(seconds: $0)) left" }]
            case .waiting(let pause): [pause.text]
            }
        return ([name.forTerminal, percent, amount] + details + [resumption]).compactMap { $0?.drop { $0 == " " } }
            .joined(separator: ", ")
    }

    /// The parts after the name, from the most to the least detailed layout, each with the minimum width of a long name.
    private func layouts(width: Int, nameColumns: Int) -> [(fields: [String], name: Int)] {
        let percent = percent?.rightAligned(in: 5)
        func layout(_ name: Int, _ fields: String?...) -> (fields: [String], name: Int) {
            (fields.compactMap(\.self), name)
        }
        switch activity {
        case .receiving(let rate):
            let left = secondsLeft(rate).map { "\(TimeSpan(seconds: $0))" }
            let rate = Self.text(of: rate)
            // Columns of fixed width keep the parts before them in place.
            let rateColumn = total == nil ? rate : rate ?? "".rightAligned(in: 10)
            let leftColumn = total.map { _ in Self.fitted(left.map { "\($0) left" } ?? "", to: 16) }
            return [
                layout(12, percent, amount, rateColumn, leftColumn, resumption),
                layout(12, percent, amount, rateColumn, leftColumn),
                layout(12, percent, amount, rate, left.map { "\($0) left" }),
                layout(12, percent ?? amount, rate, left.map { "\($0) left" }),
                layout(8, percent ?? amount, rate, left), layout(6, percent ?? amount, rate),
                layout(4, percent ?? amount),
            ]
        case .waiting(let pause):
            let room = width - 2 - min(nameColumns, 8)
            let first = percent ?? amount
            let beside = room - 2 - TerminalColumns.count(of: first)
            return [
                layout(12, percent, amount, pause.text, resumption), layout(12, percent, amount, pause.text),
                layout(12, first, pause.text), layout(8, first, pause.text(columns: beside) ?? pause.text),
                layout(8, pause.text(columns: room) ?? pause.text), layout(4, first),
            ]
        }
    }

    /// The width of the shortest bar, with its brackets.
    private static let leastBar = 10

    /// - Parameter cells: The width with the brackets.
    private func bar(cells: Int) -> String? {
        guard let total, total > 0, cells > 2 else { return nil }
        let done = Int(Int64(cells - 2) * Self.percent(received, of: total) / 100)
        let tip = done < cells - 2 ? ">" : ""
        return "[" + String(repeating: "=", count: done) + tip
            + String(repeating: " ", count: cells - 2 - done - tip.count) + "]"
    }

    private var percent: String? {
        guard let total, total > 0 else { return nil }
        return "\(Self.percent(received, of: total)) %"
    }

    private var amount: String {
        let received = "\(ByteSize(received))".rightAligned(in: 8)
        guard let total, total > 0 else { return received }
        return "\(received) of \(ByteSize(total))"
    }

    private var resumption: String? {
        guard resumedFrom > 0 else { return nil }
        guard let total, total > 0 else { return "resumed at \(ByteSize(resumedFrom))" }
        return "resumed at \(Self.percent(resumedFrom, of: total)) %"
    }

    private func secondsLeft(_ rate: Double?) -> Double? {
        guard let rate, rate >= 1, let total, total > received else { return nil }
        return Double(total - received) / rate
    }

    private static func text(of rate: Double?) -> String? {
        rate.map { "\(ByteSize(Int64($0)))/s".rightAligned(in: 10) }
    }

    /// Rounded down, so that 100 % means complete.
    static func percent(_ part: Int64, of total: Int64) -> Int64 {
        min(100, Int64((Double(part) / Double(total) * 100).rounded(.down)))
    }

    /// Pads to `width`, or shortens the middle, so that the extension remains readable.
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

extension ProgressLine.Pause {
    private var silenceText: String? { silence.map { "no data for \(TimeSpan(seconds: $0))" } }
    private var nextTryText: String? { nextTry.map { "again in \(TimeSpan(seconds: $0))" } }

    var text: String { text(reason: reason?.forTerminal) }

    private func text(reason: String?) -> String {
        [silenceText, reason, nextTryText].compactMap(\.self).joined(separator: ", ")
    }

    /// The text in at most that many columns: the reason is shortened, then omitted, then the silence; `nil` if nothing fits.
    func text(columns: Int) -> String? {
        func fits(_ text: String) -> Bool { !text.isEmpty && TerminalColumns.count(of: text) <= columns }
        if fits(text) { return text }
        if let reason = reason?.forTerminal {
            let others = text(reason: nil)
            let room = columns - (others.isEmpty ? 0 : TerminalColumns.count(of: others) + 2)
            if room >= 10 { return text(reason: TerminalColumns.prefix(reason, room - 1) + "…") }
            if fits(others) { return others }
        }
        return [nextTryText, silenceText].compactMap(\.self).first(where: fits)
    }
}
