import Foundation
import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("RFC 9111 sections 3.3 and 3.4, RFC 9110 14 and 15.3.7: incomplete and partial content")
struct PartialContentTests {
    static let partial = StoredExtent.partial(held: [100..<200, 300..<400], total: 1000)

    func partial(_ extent: StoredExtent = partial, tag: String = "\"a\"") -> StoredResponse {
        stored(("ETag", tag), ("Cache-Control", "max-age=60"), extent: extent)
    }

    @Test func `3.3: "a 206 (Partial Content) response MAY be stored as if it were an incomplete 200"`() {
        let part = privateRules.stored(
            response(206, ("Content-Range", "bytes 100-199/1000"), ("Content-Length", "100")),
            to: get(("Range", "bytes=100-199")),
            requestTime: now, responseTime: now)
        #expect(part.extent == .partial(held: [100..<200], total: 1000))
        #expect(!part.isComplete)
    }

    @Test func `3.3: "provided that the stored response is recorded as being incomplete": a 200 that was cut`() {
        let cut = privateRules.stored(
            response(200, ("Content-Length", "1000")), to: get(), requestTime: now, responseTime: now, held: [0..<10])
        #expect(cut.extent == .partial(held: [0..<10], total: 1000))
    }

    @Test func `a part, a 304 and a 416 have no Content-Digest of the whole (RFC 9530 section 2)`() {
        let digest = ("Content-Digest", "sha-256=:AA==:")
        let whole = stored(
            ("ETag", "\"a\""), digest, ("Repr-Digest", "sha-256=:AA==:"), ("Cache-Control", "max-age=60"),
            extent: .complete(length: 1000))
        for field in [("Range", "bytes=0-9"), ("Range", "bytes=2000-"), ("If-None-Match", "\"a\"")] {
            guard let served = privateRules.served(whole, for: get(field), now: now) else {
                Issue.record("not served: \(field)")
                continue
            }
            let head = privateRules.head(of: served, from: whole)
            let names = head.headerFields.map(\.name.canonicalName)
            #expect(head.status != .ok && !names.contains("content-digest"), "\(head)")
            #expect(names.contains("repr-digest") == (head.status != .rangeNotSatisfiable), "\(head)")
        }
    }

    @Test func `3.4: a 206 that has the whole is stored as a 200`() {
        let whole = privateRules.stored(
            response(206, ("Content-Range", "bytes 0-999/1000"), ("ETag", "\"a\"")), to: get(("Range", "bytes=0-")),
            requestTime: now,
            responseTime: now)
        #expect(whole.status == .ok && whole.isComplete)
        #expect(whole.fields[.contentLength] == "1000" && whole.fields[.contentRange] == nil)
    }

    @Test(arguments: [
        "bytes 9-0/100", "bytes 0-100/100", "bytes 0-9/", "bytes 0-9", "bytes */100", "bytes -9/100",
        "bytes 0-/100",
        "items 0-9/100", "bytes=0-9/100", "bytes a-b/c", "bytes 0-9/100/100", "", "bytes 0-9223372036854775807/*",
        "bytes 99999999999999999999-99999999999999999999/*", "bytes 0-8/100",
    ])
    func `RFC 9110 14.4: a Content-Range that is invalid, contradicts itself or its length is refused`(value: String) {
        let part = response(206, ("Content-Range", value), ("Content-Length", "10"))
        #expect(!privateRules.storability(of: part, to: get(), receivedAt: now).isStorable)
    }

    @Test func `RFC 9110 14.4: a valid Content-Range is read`() {
        for value in ["bytes 0-9/100", "BYTES 0-9/*", "bytes 90-99/100"] {
            let part = response(206, ("Content-Range", value), ("Content-Length", "10"))
            #expect(privateRules.storability(of: part, to: get(), receivedAt: now).isStorable, "\(value)")
        }
        let twice = response(206, ("Content-Range", "bytes 0-9/100"), ("Content-Range", "bytes 10-19/100"))
        #expect(!privateRules.storability(of: twice, to: get(), receivedAt: now).isStorable)
    }

    @Test func `3.3: "MUST NOT use an incomplete response to answer requests": the whole, or HEAD, is not answered`() {
        #expect(privateRules.word(get(), partial()) == "forward+complete")
        #expect(privateRules.word(get(method: .head), partial()) == "forward")
        #expect(privateRules.decide(get(), stored: [partial()], now: now).forwarded?.reason == .partial)
    }

