import FoundationEssentials
import HTTPTypes
import Testing

@testable import Transfer

/// One row for each thing that an origin can answer to a range request.
struct ActionCase: CustomTestStringConvertible, Sendable {
    let testDescription: String
    var held = HeldPartial(validator: .etag("\"v1\""), total: 1000, missing: [400..<1000], url: origin)
    var requestFields: HTTPFields = [:]
    var method = HTTPRequest.Method.get
    let status: Int
    let fields: HTTPFields
    var finalURL = origin
    let expected: Expectation

    enum Expectation: Sendable {
        case action(ResumeAction)
        /// A restart or a failure whose reason contains this.
        case restart(String)
        case fail(String)
        case takeWhole(length: Int64?, saying: String)
    }
}

private let heldDate = "Sun, 06 Nov 1994 08:49:37 GMT"
private let origin = "http://origin.example/file"
private let right: HTTPFields = [.contentRange: "bytes 400-999/1000", .eTag: "\"v1\"", .contentLength: "600"]
private let taken = ResumeAction.take(.range(400..<1000, total: 1000), length: 600, dropping: nil)
private let dateHeld = HeldPartial(
    validator: .lastModified(heldDate), total: 1000, missing: [400..<1000], url: origin)
private let bothHeld = HeldPartial(
    validator: .etag("\"v1\""), lastModified: heldDate, total: 1000, missing: [400..<1000], url: origin)
private let endless = HeldPartial(validator: .etag("\"v1\""), total: nil, missing: [400..<Int64.max], url: origin)

private func fields(_ changes: (inout HTTPFields) -> Void) -> HTTPFields {
    var fields = right
    changes(&fields)
    return fields
}

