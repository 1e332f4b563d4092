import FoundationEssentials

/// A moment as logs write it: `2026-11-21T17:35:16.971Z` (RFC 3339), to the millisecond. A formatter takes longer than the rest of
/// a log line.
enum TimeText {
    static func text(of date: Date) -> String {
        let milliseconds = Int64((date.timeIntervalSince1970 * 1000).rounded(.down))
        let seconds = floorDivision(milliseconds, 1000)
        let day = floorDivision(seconds, 86_400)
        let (year, month, dayOfMonth) = civil(day)
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
            put(year, 4, UInt8(ascii: "-"))
            put(month, 2, UInt8(ascii: "-"))
            put(dayOfMonth, 2, UInt8(ascii: "T"))
            put(time / 3600, 2, UInt8(ascii: ":"))
            put(time / 60 % 60, 2, UInt8(ascii: ":"))
            put(time % 60, 2, UInt8(ascii: "."))
            put(Int(milliseconds - seconds * 1000), 3, UInt8(ascii: "Z"))
            return position
        }
    }

    private static func floorDivision(_ number: Int64, _ divisor: Int64) -> Int64 {
        number >= 0 ? number / divisor : -((divisor - 1 - number) / divisor)
    }

    /// The date of a day since 1970-01-01, in years that begin with March, so that the leap day comes last.
    private static func civil(_ day: Int64) -> (year: Int, month: Int, day: Int) {
        let shifted = day + 719_468
        let era = floorDivision(shifted, 146_097)
        let dayOfEra = Int(shifted - era * 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + Int(era) * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }
}
