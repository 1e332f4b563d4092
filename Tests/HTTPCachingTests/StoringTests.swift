import Foundation
import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("RFC 9111 section 3: storing responses")
struct StoringTests {
    func stores(
        _ response: HTTPResponse, _ request: CacheRequest = get(), _ rules: CacheRules = privateRules
    ) -> Bool {
        rules.storability(of: response, to: request, receivedAt: now).isStorable
    }

    @Test
    func `7.3: Set-Cookie "does not inhibit caching"; a shared cache wants to be told that the cookie is for all`() {
        let cookie = ("Set-Cookie", "session=1")
        for said in ["max-age=60", "must-revalidate, max-age=60", "no-cache", "foo"] {
            #expect(stores(response(200, ("Cache-Control", said), cookie)))
            #expect(!stores(response(200, ("Cache-Control", said), cookie), get(), sharedRules))
        }
        for said in ["public", "s-maxage=60", "public, max-age=60"] {
            #expect(stores(response(200, ("Cache-Control", said), cookie), get(), sharedRules))
        }
        let targeted = response(200, ("CDN-Cache-Control", "max-age=60"), ("Cache-Control", "no-store"), cookie)
        #expect(stores(targeted, get(), sharedRules))
        #expect(!stores(response(200, cookie), get(own: FreshnessOverride(seconds: 60)), sharedRules))
    }

    @Test(arguments: [
        ("GET", true), ("HEAD", true), ("QUERY", true), ("PUT", false), ("DELETE", false), ("PATCH", false),
        ("OPTIONS", false), ("TRACE", false), ("CONNECT", false), ("PROPFIND", false), ("FOO", false),
        ("get", false),
    ])
    func `3: "MUST NOT store … unless: the request method is understood by the cache"`(method: String, isStored: Bool)
        throws
    {
        let request = get(method: try #require(HTTPRequest.Method(rawValue: method)))
        #expect(stores(response(200, ("Cache-Control", "max-age=60")), request) == isStored)
    }

    @Test(arguments: [100, 101, 102, 103, 199])
    func `3: "the response status code is final": interim responses are passed by`(status: Int) {
        #expect(!stores(response(status, ("Cache-Control", "max-age=60, public"))))
    }

    @Test(arguments: [0, 99, 600, 999])
    func `3: a status outside 100 to 599 is no response`(status: Int) {
        #expect(!stores(response(status, ("Cache-Control", "max-age=60"))))
    }

    @Test func `3: "if the response status code is 206 or 304 …: the cache understands the response status code"`() {
        #expect(stores(response(206, ("Content-Range", "bytes 0-9/100"))))
        #expect(!stores(response(206, ("Cache-Control", "max-age=60"))))
        #expect(!stores(response(304, ("Cache-Control", "max-age=60"))))
    }

    @Test func `3: "the no-store cache directive is not present in the response"`() {
        for rules in [privateRules, sharedRules] {
            #expect(!stores(response(200, ("Cache-Control", "no-store")), get(), rules))
            #expect(!stores(response(200, ("Cache-Control", "max-age=60, NO-STORE")), get(), rules))
            #expect(
                !stores(
                    response(200, ("Cache-Control", "max-age=60"), ("Cache-Control", "public, no-store")), get(), rules)
            )
            #expect(!stores(response(200, ("Cache-Control", "foo=\"bar, no-store")), get(), rules))
            #expect(!stores(response(200, ("Cache-Control", "no-store=\"x\"")), get(), rules))
            // Inside a quoted string it is no directive.
            #expect(stores(response(200, ("Cache-Control", "foo=\"a, no-store, b\"")), get(), rules))
        }
    }

    @Test func `3: "if the cache is shared: the private response directive is … not present"`() {
        let answer = response(200, ("Cache-Control", "private, max-age=60"))
        #expect(stores(answer, get(), privateRules))
        #expect(!stores(answer, get(), sharedRules))
    }

    @Test func `3: private that "allows a shared cache to store a modified response"`() {
        #expect(stores(response(200, ("Cache-Control", "private=\"Set-Cookie\", max-age=60")), get(), sharedRules))
        #expect(stores(response(200, ("Cache-Control", "private=set-cookie, max-age=60")), get(), sharedRules))
        // An argument that is no list of field names does not qualify anything.
        #expect(!stores(response(200, ("Cache-Control", "private=\"\", max-age=60")), get(), sharedRules))
        #expect(!stores(response(200, ("Cache-Control", "private=\"a b\", max-age=60")), get(), sharedRules))
        #expect(!stores(response(200, ("Cache-Control", "private=\"unclosed, max-age=60")), get(), sharedRules))
    }