    @Test(
        arguments: [
            ("bytes=100-199", 100..<200), ("bytes=150-160", 150..<161), ("bytes=300-399", 300..<400),
            ("bytes=99-110", nil),
            ("bytes=190-200", nil), ("bytes=100-399", nil), ("bytes=300-", nil), ("bytes=-10", nil), ("bytes=0-0", nil),
        ] as [(String, Range<Int64>?)])
    func `3.3: "unless … the request is partial and specifies a range wholly within the incomplete response"`(
        range: String, expected: Range<Int64>?
    ) {
        let served = privateRules.decide(get(("Range", range)), stored: [partial()], now: now).served
        #expect(served?.body == expected.map { .range($0, total: 1000) })
        #expect(served?.status == expected.map { _ in .partialContent })
    }

    @Test
    func `4: a part that lacks what is asked for is not suitable while a complete response is stored, older or not`() {
        let whole = stored(("Cache-Control", "max-age=600"), ago: 100)
        for candidates in [[whole, partial()], [partial(), whole]] {
            let index = candidates.firstIndex(of: whole)
            #expect(privateRules.decide(get(), stored: candidates, now: now).served?.candidate == index)
            let covered = privateRules.decide(get(("Range", "bytes=100-199")), stored: candidates, now: now)
            #expect(covered.served?.candidate != index)
        }
    }

