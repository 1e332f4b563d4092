import Foundation
import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("RFC 9111 section 4.3.1: sending a validation request")
struct ValidationRequestTests {
    func validation(_ request: CacheRequest, _ stored: StoredResponse...) -> CacheValidation? {
        privateRules.decide(request, stored: stored, now: now).validation
    }

    @Test
    func `4.3.1: "MUST send the relevant entity tags" and "SHOULD send the Last-Modified value": both when both exist`()
    {
        let response = stored(("ETag", "\"a\""), ("Last-Modified", date(-60)), ("Cache-Control", "max-age=0"))
        #expect(validation(get(), response)?.fields == [.ifNoneMatch: "\"a\"", .ifModifiedSince: date(-60)])
        #expect(privateRules.conditionalFields(for: response) == [.ifNoneMatch: "\"a\"", .ifModifiedSince: date(-60)])
    }

    @Test func `4.3.1: one when one exists; a weak tag validates as well; Last-Modified as it was written`() {
        #expect(validation(get(), stored(("ETag", "W/\"a\"")))?.fields == [.ifNoneMatch: "W/\"a\""])
        let odd = "Sunday, 06-Nov-94 08:49:37 GMT"
        #expect(
            validation(get(), stored(("Last-Modified", odd), ("Cache-Control", "no-cache")))?.fields == [
                .ifModifiedSince: odd
            ])
        #expect(validation(get(), stored(("ETag", "unquoted"))) == nil)
        #expect(validation(get(), stored(("Last-Modified", "recently"))) == nil)
    }

    @Test func `4.3.1: "if the request is not for a subrange, a single stored response is being validated"`() {
        let one = stored(("ETag", "\"a\""), ("Last-Modified", date(-60)), ("Cache-Control", "no-cache"), ago: 1)
        let other = stored(("ETag", "\"b\""), ("Last-Modified", date(-50)), ("Cache-Control", "no-cache"))
        let both = validation(get(), one, other)
        #expect(both?.fields == [.ifNoneMatch: "\"b\", \"a\""])
        #expect(both?.candidate == 1 && both?.candidates == [1, 0])
        #expect(validation(get(("Range", "bytes=0-9")), one)?.fields == [.ifNoneMatch: "\"a\""])
    }

    @Test func `4.3.2: "MAY combine the received list with a list of entity tags from its own stored set"`() {
        let response = stored(("ETag", "\"a\""), ("Cache-Control", "no-cache"))
        #expect(
            validation(get(("If-None-Match", "\"x\", \"a\", W/\"y\"")), response)?.fields[.ifNoneMatch]
                == "\"a\", \"x\", W/\"y\"")
    }

    @Test
    func
        `4.3.2: a partial response's tag: "MUST NOT include its entity tag in the union unless … fully satisfied by that partial"`()
    {
        let whole = stored(("ETag", "\"a\""), ("Cache-Control", "no-cache"))
        let part = stored(
            ("ETag", "\"b\""), ("Cache-Control", "no-cache"), ago: 10, extent: .partial(held: [0..<10], total: 100))
        #expect(validation(get(), whole, part)?.fields[.ifNoneMatch] == "\"a\"")
        #expect(validation(get(("Range", "bytes=0-9")), whole, part)?.fields[.ifNoneMatch] == "\"a\", \"b\"")
        #expect(validation(get(("Range", "bytes=5-19")), whole, part)?.fields[.ifNoneMatch] == "\"a\"")
    }

    @Test func `4.3.1: a variant that the request does not select is not validated`() {
        let mine = stored(("ETag", "\"a\""), ("Vary", "X"), request: [("X", "1")])
        let other = stored(("ETag", "\"b\""), ("Vary", "X"), request: [("X", "2")])
        #expect(validation(get(("X", "1")), mine, other)?.fields[.ifNoneMatch] == "\"a\"")
    }
}

@Suite("RFC 9111 section 4.3.2, RFC 9110 13: a client's own conditions")
struct ClientConditionTests {
    func status(_ request: CacheRequest, _ pairs: (String, String)..., code: Int = 200) -> Int? {
        var response = stored(("Cache-Control", "max-age=60"), status: code)
        response.fields.append(contentsOf: fields(pairs))
        return privateRules.decide(request, stored: [response], now: now).served?.status.code
    }