    @Test(arguments: [
        ("max-age=60", false), ("max-age=60, public", true), ("max-age=60, must-revalidate", true),
        ("s-maxage=60", true),
        ("max-age=60, proxy-revalidate", false), ("max-age=60, immutable", false), ("public, no-store", false),
        ("public, private", false),
    ])
    func
        `3, 3.5: "if the cache is shared: the Authorization header field is not present … or a response directive is present that explicitly allows shared caching"`(
            cacheControl: String, isStored: Bool
        )
    {
        let request = get(("Authorization", "Basic dTpw"))
        let answer = response(200, ("Cache-Control", cacheControl))
        #expect(stores(answer, request, sharedRules) == isStored)
    }

    @Test func `3.5: a private cache may store the answer to a request with Authorization`() {
        #expect(stores(response(200, ("Cache-Control", "max-age=60")), get(("Authorization", "Basic dTpw"))))
    }

    @Test(
        arguments: [
            // directive, Expires, private cache, shared cache; the status is not heuristically cacheable
            ("public", nil, true, true), ("private", nil, true, false), ("private=\"x\"", nil, true, false),
            ("max-age=60", nil, true, true), ("max-age=0", nil, true, true), ("s-maxage=60", nil, false, true),
            ("", "Thu, 01 Jan 2026 01:00:00 GMT", true, true), ("", "0", true, true), ("", nil, false, false),
            ("foo", nil, false, false), ("must-revalidate", nil, false, false), ("immutable", nil, false, false),
            ("stale-if-error=60", nil, false, false),
        ] as [(String, String?, Bool, Bool)])
    func `3: "the response contains at least one of the following"`(
        cacheControl: String, expires: String?, isPrivate: Bool, isShared: Bool
    ) {
        var answer = response(451)
        if !cacheControl.isEmpty { answer.headerFields[.cacheControl] = cacheControl }
        answer.headerFields[.expires] = expires
        #expect(stores(answer, get(), privateRules) == isPrivate)
        #expect(stores(answer, get(), sharedRules) == isShared)
    }

    @Test func `3, RFC 9110 15.1: "a status code that is defined as heuristically cacheable", and no other`() {
        // 414 is one too, but for the client that asked so: `neverStored`.
        let cacheable = [200, 203, 204, 300, 301, 308, 404, 405, 410, 501]
        for status in 200...599 where status != 206 && status != 304 {
            #expect(stores(response(status)) == cacheable.contains(status), "\(status)")
            let isStored = (400...499).contains(status) ? [403, 404, 405, 410, 451].contains(status) : status != 511
            #expect(stores(response(status, ("Cache-Control", "max-age=1"))) == isStored, "\(status)")
        }
        #expect(stores(response(206, ("Content-Range", "bytes 0-0/2"))))
    }

    @Test(arguments: [400, 401, 406, 408, 411, 412, 413, 414, 415, 416, 417, 421, 422, 425, 428, 429, 431, 499, 511])
    func `a status about one request is not stored, whatever the origin says`(status: Int) {
        for rules in [privateRules, sharedRules] {
            #expect(!stores(response(status, ("Cache-Control", "public, max-age=600, s-maxage=600")), get(), rules))
        }
    }

    @Test func `an error that an odd request may bring about takes no success's place`() {
        let success = stored(("Cache-Control", "max-age=60"), ago: 100)
        var invalidated = success
        invalidated.isInvalidated = true
        for status in [403, 405, 500, 501, 503] {
            let status = HTTPResponse.Status(code: status)
            #expect(!sharedRules.mayTakePlace(of: [success], status))
            #expect(sharedRules.mayTakePlace(of: [], status) && sharedRules.mayTakePlace(of: [invalidated], status))
            #expect(sharedRules.mayTakePlace(of: [stored(status: 404)], status))
        }
        for status in [200, 301, 404, 410, 451] {
            #expect(sharedRules.mayTakePlace(of: [success], HTTPResponse.Status(code: status)))
        }
    }

    @Test func `a shared cache stores what a session got only when the origin says for how long it is fresh`() {
        let old = ("Last-Modified", date(-100_000))
        let request = get(("Cookie", "session=1"))
        #expect(!stores(response(200, old), request, sharedRules))
        #expect(!stores(response(200, old, ("Cache-Control", "public")), request, sharedRules))
        #expect(stores(response(200, old), get(), sharedRules) && stores(response(200, old), request, privateRules))
        for explicit in ["max-age=60", "s-maxage=60", "max-age=0"] {
            #expect(stores(response(200, ("Cache-Control", explicit)), request, sharedRules))
        }
        #expect(stores(response(200, ("Expires", date(60))), request, sharedRules))
        #expect(stores(response(200, ("CDN-Cache-Control", "max-age=60")), request, sharedRules))
    }

