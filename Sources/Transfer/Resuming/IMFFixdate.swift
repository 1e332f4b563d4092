/// The seconds since 1970 of a date in the one form that servers must send, `Sun, 06 Nov 1994 08:49:37 GMT`
/// (IMF-fixdate, RFC 9110 section 5.6.7); nil for any other form.
///
/// This only decides whether a `Last-Modified` may count as strong: an obsolete form is no error, it just does not.
func secondsSince1970(imfFixdate text: String) -> Int64? {
    let bytes = Array(text.utf8)
    guard bytes.count == 29, text.hasSuffix(" GMT"), bytes[3] == 0x2C, bytes[4] == 0x20, bytes[7] == 0x20,
        bytes[11] == 0x20, bytes[16] == 0x20, bytes[19] == 0x3A, bytes[22] == 0x3A
    else { return nil }

    func number(_ range: Range<Int>) -> Int64? { Int64(digits: String(decoding: bytes[range], as: UTF8.self)) }

    let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    guard let day = number(5..<7),
        let monthIndex = names.firstIndex(of: String(decoding: bytes[8..<11], as: UTF8.self)),
        let year = number(12..<16), let hour = number(17..<19), let minute = number(20..<22),
        let second = number(23..<25), (1...31).contains(day), hour < 24, minute < 60, second <= 60
    else { return nil }

    // Days since 1970-01-01 in the proleptic Gregorian calendar, with years that begin in March.
    let month = Int64(monthIndex + 1)
    let shiftedYear = month > 2 ? year : year - 1
    let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    let days = era * 146_097 + dayOfEra - 719_468
    return days * 86_400 + hour * 3_600 + minute * 60 + second
}
