/// Parses a date byte by byte; every function consumes what it returns, or returns `nil`.
struct DateReader {
    let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`
    mutating func imfFixdate() -> Double? {
        guard name(of: DateNames.weekdays) != nil, text(", "), let day = two(), text(" "),
            let month = name(of: DateNames.months), text(" "), let year = four(), text(" "),
            let time = timeOfDay(), text(" GMT"), isAtEnd
        else { return nil }
        return seconds(CivilDate(year: year, month: month + 1, day: day), time)
    }

    /// `Sunday, 06-Nov-94 08:49:37 GMT`
    mutating func rfc850(now: Double) -> Double? {
        guard longWeekday(), text(", "), let day = two(), text("-"), let month = name(of: DateNames.months),
            text("-"), let shortYear = two(), text(" "), let time = timeOfDay(), text(" GMT"), isAtEnd
        else { return nil }
        return withCentury(shortYear, now: now) { year in
            seconds(CivilDate(year: year, month: month + 1, day: day), time)
        }
    }

    /// `Sun Nov  6 08:49:37 1994`
    mutating func asctime() -> Double? {
        guard name(of: DateNames.weekdays) != nil, text(" "), let month = name(of: DateNames.months), text(" ")
        else { return nil }
        let day: Int?
        if text(" ") { day = one() } else { day = two() }
        guard let day, text(" "), let time = timeOfDay(), text(" "), let year = four(), isAtEnd else { return nil }
        return seconds(CivilDate(year: year, month: month + 1, day: day), time)
    }

    /// RFC 9110 section 5.6.7: "a timestamp that appears to be more than 50 years in the future" is the most recent
    /// year in the past with the same last two digits. The result is therefore the latest year with these digits that
    /// is at most 50 years ahead.
    private func withCentury(_ shortYear: Int, now: Double, _ make: (Int) -> Double?) -> Double? {
        // The century is irrelevant for a clock outside the years that HTTP can express.
        let now = now.clamped(-62_167_219_200, 253_402_300_799)
        let today = CivilDate(daysSince1970: Int64(now.rounded(.down)).quotientFloored(86_400))
        let timeOfDay = now - Double(today.daysSince1970) * 86_400
        let limit = CivilDate(year: today.year + 50, month: today.month, day: today.day)
        let latest = Double(limit.daysSince1970) * 86_400 + timeOfDay
        var year = (today.year / 100 + 1) * 100 + shortYear
        while year >= 0 {
            // 29 February exists in some of those centuries only; the date must exist in the chosen one.
            let first = CivilDate(year: year, month: 1, day: 1)
            if year <= limit.year, Double(first.daysSince1970) * 86_400 <= latest {
                guard let date = make(year) else { return nil }
                if date <= latest { return date }
            }
            year -= 100
        }
        return nil
    }

    private func seconds(_ date: CivilDate, _ time: Int) -> Double? {
        guard date.exists else { return nil }
        return Double(date.daysSince1970 * 86_400 + Int64(time))
    }

    private var isAtEnd: Bool { position == bytes.count }

    private mutating func text(_ text: StaticString) -> Bool {
        let (expected, count) = (text.utf8Start, text.utf8CodeUnitCount)
        guard bytes.count - position >= count else { return false }
        for offset in 0..<count where bytes[position + offset].lowercased != expected[offset].lowercased {
            return false
        }
        position += count
        return true
    }

    private mutating func digit() -> Int? {
        guard position < bytes.count, bytes[position].isDigit else { return nil }
        position += 1
        return Int(bytes[position - 1] - 48)
    }

    private mutating func one() -> Int? { digit() }

    private mutating func two() -> Int? {
        guard let tens = digit(), let ones = digit() else { return nil }
        return tens * 10 + ones
    }

    private mutating func four() -> Int? {
        guard let high = two(), let low = two() else { return nil }
        return high * 100 + low
    }

    private mutating func name(of names: StaticString) -> Int? {
        guard bytes.count - position >= 3 else { return nil }
        let (first, second, third) = (
            bytes[position].lowercased, bytes[position + 1].lowercased, bytes[position + 2].lowercased
        )
        let (names, count) = (names.utf8Start, names.utf8CodeUnitCount)
        var index = 0
        while index < count {
            if names[index].lowercased == first, names[index + 1].lowercased == second,
                names[index + 2].lowercased == third
            {
                position += 3
                return index / 3
            }
            index += 3
        }
        return nil
    }

    private mutating func longWeekday() -> Bool {
        text("Sunday") || text("Monday") || text("Tuesday") || text("Wednesday") || text("Thursday")
            || text("Friday") || text("Saturday")
    }

    /// `hh:mm:ss` as seconds of the day. A leap second, always the last of a day, is read as the preceding second: "the
    /// nearest time equal to or earlier than the received value" (RFC 9111 section 4.2).
    private mutating func timeOfDay() -> Int? {
        guard let hour = two(), text(":"), let minute = two(), text(":"), let second = two(), hour < 24, minute < 60
        else { return nil }
        if second == 60 {
            return hour == 23 && minute == 59 ? 86_399 : nil
        }
        return second < 60 ? hour * 3600 + minute * 60 + second : nil
    }
}