    @Test func `the number of one exchange with the origin is not stored`() {
        let kept = sharedRules.stored(
            response(200, ("X-Request-Id", "1"), ("Traceparent", "00-1"), ("CF-Ray", "2"), ("X-Other", "3")), to: get(),
            requestTime: now, responseTime: now)
        #expect(kept.fields.map(\.name.canonicalName) == ["x-other", "date"])
    }

    @Test
    func `3: a response with neither validator nor freshness may be stored, and nothing is invented for it`() throws {
        guard case .store(let terms) = privateRules.storability(of: response(200), to: get(), receivedAt: now) else {
            Issue.record("not stored")
            return
        }
        #expect(terms.lifetime == 0 && terms.source == .nothing && !terms.hasValidator)
    }

    @Test func `3: what a response is stored on is told`() {
        func terms(_ response: HTTPResponse, _ rules: CacheRules) -> StorageTerms? {
            if case .store(let terms) = rules.storability(of: response, to: get(), receivedAt: now) {
                terms
            } else {
                nil
            }
        }
        let answer = response(200, ("Cache-Control", "max-age=60, s-maxage=90"), ("ETag", "W/\"a\""))
        #expect(terms(answer, privateRules) == StorageTerms(lifetime: 60, source: .maxAge, hasValidator: true))
        #expect(terms(answer, sharedRules) == StorageTerms(lifetime: 90, source: .sharedMaxAge, hasValidator: true))
    }

    @Test
    func
        `5.2.2.3: must-understand: no-store is ignored where the status is understood, and nothing is stored where it is not`()
    {
        let both = ("Cache-Control", "must-understand, no-store, max-age=60")
        #expect(stores(response(200, both)))
        #expect(stores(response(404, both)))
        #expect(!stores(response(299, both)))
        #expect(!stores(response(299, ("Cache-Control", "must-understand, max-age=60"))))
        #expect(stores(response(299, ("Cache-Control", "max-age=60"))))
    }

    @Test func `5.2.1.5: "a cache MUST NOT store any part of … any response to it": no-store in the request`() {
        for rules in [privateRules, sharedRules] {
            #expect(
                !stores(
                    response(200, ("Cache-Control", "max-age=60, public")), get(("Cache-Control", "no-store")), rules))
        }
        // must-understand lifts the response's no-store, not the request's.
        #expect(
            !stores(response(200, ("Cache-Control", "must-understand, no-store")), get(("Cache-Control", "no-store"))))
    }

    @Test
    func
        `RFC 9110 9.3.3: the answer to a POST is cacheable only with explicit freshness and its own URL as Content-Location`()
    {
        let request = get(method: .post)
        #expect(stores(response(200, ("Cache-Control", "max-age=60"), ("Content-Location", url)), request))
        #expect(stores(response(200, ("Cache-Control", "max-age=60"), ("Content-Location", "/picture.png")), request))
        #expect(stores(response(200, ("Expires", date(60)), ("Content-Location", "picture.png#x")), request))
        #expect(!stores(response(200, ("Cache-Control", "max-age=60")), request))
        #expect(!stores(response(200, ("Cache-Control", "max-age=60"), ("Content-Location", "/other")), request))
        #expect(!stores(response(200, ("Content-Location", url)), request))
        #expect(!stores(response(200, ("Cache-Control", "max-age=x"), ("Content-Location", url)), request))
        #expect(!stores(response(404, ("Cache-Control", "max-age=60"), ("Content-Location", url)), request))
        // s-maxage is explicit freshness for a shared cache only.
        let shared = response(200, ("Cache-Control", "s-maxage=60"), ("Content-Location", url))
        #expect(!stores(shared, request, privateRules) && stores(shared, request, sharedRules))
    }

    @Test func `a POST that is declared to ask only is stored with explicit freshness or an own lifetime`() {
        var request = get(method: .post)
        request.isSafeQuery = true
        #expect(stores(response(200, ("Cache-Control", "max-age=60")), request))
        #expect(!stores(response(200, ("ETag", "\"a\"")), request))
        request.freshnessOverride = FreshnessOverride(seconds: 60)
        #expect(stores(response(200, ("ETag", "\"a\"")), request))
    }

    @Test func `a refusal says why, and by which section`() {
        guard
            case .doNotStore(let refusal) = privateRules.storability(
                of: response(200, ("Cache-Control", "no-store")), to: get(), receivedAt: now)
        else {
            Issue.record("stored")
            return
        }
        #expect(refusal.description == "the response says no-store (RFC 9111 section 5.2.2.5)")
    }
}

