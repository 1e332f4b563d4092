/// A `Content-Range` field in bytes (RFC 9110 section 14.4).
enum ContentRange: Equatable {
    /// `bytes 5-9/10`, or `bytes 5-9/*` with no total.
    case range(Range<Int64>, total: Int64?)
    /// `bytes */10`, in a 416.
    case unsatisfied(total: Int64)

    /// Nil for another unit and for everything that the grammar does not allow: signs, blanks, an end before the start
    /// or past the total, numbers beyond 63 bits, several values.
    init?(_ field: String) {
        let parts = field.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
        let halves = parts[1].split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        let total = Int64(digits: halves[1])
        if halves[0] == "*" {
            guard let total else { return nil }
            self = .unsatisfied(total: total)
            return
        }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int64(digits: ends[0]), let last = Int64(digits: ends[1]),
            first <= last, last < .max, total != nil || halves[1] == "*", last < total ?? .max
        else { return nil }
        self = .range(first..<(last + 1), total: total)
    }
}

extension Int64 {
    /// A number of ASCII digits only, as HTTP's grammars have it: `Int64("+5")` would also take signs.
    init?(digits: some StringProtocol) {
        guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        self.init(digits)
    }
}