    @Test(arguments: [
        ("\"a\"", 304), ("W/\"a\"", 304), ("\"b\"", 200), ("\"b\", \"a\"", 304), ("\"b\",W/\"a\"", 304), ("*", 304),
        (" * ", 304),
        ("a", 200), ("", 200), ("\"a", 200), ("w/\"a\"", 200), ("\"A\"", 200), ("\"b, a\"", 200),
        ("\"x,\", \"a\"", 304),
        ("garbage, \"a\"", 304), ("\"a\"b", 200),
    ])
    func `RFC 9110 13.1.2: If-None-Match: "A recipient MUST use the weak comparison function"`(
        value: String, expected: Int
    ) {
        #expect(status(get(("If-None-Match", value)), ("ETag", "\"a\"")) == expected)
        #expect(status(get(("If-None-Match", value)), ("ETag", "W/\"a\"")) == expected)
    }

    @Test func `RFC 9110 13.1.2: If-None-Match on several lines; against a response without a tag`() {
        #expect(status(get(("If-None-Match", "\"x\""), ("If-None-Match", "\"a\"")), ("ETag", "\"a\"")) == 304)
        #expect(status(get(("If-None-Match", "\"a\""))) == 200)
        #expect(status(get(("If-None-Match", "*"))) == 304)
    }

    @Test func `RFC 9110 13.1.3: "MUST ignore If-Modified-Since if the request contains an If-None-Match"`() {
        let dates = ("Last-Modified", date(-60))
        #expect(
            status(get(("If-None-Match", "\"b\""), ("If-Modified-Since", date(-60))), ("ETag", "\"a\""), dates) == 200)
        #expect(
            status(get(("If-None-Match", "\"a\""), ("If-Modified-Since", date(-99))), ("ETag", "\"a\""), dates) == 304)
    }

    @Test
    func `RFC 9110 13.1.3: If-Modified-Since is answered 304 for the same date; a rolled-back resource is a change`() {
        #expect(status(get(("If-Modified-Since", date(-60))), ("Last-Modified", date(-60))) == 304)
        #expect(status(get(("If-Modified-Since", date(-61))), ("Last-Modified", date(-60))) == 200)
        #expect(status(get(("If-Modified-Since", date(-59))), ("Last-Modified", date(-60))) == 200)
        #expect(status(get(("If-Modified-Since", date(-60)), method: .head), ("Last-Modified", date(-60))) == 304)
    }

    @Test
    func
        `RFC 9110 13.1.3: "MUST ignore the If-Modified-Since header field if the received field value is not a valid HTTP-date"`()
    {
        #expect(status(get(("If-Modified-Since", "0")), ("Last-Modified", date(-60))) == 200)
        #expect(status(get(("If-Modified-Since", "")), ("Last-Modified", date(-60))) == 200)
    }

    @Test
    func
        `4.3.2: without Last-Modified "a cache SHOULD use the stored response's Date field value (or … the time that … was received)"`()
    {
        #expect(status(get(("If-Modified-Since", date(0)))) == 304)
        #expect(status(get(("If-Modified-Since", date(1)))) == 304)
        #expect(status(get(("If-Modified-Since", date(-1)))) == 200)
        var response = stored(("Cache-Control", "max-age=60"), hasDate: false)
        response.fields[.date] = nil
        let request = get(("If-Modified-Since", date(0)))
        #expect(privateRules.decide(request, stored: [response], now: now).served?.status == .notModified)
    }

    @Test func `4.3.2: "If-Match and If-Unmodified-Since … are not applicable to a cache"`() {
        #expect(status(get(("If-Match", "\"b\"")), ("ETag", "\"a\"")) == 200)
        #expect(status(get(("If-Unmodified-Since", date(-99))), ("Last-Modified", date(-60))) == 200)
    }

    @Test(arguments: [203, 301, 404, 410, 500])
    func `4.3.2, RFC 9110 13.2.1: conditions are evaluated for a stored 200 or 206 only`(code: Int) {
        #expect(status(get(("If-None-Match", "\"a\"")), ("ETag", "\"a\""), code: code) == code)
    }

    @Test func `RFC 9110 13.2.2: If-None-Match goes before Range`() {
        #expect(status(get(("If-None-Match", "\"a\""), ("Range", "bytes=0-9")), ("ETag", "\"a\"")) == 304)
        #expect(status(get(("If-None-Match", "\"b\""), ("Range", "bytes=0-9")), ("ETag", "\"a\"")) == 206)
    }

    @Test
    func
        `4.3.2: "MUST NOT evaluate conditional header fields that … occur in a request … for which it has no stored responses"`()
    {
        let decision = privateRules.decide(get(("If-None-Match", "*")), stored: [], now: now)
        #expect(decision.forwarded?.reason == .uriMiss && decision.forwarded?.fields.isEmpty == true)
    }

    @Test
    func
        `RFC 9110 15.4.5: a 304 has Cache-Control, Content-Location, Date, ETag, Expires and Vary, and no other metadata`()
        throws
    {
        let response = stored(
            ("Cache-Control", "max-age=60"), ("Content-Location", "/x"), ("ETag", "\"a\""), ("Expires", date(60)),
            ("Vary", "Accept"),
            ("Content-Type", "image/png"), ("Content-Length", "1000"), ("Content-Encoding", "gzip"),
            ("Content-Language", "de"),
            ("Last-Modified", date(-60)), ago: 5)
        let served = try #require(privateRules.decide(get(("If-None-Match", "*")), stored: [response], now: now).served)
        #expect(served.body == ServedBody.none)
        let names = privateRules.head(of: served, from: response).headerFields.map(\.name.canonicalName)
        #expect(Set(names) == ["cache-control", "content-location", "date", "etag", "expires", "vary", "age"])
        var untagged = response
        untagged.fields[.eTag] = nil
        // Without a tag, the client's cache identifies it by Last-Modified.
        #expect(privateRules.head(of: served, from: untagged).headerFields.contains(.lastModified))
    }
}