@Suite("RFC 9111 sections 3.1 and 3.2: stored fields and their updates")
struct StoredFieldTests {
    @Test func `3.1: "MUST include all received response header fields — including unrecognized ones"`() {
        let answer = response(
            200, ("X-Unknown", "a"), ("x-unknown", "b"), ("Set-Cookie", "c=d"), ("Warning", "110 - \"x\""),
            ("Pragma", "no-cache"),
            ("Trailer", "Foo"), ("Date", date(0)))
        for rules in [privateRules, sharedRules] {
            #expect(rules.storableFields(of: answer.headerFields) == answer.headerFields)
        }
    }

    @Test func `3.2, 7.3: a cookie that an update sets is kept by a shared cache only when it is for all`() {
        let old = stored(("Cache-Control", "max-age=60"), ("ETag", "\"a\""))
        let forAll = stored(("Cache-Control", "public, max-age=60"), ("ETag", "\"a\""))
        func cookie(_ rules: CacheRules, _ stored: StoredResponse, _ more: (String, String)...) -> String? {
            rules.freshened(
                stored, by: fields([("Set-Cookie", "a=b")] + more), requestTime: now, responseTime: now
            ).fields[.setCookie]
        }
        #expect(cookie(privateRules, old) == "a=b")
        #expect(cookie(sharedRules, old) == nil)
        #expect(cookie(sharedRules, forAll) == "a=b")
        #expect(cookie(sharedRules, old, ("Cache-Control", "s-maxage=60")) == "a=b")
        #expect(cookie(sharedRules, forAll, ("Cache-Control", "max-age=60")) == nil)
    }

    @Test func `3.1, RFC 9110 7.6.1: Connection, what it names, and the other hop-by-hop fields are not stored`() {
        let answer = fields([
            ("Connection", "close, X-Hop"), ("connection", "\tX-Other , "), ("X-Hop", "1"), ("X-Other", "2"),
            ("X-End", "3"),
            ("Keep-Alive", "timeout=5"), ("Proxy-Connection", "close"), ("TE", "trailers"),
            ("Transfer-Encoding", "chunked"),
            ("Upgrade", "h2c"),
        ])
        #expect(privateRules.storableFields(of: answer).map(\.name.canonicalName) == ["x-end"])
    }

    @Test func `3.1: "Header fields that are specific to the proxy that a cache uses … MUST NOT be stored"`() {
        let answer = fields([
            ("Proxy-Authenticate", "Basic"), ("Proxy-Authentication-Info", "a"), ("Proxy-Authorization", "b"),
            ("Via", "1.1 x"),
        ])
        #expect(privateRules.storableFields(of: answer).map(\.name.canonicalName) == ["via"])
    }

    @Test func `5.2.2.7: "a shared cache MUST NOT store the listed header fields" of a qualified private`() {
        let answer = fields([
            ("Cache-Control", "private=\"Set-Cookie, X-User\""), ("set-cookie", "a"), ("X-USER", "b"), ("X", "c"),
        ])
        #expect(sharedRules.storableFields(of: answer).map(\.name.canonicalName) == ["cache-control", "x"])
        #expect(privateRules.storableFields(of: answer).count == 4)
    }

    @Test(arguments: ["private", "no-cache"])
    func `5.2.2.4, 5.2.2.7: the request that received the response keeps the fields that other requests do not get`(
        directive: String
    ) {
        let answer = fields([
            ("Cache-Control", "max-age=60, \(directive)=\"Set-Cookie, X-User, Connection, X-Request-ID\""),
            ("set-cookie", "a"), ("set-cookie", "b"), ("X-USER", "c"), ("X", "d"), ("Connection", "x-user"),
            ("X-Request-ID", "e"),
        ])
        func names(_ rules: CacheRules) -> [String] {
            let stored = rules.stored(
                HTTPResponse(status: .ok, headerFields: answer), to: get(), requestTime: now, responseTime: now)
            let old = HTTPTypes.HTTPFields([HTTPField(name: .eTag, value: "a")])
            let confirmed = rules.freshened(
                StoredResponse(requestURL: url, status: .ok, fields: old, requestTime: now, responseTime: now),
                by: answer, requestTime: now, responseTime: now)
            #expect(confirmed.requesterFields == stored.requesterFields)
            return stored.requesterFields.map(\.name.canonicalName)
        }
        #expect(names(sharedRules) == ["set-cookie", "set-cookie"])
        #expect(names(privateRules) == (directive == "private" ? [] : ["set-cookie", "set-cookie"]))
        #expect(sharedRules.requesterFields(of: fields([("Cache-Control", "private, no-cache"), ("X", "d")])).isEmpty)
    }

