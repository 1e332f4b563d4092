public import FoundationEssentials

/// Dates as HTTP writes them (RFC 9110 section 5.6.7): three formats are read, strictly; one is written.
///
/// As RFC 9111 section 4.2 asks of a cache, letter case does not matter and no time zone but GMT is understood.
public enum HTTPDate {
    /// The point in time that `text` names, or `nil` when it is none of the three formats, down to the last character.
    /// - Parameters:
    ///   - text: The field's value.
    ///   - now: Decides the century of a two-digit year (the obsolete RFC 850 format): what would be more than 50 years in
    ///     the future lies in the past.
    public static func parse(_ text: String, now: Date) -> Date? {
        var text = text
        return text.withUTF8 { parse($0, now: now.secondsSince1970) }.map(Date.init(timeIntervalSince1970:))
    }

    /// As ``parse(_:now:)``, in seconds since 1970.
    package static func parse(_ bytes: UnsafeBufferPointer<UInt8>, now: Double) -> Double? {
        var reader = DateReader(bytes: bytes)
        switch bytes.count {
        case 29: return reader.imfFixdate()
        case 24: return reader.asctime()
        case 30...33: return reader.rfc850(now: now)
        default: return nil
        }
    }

    /// `date` as an IMF-fixdate, for example `Sun, 06 Nov 1994 08:49:37 GMT`. Fractions of a second are dropped; what lies
    /// before the year 0 or after 9999 is written as the nearest date that can be.
    public static func format(_ date: Date) -> String {
        // Year 0 is the least, and 9999 the greatest, that four digits can say.
        let seconds = Int64(date.secondsSince1970.clamped(-62_167_219_200, 253_402_300_799).rounded(.down))
        let days = seconds.quotientFloored(86_400)
        let time = seconds - days * 86_400
        let civil = CivilDate(daysSince1970: days)
        let weekday = Int((days + 4) - (days + 4).quotientFloored(7) * 7)
        return String(unsafeUninitializedCapacity: 29) { buffer in
            var writer = DateWriter(buffer: buffer)
            writer.name(weekday, of: DateNames.weekdays)
            writer.text(", ")
            writer.two(civil.day)
            writer.text(" ")
            writer.name(civil.month - 1, of: DateNames.months)
            writer.text(" ")
            writer.two(civil.year / 100)
            writer.two(civil.year % 100)
            writer.text(" ")
            writer.two(Int(time / 3600))
            writer.text(":")
            writer.two(Int(time / 60 % 60))
            writer.text(":")
            writer.two(Int(time % 60))
            writer.text(" GMT")
            return writer.count
        }
    }
}

/// A day of the Gregorian calendar, reckoned backwards beyond its introduction.
struct CivilDate {
    var year: Int
    var month: Int
    var day: Int

    init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// Years are counted from March, so that the leap day is the last of its year, in eras of 400 years (146,097 days).
    init(daysSince1970: Int64) {
        let shifted = daysSince1970 + 719_468
        let era = shifted.quotientFloored(146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
        month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
        year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
    }

    var daysSince1970: Int64 {
        let year = Int64(month <= 2 ? year - 1 : year)
        let era = year.quotientFloored(400)
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * Int64(month > 2 ? month - 3 : month + 9) + 2) / 5 + Int64(day) - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Whether the month has such a day.
    var exists: Bool {
        guard (1...12).contains(month), day >= 1 else { return false }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        switch month {
        case 2: return day <= (isLeap ? 29 : 28)
        case 4, 6, 9, 11: return day <= 30
        default: return day <= 31
        }
    }
}

enum DateNames {
    static var weekdays: StaticString { "SunMonTueWedThuFriSat" }
    static var months: StaticString { "JanFebMarAprMayJunJulAugSepOctNovDec" }
}

private struct DateWriter {
    let buffer: UnsafeMutableBufferPointer<UInt8>
    private(set) var count = 0

    init(buffer: UnsafeMutableBufferPointer<UInt8>) {
        self.buffer = buffer
    }

    private mutating func put(_ byte: UInt8) {
        guard count < buffer.count else { return }
        buffer[count] = byte
        count += 1
    }

    mutating func text(_ text: StaticString) {
        text.withUTF8Buffer { for byte in $0 { put(byte) } }
    }

    mutating func name(_ index: Int, of names: StaticString) {
        names.withUTF8Buffer { for byte in $0[(index * 3)..<(index * 3 + 3)] { put(byte) } }
    }

    mutating func two(_ number: Int) {
        put(UInt8(truncatingIfNeeded: 48 + number / 10))
        put(UInt8(truncatingIfNeeded: 48 + number % 10))
    }
}