@Suite("RFC 9111 sections 4.3.3 to 4.3.5: handling a validation response")
struct ValidationResponseTests {
    func after(
        _ pairs: (String, String)..., request: CacheRequest = get(), stored: [StoredResponse]
    ) -> NotModifiedOutcome? {
        guard let validation = privateRules.decide(request, stored: stored, now: now).validation else { return nil }
        return privateRules.afterNotModified(
            HTTPResponse(status: .notModified, headerFields: fields(pairs)), validation: validation, stored: stored,
            request: request,
            requestTime: now, responseTime: now)
    }

    /// The candidates that a 304 updates, the answering one first.
    func refreshed(_ outcome: NotModifiedOutcome?) -> [Int]? {
        if case .refreshed(let all) = outcome { all.map(\.candidate) } else { nil }
    }

    func old(_ pairs: (String, String)..., ago: Double = 100) -> StoredResponse {
        var response = stored(("Cache-Control", "max-age=10"), ago: ago)
        response.fields.append(contentsOf: fields(pairs))
        return response
    }

    @Test func `4.3.3: a 304: "the stored response can be updated and reused"`() throws {
        let response = old(("ETag", "\"a\""))
        let outcome = after(("ETag", "\"a\""), ("Cache-Control", "max-age=60"), ("Date", date(0)), stored: [response])
        guard case .refreshed(let all) = outcome, let first = all.first else {
            Issue.record("not refreshed")
            return
        }
        #expect(privateRules.word(get(), first.response) == "fresh")
        #expect(privateRules.freshness(of: first.response, at: now).lifetime == 60)
    }

    @Test
    func
        `4.3.4: "one or more strong validators …: All the stored responses … with one of those same strong validators"`()
    {
        let all = [old(("ETag", "\"a\""), ago: 50), old(("ETag", "\"b\""), ago: 40), old(("ETag", "\"a\""), ago: 60)]
        #expect(refreshed(after(("ETag", "\"a\""), stored: all)) == [0, 2])
        #expect(refreshed(after(("ETag", "\"b\""), stored: all)) == [1])
    }

    @Test func `4.3.4: "none …: MUST NOT use the new response to update any stored responses"`() {
        #expect(after(("ETag", "\"c\""), stored: [old(("ETag", "\"a\""))]) == .repeatUnconditionally)
        #expect(after(("ETag", "\"a\""), stored: [old(("ETag", "W/\"a\""))]) == .repeatUnconditionally)
        #expect(after(("ETag", "\"c\""), stored: [old(("Last-Modified", date(-999)))]) == .repeatUnconditionally)
    }