private let partialCases: [ActionCase] = [
    .init(testDescription: "206 as asked", status: 206, fields: right, expected: .action(taken)),
    .init(
        testDescription: "206 without ETag", status: 206, fields: fields { $0[.eTag] = nil },
        expected: .restart("without the ETag")),
    .init(
        testDescription: "206 without ETag, with the date that was beside it", held: bothHeld, status: 206,
        fields: fields {
            $0[.eTag] = nil
            $0[.lastModified] = heldDate
        }, expected: .action(taken)),
    .init(
        testDescription: "206 without ETag, with another date", held: bothHeld, status: 206,
        fields: fields {
            $0[.eTag] = nil
            $0[.lastModified] = "Sun, 06 Nov 1994 08:49:38 GMT"
        }, expected: .restart("another Last-Modified")),
    .init(
        testDescription: "206 without ETag and date", held: bothHeld, status: 206,
        fields: fields { $0[.eTag] = nil }, expected: .restart("without a validator")),
    .init(
        testDescription: "206 without ETag, with a date where none was held", status: 206,
        fields: fields {
            $0[.eTag] = nil
            $0[.lastModified] = heldDate
        }, expected: .restart("without the ETag")),
    .init(
        testDescription: "206 with another ETag and the same date", held: bothHeld, status: 206,
        fields: fields {
            $0[.eTag] = "\"v2\""
            $0[.lastModified] = heldDate
        }, expected: .restart("another ETag")),
    .init(
        testDescription: "206 in chunks, without Content-Length", status: 206,
        fields: fields {
            $0[.contentLength] = nil
            $0[.transferEncoding] = "chunked"
        }, expected: .action(taken)),
    .init(
        testDescription: "206 with Content-Encoding identity", status: 206,
        fields: fields { $0[.contentEncoding] = "identity" }, expected: .action(taken)),
    .init(
        testDescription: "206 with the unit in another case", status: 206,
        fields: fields { $0[.contentRange] = "Bytes 400-999/1000" }, expected: .action(taken)),
    .init(
        testDescription: "206 from a wrong start", status: 206,
        fields: fields { $0[.contentRange] = "bytes 0-999/1000" }, expected: .restart("0-999")),
    .init(
        testDescription: "206 from one byte later", status: 206,
        fields: fields { $0[.contentRange] = "bytes 401-999/1000" }, expected: .restart("401-999")),
    .init(
        testDescription: "206 with less than was asked for", status: 206,
        fields: fields {
            $0[.contentRange] = "bytes 400-449/1000"
            $0[.contentLength] = "50"
        }, expected: .action(.take(.range(400..<450, total: 1000), length: 50, dropping: nil))),
    .init(
        testDescription: "206 with one byte", status: 206,
        fields: fields {
            $0[.contentRange] = "bytes 400-400/1000"
            $0[.contentLength] = nil
        }, expected: .action(.take(.range(400..<401, total: 1000), length: 1, dropping: nil))),
    .init(
        testDescription: "206 with less than was asked for, of another representation", status: 206,
        fields: fields {
            $0[.contentRange] = "bytes 400-449/1000"
            $0[.eTag] = "\"v2\""
        }, expected: .restart("another ETag")),
    .init(
        testDescription: "206 to an end beyond the total", status: 206,
        fields: fields { $0[.contentRange] = "bytes 400-1000/*" }, expected: .restart("400-1000")),
    .init(
        testDescription: "206 of another total", status: 206,
        fields: fields { $0[.contentRange] = "bytes 400-1000/1001" }, expected: .restart("1001 bytes in all")),
    .init(
        testDescription: "206 without the total, which is known", status: 206,
        fields: fields { $0[.contentRange] = "bytes 400-999/*" }, expected: .action(taken)),
    .init(
        testDescription: "206 of an unknown total", held: endless, status: 206,
        fields: fields { $0[.contentRange] = "bytes 400-999/*" }, expected: .restart("known total")),
    .init(
        testDescription: "206 in another unit", status: 206,
        fields: fields { $0[.contentRange] = "lines 400-999/1000" }, expected: .restart("no byte range")),
    .init(
        testDescription: "206 with nonsense for a range", status: 206,
        fields: fields { $0[.contentRange] = "bytes 999-400/1000" }, expected: .restart("no byte range")),
    .init(
        testDescription: "206 with an unsatisfied range", status: 206,
        fields: fields { $0[.contentRange] = "bytes */1000" }, expected: .restart("no byte range")),
    .init(
        testDescription: "206 with two Content-Ranges", status: 206,
        fields: fields { $0.append(HTTPField(name: .contentRange, value: "bytes 0-1/1000")) },
        expected: .restart("no byte range")),
    .init(
        testDescription: "206 without Content-Range", status: 206,
        fields: fields { $0[.contentRange] = nil }, expected: .restart("without Content-Range")),
    .init(
        testDescription: "206 with another ETag", status: 206,
        fields: fields { $0[.eTag] = "\"v2\"" }, expected: .restart("another ETag")),
    .init(
        testDescription: "206 with the ETag made weak", status: 206,
        fields: fields { $0[.eTag] = "W/\"v1\"" }, expected: .restart("another ETag")),
    .init(
        testDescription: "206 as multipart/byteranges", status: 206,
        fields: fields { $0[.contentType] = "multipart/byteranges; boundary=x" }, expected: .restart("multipart")),
    .init(
        testDescription: "206 with a Content-Encoding", status: 206,
        fields: fields { $0[.contentEncoding] = "gzip" }, expected: .restart("Content-Encoding")),
    .init(
        testDescription: "206 with a Content-Length that lies", status: 206,
        fields: fields { $0[.contentLength] = "1000" }, expected: .restart("Content-Length 1000")),
    .init(
        testDescription: "206 with two Content-Lengths", status: 206,
        fields: fields { $0.append(HTTPField(name: .contentLength, value: "601")) },
        expected: .restart("an invalid Content-Length")),
    .init(
        testDescription: "206 of a first hole among several",
        held: HeldPartial(validator: .etag("\"v1\""), total: 1000, missing: [100..<200, 400..<1000], url: origin),
        status: 206, fields: [.contentRange: "bytes 100-199/1000", .contentLength: "100", .eTag: "\"v1\""],
        expected: .action(.take(.range(100..<200, total: 1000), length: 100, dropping: nil))),
    .init(
        testDescription: "206 that goes on behind the hole",
        held: HeldPartial(validator: .etag("\"v1\""), total: 1000, missing: [100..<200, 400..<1000], url: origin),
        status: 206, fields: [.contentRange: "bytes 100-999/1000", .eTag: "\"v1\""], expected: .restart("100-999")),
    .init(
        testDescription: "206 tells the total of a body that came in chunks", held: endless, status: 206,
        fields: [.contentRange: "bytes 400-499/500", .eTag: "\"v1\""],
        expected: .action(.take(.range(400..<500, total: 500), length: 100, dropping: nil))),
    .init(
        testDescription: "206 that stops before the end of a body of unknown length", held: endless, status: 206,
        fields: [.contentRange: "bytes 400-449/500", .eTag: "\"v1\""],
        expected: .action(.take(.range(400..<450, total: 500), length: 50, dropping: nil))),
    .init(
        testDescription: "206 by an equal date", held: dateHeld, status: 206,
        fields: [.contentRange: "bytes 400-999/1000", .lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"],
        expected: .action(taken)),
    .init(
        testDescription: "206 by another date", held: dateHeld, status: 206,
        fields: [.contentRange: "bytes 400-999/1000", .lastModified: "Sun, 06 Nov 1994 08:49:38 GMT"],
        expected: .restart("another Last-Modified")),
    .init(
        testDescription: "206 without the date that is held", held: dateHeld, status: 206,
        fields: [.contentRange: "bytes 400-999/1000"], expected: .restart("without a validator")),
    .init(
        testDescription: "206 to a request without a range",
        held: HeldPartial(validator: .etag("\"v1\""), total: 1000, missing: [0..<1000], url: origin),
        status: 206, fields: right, expected: .fail("without a range")),
]

private let otherResourceCases: [ActionCase] = [
    .init(
        testDescription: "206 from another origin with equal ETag and total", status: 206, fields: right,
        finalURL: "http://mirror.example/file", expected: .restart("another resource")),
    .init(
        testDescription: "206 from another origin without ETag", status: 206, fields: fields { $0[.eTag] = nil },
        finalURL: "http://mirror.example/file", expected: .restart("another resource")),
    .init(
        testDescription: "206 from another origin with another ETag", status: 206,
        fields: fields { $0[.eTag] = "\"v2\"" }, finalURL: "http://mirror.example/file",
        expected: .restart("another resource")),
    .init(
        testDescription: "206 from another origin when no total is known", held: endless, status: 206,
        fields: [.contentRange: "bytes 400-499/500", .eTag: "\"v1\""], finalURL: "http://mirror.example/file",
        expected: .restart("another resource")),
    .init(
        testDescription: "206 from another origin by date", held: dateHeld, status: 206,
        fields: [.contentRange: "bytes 400-999/1000", .lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"],
        finalURL: "https://origin.example/file", expected: .restart("another resource")),
    .init(
        testDescription: "206 from the same origin, another path", status: 206, fields: right,
        finalURL: "http://origin.example/elsewhere", expected: .restart("another resource")),
    .init(
        testDescription: "206 from the same path with another query", status: 206, fields: right,
        finalURL: "http://origin.example/file?v=2", expected: .restart("another resource")),
    .init(
        testDescription: "416 from another path", held: endless, status: 416,
        fields: [.contentRange: "bytes */400", .eTag: "\"v1\""], finalURL: "http://origin.example/elsewhere",
        expected: .restart("another resource")),
    .init(
        testDescription: "206 from the same resource, written differently and signed", status: 206, fields: right,
        finalURL: "HTTP://Origin.Example:80/%66ile?Expires=1&Signature=s&Key-Pair-Id=k", expected: .action(taken)),
]

private let byDigest = HeldPartial(validator: .digest, total: 1000, missing: [400..<1000], url: origin)
private let endlessByDigest = HeldPartial(validator: .digest, total: nil, missing: [400..<Int64.max], url: origin)

/// The digest of the whole proves the bytes, so only places and lengths count.
private let digestCases: [ActionCase] = [
    .init(
        testDescription: "206 without a validator, to bytes that a digest proves", held: byDigest, status: 206,
        fields: fields { $0[.eTag] = nil }, expected: .action(taken)),
    .init(
        testDescription: "206 with any ETag, to bytes that a digest proves", held: byDigest, status: 206, fields: right,
        expected: .action(taken)),
    .init(
        testDescription: "206 of another resource, to bytes that a digest proves", held: byDigest, status: 206,
        fields: right, finalURL: "http://mirror.example/file", expected: .action(taken)),
    .init(
        testDescription: "206 of another total, to bytes that a digest proves", held: byDigest, status: 206,
        fields: fields { $0[.contentRange] = "bytes 400-999/1001" }, expected: .restart("1001 bytes in all")),
    .init(
        testDescription: "206 of another range, to bytes that a digest proves", held: byDigest, status: 206,
        fields: fields { $0[.contentRange] = "bytes 401-999/1000" }, expected: .restart("bytes 401-999")),
    .init(
        testDescription: "206 with a Content-Encoding, to bytes that a digest proves", held: byDigest, status: 206,
        fields: fields { $0[.contentEncoding] = "gzip" }, expected: .restart("Content-Encoding")),
    .init(
        testDescription: "200 to bytes that a digest proves", held: byDigest, status: 200,
        fields: [.contentLength: "1000"], expected: .takeWhole(length: 1000, saying: "ranges are ignored")),
    .init(
        testDescription: "416 with the total of what is held, which a digest proves", held: endlessByDigest,
        status: 416, fields: [.contentRange: "bytes */400"], expected: .action(.alreadyComplete(total: 400))),
    .init(
        testDescription: "416 with a smaller total than what is held, which a digest proves", held: endlessByDigest,
        status: 416, fields: [.contentRange: "bytes */399"], expected: .restart("416")),
]

private let otherCases: [ActionCase] = [
    .init(
        testDescription: "200 to a range", status: 200, fields: [.contentLength: "900"],
        expected: .takeWhole(length: 900, saying: "200 to a range request")),
    .init(
        testDescription: "200 in chunks to a range", status: 200, fields: [.transferEncoding: "chunked"],
        expected: .takeWhole(length: nil, saying: "200 to a range request")),
    .init(
        testDescription: "200 whose Content-Length is overridden by chunks", status: 200,
        fields: [.transferEncoding: "chunked", .contentLength: "5"],
        expected: .takeWhole(length: nil, saying: "200 to a range request")),
    .init(
        testDescription: "203 to a range", status: 203, fields: [.contentLength: "900"],
        expected: .takeWhole(length: 900, saying: "203 to a range request")),
    .init(
        testDescription: "200 with contradictory lengths", status: 200, fields: [.contentLength: "900, 901"],
        expected: .fail("an invalid Content-Length")),
    .init(
        testDescription: "200 with a negative length", status: 200, fields: [.contentLength: "-1"],
        expected: .fail("an invalid Content-Length")),
    .init(
        testDescription: "200 with an equal length twice", status: 200, fields: [.contentLength: "900, 900"],
        expected: .takeWhole(length: 900, saying: "200 to a range request")),
    .init(testDescription: "204 to a range", status: 204, fields: [:], expected: .action(.status)),
    .init(
        testDescription: "304 to a range", status: 304, fields: [.eTag: "\"v1\""], expected: .restart("304")),
    .init(
        testDescription: "304 to the request's own precondition", requestFields: [.ifNoneMatch: "\"v0\""], status: 304,
        fields: [:], expected: .action(.notModified)),
    .init(testDescription: "412 to a range", status: 412, fields: [:], expected: .restart("412")),
    .init(
        testDescription: "412 to the request's own precondition", requestFields: [.ifMatch: "\"v0\""], status: 412,
        fields: [:], expected: .action(.status)),
    .init(testDescription: "302 that is not followed", status: 302, fields: [:], expected: .action(.status)),
    .init(testDescription: "401", status: 401, fields: [:], expected: .action(.status)),
    .init(testDescription: "404", status: 404, fields: [.contentLength: "600"], expected: .action(.status)),
    .init(testDescription: "429", status: 429, fields: [:], expected: .action(.status)),
    .init(testDescription: "500", status: 500, fields: [.eTag: "\"v1\""], expected: .action(.status)),
    .init(testDescription: "503", status: 503, fields: [:], expected: .action(.status)),
    .init(
        testDescription: "416 that shows total and ETag of what is held", held: endless, status: 416,
        fields: [.contentRange: "bytes */400", .eTag: "\"v1\""], expected: .action(.alreadyComplete(total: 400))),
    .init(
        testDescription: "416 with the right total and no ETag", held: endless, status: 416,
        fields: [.contentRange: "bytes */400"], expected: .action(.proveTotal(400))),
    .init(
        testDescription: "206 with the last byte and no ETag",
        held: HeldPartial(validator: .etag("\"v1\""), total: 1000, missing: [], url: origin), status: 206,
        fields: [.contentRange: "bytes 999-999/1000"], expected: .restart("without the ETag")),
    .init(
        testDescription: "416 with the right total and another ETag", held: endless, status: 416,
        fields: [.contentRange: "bytes */400", .eTag: "\"v2\""], expected: .restart("another ETag")),
    .init(
        testDescription: "416 with a smaller total", held: endless, status: 416,
        fields: [.contentRange: "bytes */399", .eTag: "\"v1\""], expected: .restart("416")),
    .init(
        testDescription: "416 with a larger total", held: endless, status: 416,
        fields: [.contentRange: "bytes */401", .eTag: "\"v1\""], expected: .restart("416")),
    .init(
        testDescription: "416 without Content-Range", held: endless, status: 416, fields: [.eTag: "\"v1\""],
        expected: .restart("416")),
    .init(
        testDescription: "416 while a part is known to be missing", status: 416,
        fields: [.contentRange: "bytes */400", .eTag: "\"v1\""], expected: .restart("416")),
    .init(
        testDescription: "206 with the last byte of a body that is all held",
        held: HeldPartial(validator: .etag("\"v1\""), total: 1000, missing: [], url: origin), status: 206,
        fields: [.contentRange: "bytes 999-999/1000", .eTag: "\"v1\"", .contentLength: "1"],
        expected: .action(.alreadyComplete(total: 1000))),
    .init(
        testDescription: "206 with the last byte and another ETag",
        held: HeldPartial(validator: .etag("\"v1\""), total: 1000, missing: [], url: origin), status: 206,
        fields: [.contentRange: "bytes 999-999/1000", .eTag: "\"v2\""], expected: .restart("another ETag")),
    .init(
        testDescription: "HEAD", method: .head, status: 200, fields: [.contentLength: "600"],
        expected: .action(.status)),
]

@Suite("A response to a range request")
struct ResumeActionTests {
    @Test(arguments: partialCases + otherResourceCases + digestCases + otherCases)
    func `the head decides if the held bytes are resumed or dropped`(_ row: ActionCase) {
        let plan = ResumePlan(
            method: row.method, fields: row.requestFields, held: row.held, mayResume: true, url: origin)
        let head = ResponseHead(
            status: .init(code: row.status), fields: row.fields, finalURL: row.finalURL, requestTime: Date(),
            responseTime: Date())

        let action = plan.action(for: head)

        switch (row.expected, action) {
        case (.action(let expected), _): #expect(action == expected)
        case (.restart(let words), .restart(let reason)): #expect(reason.contains(words))
        case (.fail(let words), .fail(let reason)): #expect(reason.contains(words))
        case (.takeWhole(let length, let words), .take(let placement, let bodyLength, let dropping)):
            #expect(placement == .whole(length: length))
            #expect(bodyLength == length)
            #expect(dropping?.contains(words) == true)
        default: Issue.record("\(action) instead of \(row.expected)")
        }
    }

    @Test func `a 200 is accepted without a reason if no bytes are held`() {
        let plan = ResumePlan(method: .get, fields: [:], held: nil, mayResume: true, url: origin)
        let head = ResponseHead(
            status: .ok, fields: [.contentLength: "7"], finalURL: origin, requestTime: Date(), responseTime: Date())
        #expect(plan.action(for: head) == .take(.whole(length: 7), length: 7, dropping: nil))
    }

    @Test(arguments: [
        206, 301, 404, 416, 500,
    ])
    func `forwarded error responses have their own bodies, and held bytes are kept`(status: Int) {
        let head = ResponseHead(
            status: .init(code: status), fields: [.contentLength: "7"], finalURL: origin, requestTime: Date(),
            responseTime: Date())
        let plan = ResumePlan(
            method: .get, fields: [:], held: nil, mayResume: true, url: origin, forwardsErrorResponses: true)
        #expect(plan.action(for: head) == .take(.whole(length: 7), length: 7, dropping: nil))
        guard status != 206, status != 416 else { return }
        let held = HeldPartial(validator: .etag("\"v1\""), total: 1000, missing: [600..<1000], url: origin)
        let resuming = ResumePlan(
            method: .get, fields: [:], held: held, mayResume: true, url: origin, forwardsErrorResponses: true)
        #expect(resuming.action(for: head) == .take(.whole(length: 7), length: 7, dropping: nil))
    }
}