    @Test func `3.3: suffix and open-ended ranges are answered from a part that reaches the end`() {
        let end = partial(.partial(held: [900..<1000], total: 1000))
        #expect(
            privateRules.decide(get(("Range", "bytes=-100")), stored: [end], now: now).served?.body
                == .range(900..<1000, total: 1000))
        #expect(
            privateRules.decide(get(("Range", "bytes=950-")), stored: [end], now: now).served?.body
                == .range(950..<1000, total: 1000))
        #expect(privateRules.word(get(("Range", "bytes=-101")), end) == "forward")
    }

    @Test func `3.3: without a known total only a range with both ends can be covered`() {
        let part = partial(.partial(held: [0..<100], total: nil))
        #expect(
            privateRules.decide(get(("Range", "bytes=0-99")), stored: [part], now: now).served?.body
                == .range(0..<100, total: nil))
        for range in ["bytes=0-", "bytes=-1", "bytes=0-100", "bytes=0-9223372036854775807"] {
            #expect(privateRules.word(get(("Range", range)), part) == "forward", "\(range)")
        }
        #expect(privateRules.decide(get(), stored: [part], now: now).forwarded?.completingValidator == "\"a\"")
    }

    @Test func `3.3: what is missing is asked for with the strong validator`() {
        #expect(privateRules.decide(get(), stored: [partial()], now: now).forwarded?.completingValidator == "\"a\"")
    }

    @Test
    func
        `RFC 9110 13.1.5: "A client MUST NOT generate an If-Range header field containing an entity tag that is marked as weak"`()
    {
        #expect(privateRules.word(get(), partial(tag: "W/\"a\"")) == "forward")
        let young = stored(("Last-Modified", date(0)), ("Cache-Control", "max-age=60"), extent: Self.partial)
        #expect(privateRules.word(get(), young) == "forward")
        let old = stored(("Last-Modified", date(-60)), ("Cache-Control", "max-age=60"), extent: Self.partial)
        #expect(privateRules.decide(get(), stored: [old], now: now).forwarded?.completingValidator == date(-60))
    }

    @Test(
        arguments: [
            ("bytes=0-0", 0..<1), ("bytes=0-", 0..<1000), ("bytes=999-", 999..<1000), ("bytes=-1", 999..<1000),
            ("bytes=-5000", 0..<1000), ("bytes=10-99999", 10..<1000), ("bytes=10-99999999999999999999", 10..<1000),
            ("BYTES=0-0", 0..<1), ("bytes= 0-0", 0..<1),
        ] as [(String, Range<Int64>)])
    func `RFC 9110 14.1.2: a range is answered from a complete stored body`(range: String, expected: Range<Int64>) {
        let complete = stored(("Cache-Control", "max-age=60"))
        let served = privateRules.decide(get(("Range", range)), stored: [complete], now: now).served
        #expect(served?.status == .partialContent)
        #expect(served?.body == .range(expected, total: 1000))
    }

    @Test(arguments: [
        "bytes=9-0", "bytes=", "bytes", "items=0-9", "bytes=-", "bytes=a-b", "bytes=0-0,2-2", "bytes=0--1",
        "bytes=1.0-2",
        "bytes=+0-9", "0-9",
    ])
    func `RFC 9110 14.2: a Range that is invalid, of another unit, or of several ranges is ignored`(range: String) {
        let served = privateRules.decide(
            get(("Range", range)), stored: [stored(("Cache-Control", "max-age=60"))], now: now
        ).served
        #expect(served?.status == .ok && served?.body == .whole)
    }

    @Test func `RFC 9110 14.2: Range means nothing but for GET, and for a response that would be a 200`() {
        let complete = stored(("Cache-Control", "max-age=60"))
        #expect(
            privateRules.decide(get(("Range", "bytes=0-0"), method: .head), stored: [complete], now: now).served?.status
                == .ok)
        let missing = stored(("Cache-Control", "max-age=60"), status: 404)
        #expect(
            privateRules.decide(get(("Range", "bytes=0-0")), stored: [missing], now: now).served?.status == .notFound)
    }

    @Test(arguments: ["bytes=1000-", "bytes=5000-6000", "bytes=-0"])
    func `RFC 9110 15.5.17: a range beyond the end is 416, with the length`(range: String) throws {
        let complete = stored(("Cache-Control", "max-age=60"), ("Content-Type", "image/png"))
        let served = try #require(privateRules.decide(get(("Range", range)), stored: [complete], now: now).served)
        #expect(served.status == .rangeNotSatisfiable && served.body == .none)
        let head = privateRules.head(of: served, from: complete)
        #expect(head.headerFields[.contentRange] == "bytes */1000")
        #expect(head.headerFields[.contentType] == nil)
    }

    @Test func `RFC 9110 14.2: a body whose length is not known is sent whole`() {
        let complete = stored(("Cache-Control", "max-age=60"), extent: .complete(length: nil))
        #expect(privateRules.decide(get(("Range", "bytes=0-0")), stored: [complete], now: now).served?.body == .whole)
        let promised = stored(("Cache-Control", "max-age=60"), ("Content-Length", "10"), extent: .complete(length: nil))
        #expect(
            privateRules.decide(get(("Range", "bytes=0-0")), stored: [promised], now: now).served?.body
                == .range(0..<1, total: 10))
    }

    @Test func `RFC 9110 15.3.7, 3.3: "without explicitly marking it using the 206": the head of a part`() throws {
        let complete = stored(("Cache-Control", "max-age=60"), ("ETag", "\"a\""), ("Content-Length", "1000"), ago: 5)
        let served = try #require(
            privateRules.decide(get(("Range", "bytes=10-19")), stored: [complete], now: now).served)
        let head = privateRules.head(of: served, from: complete)
        #expect(head.status == .partialContent)
        #expect(head.headerFields[.contentRange] == "bytes 10-19/1000")
        #expect(head.headerFields[.contentLength] == "10")
        #expect(
            head.headerFields[.eTag] == "\"a\"" && head.headerFields[.date] == date(-5)
                && head.headerFields[.age] == "5")
    }

    @Test(arguments: [
        ("\"a\"", true), ("\"b\"", false), ("W/\"a\"", false), ("a", false), ("\"a\", \"b\"", false), ("", false),
    ])
    func `RFC 9110 13.1.5: If-Range that does not match exactly and strongly: the Range is ignored`(
        condition: String, isPart: Bool
    ) {
        let complete = stored(("Cache-Control", "max-age=60"), ("ETag", "\"a\""), ("Last-Modified", date(-60)))
        let request = get(("Range", "bytes=0-9"), ("If-Range", condition))
        #expect(
            privateRules.decide(request, stored: [complete], now: now).served?.status
                == (isPart ? .partialContent : .ok))
    }

    @Test func `RFC 9110 13.1.5: If-Range by date needs the same and a strong date`() {
        func status(_ modified: String, _ condition: String) -> HTTPResponse.Status? {
            let complete = stored(("Cache-Control", "max-age=60"), ("Last-Modified", modified))
            return privateRules.decide(
                get(("Range", "bytes=0-9"), ("If-Range", condition)), stored: [complete], now: now
            ).served?.status
        }
        #expect(status(date(-60), date(-60)) == .partialContent)
        #expect(status(date(-60), date(-59)) == .ok)
        #expect(status(date(-60), date(-61)) == .ok)
        #expect(status(date(0), date(0)) == .ok)
    }

    @Test
    func `RFC 9110 13.1.5: "MUST ignore an If-Range header field received in a request that does not contain a Range"`()
    {
        let complete = stored(("Cache-Control", "max-age=60"), ("ETag", "\"a\""))
        #expect(privateRules.decide(get(("If-Range", "\"b\"")), stored: [complete], now: now).served?.body == .whole)
    }
}
