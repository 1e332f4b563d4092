import HTTPTypes

@testable import Transfer

/// Requests, responses and held bytes for the tables.
enum Sample {
    static let url = "http://a.example/file"

    static func request(
        _ url: String = url, method: HTTPRequest.Method = .get, _ change: (inout TransferRequest) -> Void = { _ in }
    ) -> TransferRequest {
        var request = TransferRequest(url: url, method: method)
        change(&request)
        return request
    }

    /// The first `count` of `total` bytes.
    static func held(_ count: Int64, of total: Int64? = 100, etag: String = "\"a\"") -> HeldPartial {
        let missing = count == total ? [] : [count..<(total ?? .max)]
        return HeldPartial(validator: .etag(etag), total: total, missing: missing, url: url)
    }

    static func held(missing: [Range<Int64>], of total: Int64 = 100) -> HeldPartial {
        HeldPartial(validator: .etag("\"a\""), total: total, missing: missing, url: url)
    }

    static func ok(_ length: Int64?) -> MachineUnderTest.Event {
        head(200, length.map { [.contentLength: "\($0)"] } ?? [:])
    }

    static func head(
        _ status: Int, _ fields: HTTPFields = [:], version: String = "HTTP/1.1", readAs: Int? = nil
    ) -> MachineUnderTest.Event {
        .head(.init(status: status, fields: fields, version: version, readAs: readAs))
    }

    static func part(_ range: ClosedRange<Int64>, of total: Int64 = 100, etag: String = "\"a\"")
        -> MachineUnderTest.Event
    {
        let text = "bytes \(range.lowerBound)-\(range.upperBound)/\(total)"
        return head(206, [.eTag: etag, .contentRange: text, .contentLength: "\(range.count)"])
    }

    static func redirect(
        _ status: Int = 302, to location: String, _ fields: HTTPFields = [:]
    ) -> MachineUnderTest.Event {
        var fields = fields
        fields[.location] = location
        return head(status, fields)
    }
}