    @Test func `4.3.4: "weak validators …: the most recent of those matching stored responses"`() {
        let all = [old(("ETag", "W/\"a\""), ago: 50), old(("ETag", "\"a\""), ago: 40), old(("ETag", "\"b\""), ago: 30)]
        #expect(refreshed(after(("ETag", "W/\"a\""), stored: all)) == [1])
        #expect(after(("ETag", "W/\"c\""), stored: all) == .repeatUnconditionally)
    }

    @Test func `4.3.4: by Last-Modified, strong or weak, where there is no tag on both sides`() {
        let response = old(("Last-Modified", date(-999)))
        #expect(refreshed(after(("Last-Modified", date(-999)), ("Date", date(0)), stored: [response])) == [0])
        #expect(refreshed(after(("Last-Modified", date(-999)), stored: [response])) == [0])
        #expect(after(("Last-Modified", date(-998)), ("Date", date(0)), stored: [response]) == .repeatUnconditionally)
        #expect(after(("Last-Modified", date(-998)), stored: [response]) == .repeatUnconditionally)
    }

    @Test func `4.3.4: without any validator it is the only one whose validator was sent, or nothing`() {
        #expect(refreshed(after(stored: [old(("ETag", "\"a\""))])) == [0])
        #expect(after(stored: [old(("ETag", "\"a\"")), old(("ETag", "\"b\""))]) == .repeatUnconditionally)
    }

    @Test
    func `4.3.2: a 304 to the client's own tag is passed on; to ours "MUST generate a 200 (OK) response"`() throws {
        let request = get(("If-None-Match", "\"x\""))
        let response = old(("ETag", "\"a\""))
        #expect(after(("ETag", "\"x\""), request: request, stored: [response]) == .forwardToClient)
        guard case .refreshed(let all) = after(("ETag", "\"a\""), request: request, stored: [response]),
            let first = all.first
        else {
            Issue.record("not refreshed")
            return
        }
        #expect(privateRules.served(first.response, for: request, now: now)?.status == .ok)
        // And the client that holds the same gets its 304.
        #expect(
            privateRules.served(first.response, for: get(("If-None-Match", "\"a\"")), now: now)?.status == .notModified)
    }

    @Test func `a validation that names no stored response is answered by asking again`() {
        let validation = CacheValidation(
            candidate: 5, candidates: [5, -1], fields: [:], reason: .stale, mayServeStaleOnError: false,
            remainingLifetime: 0)
        let outcome = privateRules.afterNotModified(
            response(304), validation: validation, stored: [], request: get(), requestTime: now, responseTime: now)
        #expect(outcome == .repeatUnconditionally)
    }

    func head(_ pairs: (String, String)..., status: Int = 200, stored: StoredResponse...) -> [RefreshedResponse] {
        privateRules.afterHead(
            HTTPResponse(status: .init(code: status), headerFields: fields(pairs)), to: get(method: .head),
            stored: stored,
            requestTime: now, responseTime: now)
    }

    @Test func `4.3.5: matching validators and Content-Length: "the cache SHOULD update the stored response"`() {
        let response = old(("ETag", "\"a\""), ("Last-Modified", date(-999)))
        let updated = head(
            ("ETag", "\"a\""), ("Content-Length", "1000"), ("Cache-Control", "max-age=60"), stored: response)
        #expect(updated.first?.response.isInvalidated == false)
        #expect(updated.first?.response.fields[.cacheControl] == "max-age=60")
    }

    @Test func `4.3.5: "otherwise, the cache SHOULD consider the stored response to be stale"`() {
        let response = stored(("Cache-Control", "max-age=60"), ("ETag", "\"a\""), ("Last-Modified", date(-999)))
        for pairs in [("ETag", "\"b\""), ("ETag", "W/\"a\""), ("Last-Modified", date(-998)), ("Content-Length", "999")]
        {
            let updated = head(pairs, stored: response)
            #expect(updated.first?.response.isInvalidated == true, "\(pairs)")
            if let first = updated.first { #expect(privateRules.word(get(), first.response) == "validate") }
        }
    }

    @Test func `4.3.5: only a 200, and only stored responses to GET that could have been chosen`() {
        let response = old(("ETag", "\"a\""))
        #expect(head(("ETag", "\"b\""), status: 404, stored: response).isEmpty)
        #expect(head(("ETag", "\"b\""), stored: stored(method: .head)).isEmpty)
        #expect(head(("ETag", "\"b\""), stored: stored(("Vary", "X"), request: [("X", "1")])).isEmpty)
    }
}
