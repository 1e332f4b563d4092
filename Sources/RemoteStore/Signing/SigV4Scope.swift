import FoundationEssentials
import HTTPSemantics

/// The date, region and service for which an AWS signature is valid.
struct SigV4Scope: Sendable {
    /// `X-Amz-Date`: `20130524T000000Z`.
    let timestamp: String
    let region: String
    let service: String

    init(date: Date, region: String, service: String = "s3") {
        // Four digits can express years up to 9999.
        let seconds = Int64(date.secondsSince1970.clamped(0, 253_402_300_799).rounded(.down))
        let day = CivilDate(daysSince1970: seconds / 86_400)
        let time = Int(seconds % 86_400)
        timestamp =
            Self.digits(day.year, 4) + Self.digits(day.month, 2) + Self.digits(day.day, 2) + "T"
            + Self.digits(time / 3600, 2) + Self.digits(time / 60 % 60, 2) + Self.digits(time % 60, 2) + "Z"
        self.region = region
        self.service = service
    }

    var day: String { String(timestamp.prefix(8)) }

    var text: String { "\(day)/\(region)/\(service)/aws4_request" }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }
}
