import HTTPSemantics
import HTTPTypes

extension ResponseHead {
    /// The time that the server asks to wait before the next request (RFC 9110 section 10.2.3), at most 2³¹ s; `nil` without a valid field, and
    /// for a date that has passed.
    package var retryAfter: Duration? {
        guard let value = fields[.retryAfter] else { return nil }
        let seconds: Int64
        if let number = Int64(saturatingDigits: value.utf8) {
            seconds = number
        } else if let date = HTTPDate.parse(value, now: responseTime) {
            seconds = Int64((date.secondsSince1970 - responseTime.secondsSince1970).rounded(.up))
        } else {
            return nil
        }
        return seconds > 0 ? .seconds(min(seconds, 1 << 31)) : nil
    }
}
