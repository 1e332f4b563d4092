import FoundationEssentials
import HTTPTypes
import Testing

@testable import Transfer

@Suite("The request of an attempt")
struct ResumePlanTests {
    private static let url = "http://origin.example/file"
    private let url = Self.url

    private func plan(
        _ validator: ResumeValidator = .etag("\"v1\""), total: Int64? = 1000, missing: [Range<Int64>],
        method: HTTPRequest.Method = .get, mayResume: Bool = true, provingTotal: Int64? = nil
    ) -> ResumePlan {
        ResumePlan(
            method: method, fields: [:],
            held: HeldPartial(validator: validator, total: total, missing: missing, url: url), mayResume: mayResume,
            url: url, provingTotal: provingTotal)
    }

    @Test func `the rest of a body is asked for with an open end and If-Range`() {
        let plan = plan(missing: [400..<1000])
        #expect(plan.range == "400-")
        #expect(plan.ifRange == "\"v1\"")
    }

    @Test(arguments: ["http://origin.example/latest", "http://origin.example/file?a", "https://origin.example/file"])
    func `the whole body of another resource is requested, with a reason`(_ other: String) {
        let held = HeldPartial(validator: .etag("\"v1\""), total: 1000, missing: [400..<1000], url: url)
        let plan = ResumePlan(method: .get, fields: [:], held: held, mayResume: true, url: other)
        #expect(plan.range == nil && plan.ifRange == nil)
        #expect(plan.refusal?.contains("another resource") == true)
    }

    @Test(arguments: [url, "http://mirror.example/file"])
    func `bytes that a digest verifies are resumed at any resource, without If-Range`(_ other: String) {
        let held = HeldPartial(validator: .digest, total: 1000, missing: [400..<1000], url: Self.url)
        let plan = ResumePlan(method: .get, fields: [:], held: held, mayResume: true, url: other)
        #expect(plan.range == "400-")
        #expect(plan.ifRange == nil)
    }

    @Test func `a hole is asked for with both its ends`() {
        #expect(plan(missing: [100..<200, 400..<1000]).range == "100-199")
    }

    @Test func `the bytes after the held ones are requested if the total is unknown`() {
        #expect(plan(total: nil, missing: [400..<Int64.max]).range == "400-")
    }

    @Test func `the last byte is requested as a proof if no byte is missing`() {
        #expect(plan(missing: []).range == "999-")
        #expect(plan(total: nil, missing: [400..<Int64.max], provingTotal: 400).range == "399-")
    }

    @Test func `a strong date is sent in If-Range`() {
        let plan = plan(.lastModified("Sun, 06 Nov 1994 08:49:37 GMT"), missing: [400..<1000])
        #expect(plan.ifRange == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test(arguments: [
        ResumeValidator.etag("W/\"v1\""), .etag("v1"), .etag(""), .etag("\"a\"b\""), .etag("\"a\", \"b\""),
        .lastModified(""), .lastModified("yesterday"), .lastModified("Sunday, 06-Nov-94 08:49:37 GMT"),
    ])
    func `no range is requested without a strong validator, and there is a reason`(_ validator: ResumeValidator) {
        let plan = plan(validator, missing: [400..<1000])
        #expect(plan.range == nil)
        #expect(plan.ifRange == nil)
        #expect(plan.refusal?.contains("validator") == true)
    }

    @Test(
        arguments: [
            [400..<300 + 101, 350..<1000], [400..<1001], [500..<500], [-1..<1000], [400..<Int64.max],
        ] as [[Range<Int64>]])
    func `ranges that contradict each other or the total are not resumed`(_ missing: [Range<Int64>]) {
        let plan = plan(missing: missing)
        #expect(plan.range == nil)
        #expect(plan.refusal != nil)
    }

    @Test func `held ranges without an end and without a total are not resumed`() {
        #expect(plan(total: nil, missing: []).refusal != nil)
    }

    @Test func `a transfer without held bytes has nothing to resume and no reason`() {
        let plan = plan(missing: [0..<1000])
        #expect(plan.range == nil)
        #expect(plan.refusal == nil)
    }

    @Test func `only a plain GET is resumed`() {
        #expect(plan(missing: [400..<1000], method: .post).range == nil)
        #expect(plan(missing: [400..<1000], mayResume: false).range == nil)
    }

    @Test func `held bytes are counted over holes, with and without a known end`() {
        func held(_ total: Int64?, _ missing: [Range<Int64>]) -> Int64 {
            HeldPartial(validator: .etag("\"v\""), total: total, missing: missing, url: url).heldBytes
        }
        #expect(held(1000, [0..<1000]) == 0)
        #expect(held(1000, [400..<1000]) == 400)
        #expect(held(1000, [100..<200, 400..<500]) == 800)
        #expect(held(1000, []) == 1000)
        #expect(held(nil, [400..<Int64.max]) == 400)
        #expect(held(nil, [100..<200, 400..<Int64.max]) == 300)
    }
}

@Suite("The validator of a partial body")
struct ResumeValidatorTests {
    private func validator(_ fields: HTTPFields, status: Int = 200) -> ResumeValidator? {
        ResponseHead(
            status: .init(code: status), fields: fields, finalURL: "http://a/", requestTime: Date(),
            responseTime: Date()
        ).resumeValidator
    }
    private let modified = "Sun, 06 Nov 1994 08:49:37 GMT"

    @Test func `a strong entity tag precedes a date as the validator`() {
        #expect(validator([.eTag: "\"v1\"", .lastModified: modified, .date: modified]) == .etag("\"v1\""))
        #expect(validator([.eTag: "\"\""], status: 206) == .etag("\"\""))
    }

    @Test(arguments: ["W/\"v1\"", "v1", "\"v1", "\"a\", \"b\""])
    func `a weak entity tag is not a validator, even with a date`(_ etag: String) {
        let later = "Sun, 06 Nov 1994 09:49:37 GMT"
        #expect(validator([.eTag: etag, .lastModified: modified, .date: later]) == nil)
    }

    @Test func `Last-Modified is a validator only if it is at least a second before Date (RFC 9110 section 8.8.2.2)`() {
        #expect(
            validator([.lastModified: modified, .date: "Sun, 06 Nov 1994 08:49:38 GMT"]) == .lastModified(modified))
        #expect(validator([.lastModified: modified, .date: modified]) == nil)
        #expect(validator([.lastModified: modified, .date: "Sun, 06 Nov 1994 08:49:36 GMT"]) == nil)
        #expect(validator([.lastModified: modified]) == nil)
        #expect(validator([.lastModified: "Sunday, 06-Nov-94 08:49:37 GMT", .date: modified]) == nil)
    }

    @Test func `a response with a Content-Encoding other than identity has no validator`() {
        #expect(validator([.eTag: "\"v1\"", .contentEncoding: "gzip"]) == nil)
        #expect(validator([.eTag: "\"v1\"", .contentEncoding: "identity"]) == .etag("\"v1\""))
    }

    @Test func `a response with another status has no validator`() {
        #expect(validator([.eTag: "\"v1\""], status: 203) == nil)
        #expect(validator([.eTag: "\"v1\""], status: 404) == nil)
    }
}
