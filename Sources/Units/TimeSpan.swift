/// A duration with a unit: `90` (seconds), `250ms`, `30s`, `15m`, `12h`, `7d`, `2w`, `1.5h`.
package struct TimeSpan: Equatable, Sendable {
    package var seconds: Double

    package init(seconds: Double) { self.seconds = seconds }

    package init?(text: String) {
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        guard let value = Double(number), value.isFinite else { return nil }
        let unit: Double
        switch text.dropFirst(number.count) {
        case "ms": unit = 0.001
        case "", "s": unit = 1
        case "m", "min": unit = 60
        case "h": unit = 3600
        case "d": unit = 86_400
        case "w": unit = 604_800
        default: return nil
        }
        guard value * unit < 1e11 else { return nil }
        seconds = value * unit
    }

    package var duration: Duration { .seconds(seconds) }

    /// The duration, rounded to milliseconds.
    package var roundedDuration: Duration { .milliseconds(Int64((seconds * 1000).rounded())) }
}

extension TimeSpan: CustomStringConvertible {
    /// The two largest units: `45 s`, `3 min 20 s`, `5 h 2 min`, `12 d 4 h`.
    package var description: String {
        let whole = Int64(max(0, seconds.rounded()))
        let (minutes, hours, days) = (whole / 60, whole / 3600, whole / 86_400)
        if whole < 60 { return "\(whole) s" }
        if hours == 0 { return whole % 60 == 0 ? "\(minutes) min" : "\(minutes) min \(whole % 60) s" }
        if days == 0 { return minutes % 60 == 0 ? "\(hours) h" : "\(hours) h \(minutes % 60) min" }
        return hours % 24 == 0 ? "\(days) d" : "\(days) d \(hours % 24) h"
    }
}
