import FoundationEssentials
import HTTPSemantics

/// A timestamp in logs: `2026-11-21T17:35:16.971Z` (RFC 3339), in milliseconds. A formatter would take longer than the
/// rest of a log line.
enum TimeText {
    static func text(of date: Date) -> String {
        let milliseconds = Int64((date.timeIntervalSince1970 * 1000).rounded(.down))
        let seconds = milliseconds.quotientFloored(1000)
        let day = seconds.quotientFloored(86_400)
        let civil = CivilDate(daysSince1970: day)
        let time = Int(seconds - day * 86_400)
        return String(unsafeUninitializedCapacity: 24) { buffer in
            var position = 0
            func put(_ number: Int, _ digits: Int, _ end: UInt8) {
                var rest = number
                for index in stride(from: position + digits - 1, through: position, by: -1) {
                    buffer[index] = UInt8(truncatingIfNeeded: 0x30 + rest % 10)
                    rest /= 10
                }
                buffer[position + digits] = end
                position += digits + 1
            }
            put(civil.year, 4, UInt8(ascii: "-"))
            put(civil.month, 2, UInt8(ascii: "-"))
            put(civil.day, 2, UInt8(ascii: "T"))
            put(time / 3600, 2, UInt8(ascii: ":"))
            put(time / 60 % 60, 2, UInt8(ascii: ":"))
            put(time % 60, 2, UInt8(ascii: "."))
            put(Int(milliseconds - seconds * 1000), 3, UInt8(ascii: "Z"))
            return position
        }
    }
}