    @Test func `RFC 9110 6.6.1: a response without Date is stored with the time that it was received`() {
        let stored = privateRules.stored(
            response(200, ("ETag", "\"a\"")), to: get(), requestTime: now - 1, responseTime: now)
        #expect(stored.fields[.date] == date(0))
    }

    func freshen(_ old: StoredResponse, _ new: (String, String)..., rules: CacheRules = privateRules) -> StoredResponse
    {
        rules.freshened(old, by: fields(new), requestTime: now - 1, responseTime: now)
    }

    @Test
    func `3.2: "MUST add each header field in the provided response to the stored response, replacing field values"`() {
        let old = stored(
            ("ETag", "\"a\""), ("Cache-Control", "max-age=1"), ("Cache-Control", "public"), ("X-Old", "1"),
            ("Content-Type", "a/b"),
            ago: 100)
        let new = freshen(
            old, ("Cache-Control", "max-age=60"), ("X-New", "2"), ("X-New", "3"), ("Content-Type", "c/d"),
            ("Date", date(0)))
        #expect(new.fields[values: .cacheControl] == ["max-age=60"])
        #expect(new.fields[.contentType] == "c/d")
        #expect(new.fields.map(\.name.rawName).filter { $0.hasPrefix("X") } == ["X-Old", "X-New", "X-New"])
        #expect(new.fields[.eTag] == "\"a\"")
        #expect(new.fields[.date] == date(0))
        #expect(new.requestTime == now - 1 && new.responseTime == now)
        #expect(privateRules.freshness(of: new, at: now + 30).isFresh)
    }

    @Test func `3.2: Content-Length, and what says how the stored body was received, are not updated`() {
        let old = stored(("Content-Length", "1000"), ("Content-Encoding", "gzip"), ("Connection", "x"))
        let new = freshen(
            old, ("Content-Length", "0"), ("Content-Encoding", "br"), ("Content-Range", "bytes 0-0/1"),
            ("Connection", "X-Hop"),
            ("X-Hop", "1"), ("Proxy-Authenticate", "Basic"), ("Transfer-Encoding", "chunked"))
        #expect(new.fields[.contentLength] == "1000")
        #expect(new.fields[.contentEncoding] == "gzip")
        #expect(new.fields[.contentRange] == nil && new.fields[.proxyAuthenticate] == nil)
        #expect(new.fields[.transferEncoding] == nil)
        #expect(!new.fields.contains { $0.name.canonicalName == "x-hop" })
    }

    @Test func `4.2.3: an Age that was stored is not counted again after a 304 without one`() {
        let new = freshen(stored(("Age", "500"), ("Cache-Control", "max-age=60"), ago: 100))
        #expect(new.fields[.age] == nil)
        #expect(privateRules.freshness(of: new, at: now).age == 1)
        #expect(new.fields[.date] == date(0))
    }

    @Test
    func `3.2: an update makes an invalidated response usable again, and takes over the redirects that were followed`()
    {
        var old = stored(("Cache-Control", "max-age=60"), redirects: [StoredHead(status: .found, fields: HTTPFields())])
        old.isInvalidated = true
        let new = privateRules.freshened(old, by: HTTPFields(), redirects: [], requestTime: now, responseTime: now)
        #expect(!new.isInvalidated && new.redirects.isEmpty)
        #expect(privateRules.freshened(old, by: HTTPFields(), requestTime: now, responseTime: now).redirects.count == 1)
    }

    @Test func `3.2: a response with more fields than can be held updates nothing, and does no harm`() {
        var many = HTTPFields()
        for number in 0..<40_000 { many.append(HTTPField(name: .setCookie, value: "\(number)")) }
        var old = stored(("ETag", "\"a\""))
        old.fields.append(contentsOf: (0..<40_000).map { HTTPField(name: .via, value: "\($0)") })
        let new = privateRules.freshened(old, by: many, requestTime: now, responseTime: now)
        #expect(new.fields[.eTag] == "\"a\"" && !new.fields.contains(.setCookie))
    }
}
