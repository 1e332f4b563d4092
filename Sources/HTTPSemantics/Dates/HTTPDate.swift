public import FoundationEssentials

/// HTTP dates (RFC 9110 section 5.6.7): parses all three formats strictly, and formats the preferred one.
///
/// As RFC 9111 section 4.2 requires of a cache, letter case is ignored and GMT is the only time zone understood.
public enum HTTPDate {
    /// Parses `text`, down to the last character; `nil` if it is in none of the three formats.
    /// - Parameters:
    ///   - text: The field's value.
    ///   - now: The reference for the century of a two-digit year (the obsolete RFC 850 format): a date more than 50
    ///     years in the future lies in the past.
    public static func parse(_ text: String, now: Date) -> Date? {
        var text = text
        return text.withUTF8 { parse($0, now: now.secondsSince1970) }.map(Date.init(timeIntervalSince1970:))
    }

    /// Returns true if `text` is a date in the one format that senders may generate, `Sun, 06 Nov 1994 08:49:37 GMT`:
    /// only such a date may be sent back in `If-Range`.
    package static func isIMFFixdate(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var reader = DateReader(bytes: bytes)
            return bytes.count == 29 && reader.imfFixdate() != nil
        }
    }

    /// Equivalent to ``parse(_:now:)``, in seconds since 1970.
    package static func parse(_ bytes: UnsafeBufferPointer<UInt8>, now: Double) -> Double? {
        var reader = DateReader(bytes: bytes)
        switch bytes.count {
        case 29: return reader.imfFixdate()
        case 24: return reader.asctime()
        case 30...33: return reader.rfc850(now: now)
        default: return nil
        }
    }

    /// `date` as an IMF-fixdate, for example `Sun, 06 Nov 1994 08:49:37 GMT`. Fractions of a second are dropped; dates
    /// outside of the years 0 to 9999 are clamped.
    public static func format(_ date: Date) -> String {
        // Four digits express the years 0 to 9999.
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
