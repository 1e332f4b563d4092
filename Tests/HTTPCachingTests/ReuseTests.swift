import Foundation
import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("RFC 9111 section 4: constructing responses from caches")
struct ReuseTests {
    let fresh = stored(("Cache-Control", "max-age=60"), ("ETag", "\"a\""))

    @Test func `4: nothing stored is forwarded`() {
        #expect(privateRules.decide(get(), stored: [], now: now).forwarded?.reason == .uriMiss)
    }

    @Test
    func `4: "the request method associated with the stored response allows it to be used for the presented request"`()
    {
        let head = stored(("Cache-Control", "max-age=60"), method: .head)
        let post = stored(("Cache-Control", "max-age=60"), ("Content-Location", url), method: .post)
        #expect(privateRules.word(get(), fresh) == "fresh")
        #expect(privateRules.decide(get(method: .head), stored: [fresh], now: now).served?.body == ServedBody.none)
        #expect(privateRules.word(get(method: .head), head) == "fresh")
        #expect(privateRules.word(get(), head) == "forward")
        #expect(privateRules.word(get(), post) == "fresh")
        #expect(privateRules.word(get(method: .head), post) == "fresh")
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "PATCH", "FOO"])
    func `4: "MUST write through requests with methods that are unsafe"`(method: String) throws {
        let request = get(method: try #require(HTTPRequest.Method(rawValue: method)))
        var other = fresh
        other.requestMethod = request.method
        #expect(privateRules.decide(request, stored: [fresh, other], now: now).forwarded?.reason == .method)
    }

    @Test func `a request that is declared to ask only is answered by what the same method stored`() {
        var request = get(method: .post)
        request.isSafeQuery = true
        let post = stored(("Cache-Control", "max-age=60"), method: .post)
        #expect(privateRules.word(request, post) == "fresh")
        #expect(privateRules.word(request, fresh) == "forward")
        #expect(
            privateRules.word(get(method: .query), stored(("Cache-Control", "max-age=60"), method: .query)) == "fresh")
    }

    @Test
    func `4: "the stored response does not contain the no-cache directive, unless it is successfully validated"`() {
        for rules in [privateRules, sharedRules] {
            #expect(
                rules.word(get(), stored(("Cache-Control", "no-cache, max-age=60"), ("ETag", "\"a\""))) == "validate")
            #expect(rules.word(get(), stored(("Cache-Control", "NO-CACHE, max-age=60"))) == "forward")
            #expect(rules.word(get(), stored(("Cache-Control", "no-cache=\"\", max-age=60"))) == "forward")
            #expect(
                rules.word(get(("Cache-Control", "max-stale")), stored(("Cache-Control", "no-cache, max-age=60")))
                    == "forward")
        }
    }

    @Test
    func `5.2.2.4: a qualified no-cache: used "if the listed header fields are excluded from the subsequent response"`()
        throws
    {
        let response = stored(
            ("Cache-Control", "no-cache=\"Set-Cookie, x-user\", max-age=60"), ("Set-Cookie", "a"), ("X-User", "b"),
            ("X", "c"))
        let served = try #require(privateRules.decide(get(), stored: [response], now: now).served)
        let names = privateRules.head(of: served, from: response).headerFields.map(\.name.canonicalName)
        #expect(!names.contains("set-cookie") && !names.contains("x-user") && names.contains("x"))
        // Successfully revalidated, they may be sent.
        let confirmed = try #require(privateRules.served(response, for: get(), now: now))
        #expect(
            privateRules.head(of: confirmed, from: response).headerFields.contains { $0.name.canonicalName == "x-user" }
        )
    }

    @Test
    func `7.3: a cookie of a stored response is for the client whose request received it, and for no other`() throws {
        for cookie in ["Set-Cookie", "set-cookie", "Set-Cookie2"] {
            let response = stored(("Cache-Control", "public, max-age=60"), (cookie, "session=1"), ("X", "c"))
            for rules in [privateRules, sharedRules] {
                let served = try #require(rules.decide(get(), stored: [response], now: now).served)
                let head = rules.head(of: served, from: response)
                #expect(head.headerFields.map(\.name.canonicalName).sorted() == ["age", "cache-control", "date", "x"])
            }
        }
    }

    @Test
    func `5.2.2.5: "MUST NOT use the response to satisfy any other request": a stored no-store is as good as absent`() {
        #expect(privateRules.word(get(), stored(("Cache-Control", "no-store, max-age=60"))) == "forward")
        #expect(
            privateRules.word(get(policy: .returnCacheDataElseLoad), stored(("Cache-Control", "no-store"))) == "forward"
        )
        #expect(privateRules.word(get(), stored(("Cache-Control", "must-understand, no-store, max-age=60"))) == "fresh")
    }

    @Test func `5.2.2.7: what a private cache stored in a common place is not used by a shared one`() {
        #expect(sharedRules.word(get(), stored(("Cache-Control", "private, max-age=60"))) == "forward")
        #expect(privateRules.word(get(), stored(("Cache-Control", "private, max-age=60"))) == "fresh")
    }

    @Test func `4: "When more than one suitable response is stored, a cache MUST use the most recent one" by Date`() {
        let old = stored(("Cache-Control", "max-age=600"), ("Date", date(-100)))
        let new = stored(("Cache-Control", "max-age=600"), ("Date", date(-50)), ago: 40)
        #expect(privateRules.decide(get(), stored: [old, new], now: now).served?.candidate == 1)
        #expect(privateRules.decide(get(), stored: [new, old], now: now).served?.candidate == 0)
        // Among responses with the same Date, the one that was received last is used.
        let later = stored(("Cache-Control", "max-age=600"), ("Date", date(-50)), ago: 10)
        #expect(privateRules.decide(get(), stored: [new, later], now: now).served?.candidate == 1)
    }

    @Test func `4: a stale response with neither validator nor permission is fetched anew`() {
        let stale = stored(("Cache-Control", "max-age=60"), ago: 100)
        let forward = privateRules.decide(get(), stored: [stale], now: now).forwarded
        #expect(forward?.reason == .stale && forward?.staleCandidate == 0)
    }

    @Test func `5.2.1.5: "the no-store request directive does not apply to the already stored response"`() {
        #expect(privateRules.word(get(("Cache-Control", "no-store")), fresh) == "fresh")
    }

    @Test(arguments: [203, 204, 300, 301, 404, 410, 451, 500])
    func `RFC 9111 3: a status other than 200 is served as it is stored`(status: Int) {
        let served = privateRules.decide(
            get(), stored: [stored(("Cache-Control", "max-age=60"), status: status)], now: now
        ).served
        #expect(served?.status.code == status)
    }
}

@Suite("RFC 9111 section 4.1: Vary")
struct VaryTests {
    func variant(_ vary: String, _ request: [(String, String)], ago: Double = 0) -> StoredResponse {
        stored(("Cache-Control", "max-age=600"), ("Vary", vary), ("ETag", "\"a\""), ago: ago, request: request)
    }

    @Test func `4.1: "MUST NOT use that stored response … unless all the presented request header fields … match"`() {
        let png = variant("Accept", [("Accept", "image/png")])
        #expect(privateRules.word(get(("Accept", "image/png")), png) == "fresh")
        #expect(
            privateRules.decide(get(("Accept", "image/webp")), stored: [png], now: now).forwarded?.reason == .varyMiss)
        #expect(privateRules.word(get(("Accept", "image/png"), ("Other", "x")), png) == "fresh")
    }

    @Test(arguments: ["X-Bytes", "Accept", "Accept-Language"])
    func `4.1: values that are no text match byte by byte`(name: String) throws {
        let name = try #require(HTTPField.Name(name))
        func request(_ bytes: [UInt8]...) -> HTTPFields {
            HTTPFields(bytes.map { HTTPField(name: name, lenientValue: $0) })
        }
        let vary: HTTPFields = [.vary: name.rawName]
        let values = [
            request([0xFF, 0x61]), request([0xFE, 0x61]), request([0xFF], [0x61]), request([0xC3, 0xBF, 0x61]),
            request([0xEF, 0xBF, 0xBD, 0x61]),
        ]
        #expect(Set(values.map { sharedRules.variantKey(of: $0, for: vary) }).count == values.count)
        for (index, one) in values.enumerated() {
            var old = variant(name.rawName, [])
            old.selectingFields = sharedRules.selectingFields(of: one, for: vary)
            for (other, fields) in values.enumerated() {
                var asked = get()
                asked.fields = fields
                #expect((sharedRules.word(asked, old) == "fresh") == (index == other))
            }
        }
    }

    @Test func `4.1: all of several fields, on several lines, in any letter case`() {
        let both = stored(
            ("Cache-Control", "max-age=600"), ("Vary", "X-One"), ("vary", " , x-TWO"),
            request: [("X-One", "1"), ("X-Two", "2")])
        #expect(privateRules.word(get(("X-Two", "2"), ("x-one", "1")), both) == "fresh")
        #expect(privateRules.word(get(("X-One", "1")), both) == "forward")
        #expect(privateRules.word(get(("X-One", "1"), ("X-Two", "3")), both) == "forward")
    }

    @Test func `4.1: "it can only match another request if it is also absent there"`() {
        #expect(privateRules.word(get(), variant("X", [])) == "fresh")
        #expect(privateRules.word(get(("X", "")), variant("X", [])) == "forward")
        #expect(privateRules.word(get(), variant("X", [("X", "")])) == "forward")
    }

    @Test(arguments: ["*", "Accept, *", "*, Accept", " * "])
    func `4.1: "a member "*" always fails to match"`(vary: String) {
        #expect(privateRules.decide(get(), stored: [variant(vary, [])], now: now).forwarded?.reason == .varyMiss)
        #expect(privateRules.variantKey(of: HTTPFields(), for: fields([("Vary", vary)])) == nil)
    }

    @Test(
        arguments: [
            ("Accept-Encoding", ["gzip, br"], ["gzip", "br"], true),
            ("Accept-Encoding", ["gzip, br"], ["br,gzip"], true),
            ("Accept-Encoding", ["GZIP;q=1.0"], ["gzip; q=1.0"], true),
            ("Accept-Encoding", ["gzip"], ["gzip, br"], false),
            ("Accept", ["text/html, image/png"], ["image/png,text/html"], true),
            ("Accept", ["a/b;x=\"A B\""], ["a/b;x=\"A  B\""], false),
            ("Accept-Language", ["de-CH;q=0.50, en"], ["EN ; Q=1.000,de-ch; q=0.5"], true),
            ("Accept-Language", ["de;q=0.5, en;q=0.5"], ["en;q=0.5, de;q=0.5"], false),
            ("Accept-Language", ["de;q=0.5, en;q=0.4"], ["de;q=0.4, en;q=0.5"], false),
            ("Accept", ["Image/WebP;Q=0.8, */*"], ["*/*;q=1, image/webp;q=0.80"], true),
            ("Accept", ["a/b;Level=A"], ["a/b;level=A"], true), ("Accept", ["a/b;x=A"], ["a/b;x=a"], false),
            ("Accept-Encoding", ["gzip;q=0"], ["gzip"], false), ("Accept-Encoding", ["gzip;q=2"], ["gzip"], false),
            ("Accept-Language", ["de, en"], ["de,EN"], true), ("Accept-Language", ["de, en"], ["en, de"], false),
            ("X-Any", ["a, b"], ["a", "b"], true), ("X-Any", ["a"], ["A"], false), ("X-Any", ["a,b"], ["b,a"], false),
            ("X-Any", ["\u{e9}"], ["e\u{301}"], false),
            ("User-Agent", ["x (a, b)"], ["x (a,b)"], false), ("Cookie", ["a=1"], ["a=2"], false),
        ] as [(String, [String], [String], Bool)])
    func `4.1: "combining multiple header field lines", whitespace, order and letter case where they mean nothing`(
        name: String, one: [String], other: [String], matches: Bool
    ) {
        let response = variant(name, one.map { (name, $0) })
        let request = CacheRequest(url: url, fields: fields(other.map { (name, $0) }))
        #expect((privateRules.word(request, response) == "fresh") == matches)
        let varying = fields([("Vary", name)])
        let keys = [one, other].map { privateRules.variantKey(of: fields($0.map { (name, $0) }), for: varying) }
        #expect((keys[0] == keys[1]) == matches)
    }

    @Test func `4.1: several variants lie side by side, and the matching one is chosen`() {
        let variants = ["png", "webp", "avif"].map { variant("Accept", [("Accept", "image/" + $0)]) }
        for (index, type) in ["png", "webp", "avif"].enumerated() {
            let decision = privateRules.decide(get(("Accept", "image/" + type)), stored: variants, now: now)
            #expect(decision.served?.candidate == index)
        }
    }

    @Test
    func
        `4.1: "one or more omits the Vary header field …: choose the most recent … stored response with a valid Vary field value"`()
    {
        let without = stored(("Cache-Control", "max-age=600"))
        let with = variant("Accept", [], ago: 100)
        #expect(privateRules.decide(get(), stored: [without, with], now: now).served?.candidate == 1)
        // One that does not match is not chosen for that.
        #expect(privateRules.decide(get(("Accept", "x")), stored: [without, with], now: now).served?.candidate == 0)
    }

    @Test func `4.1: the request fields that are kept are those that Vary names, of redirects too`() {
        let request = fields([("Accept", "a"), ("Accept", "b"), ("Cookie", "c"), ("X", "d")])
        let hop = StoredHead(status: .found, fields: fields([("Vary", "x")]))
        func kept(_ vary: String?, _ redirects: [StoredHead] = []) -> [String: Bool] {
            let response = vary.map { fields([("Vary", $0)]) } ?? HTTPFields()
            let kept = privateRules.selectingFields(of: request, for: response, redirects: redirects)
            return Dictionary(uniqueKeysWithValues: kept.values.map { ($0.name, $0.digest != nil) })
        }
        #expect(kept("accept, Foo") == ["accept": true, "foo": false])
        #expect(kept(nil, [hop]) == ["x": true])
        #expect(kept(nil).isEmpty && kept("*").isEmpty && kept("\"a b\"").isEmpty)
    }

    @Test func `of the fields that Vary names nothing is kept that could be read`() throws {
        let secret = "Basic dXNlcjpwYXNzd29yZA=="
        let response = fields([("Vary", "Authorization, Cookie"), ("Cache-Control", "max-age=60")])
        let request = get(("Authorization", secret), ("Cookie", "session=\(secret)"))
        let kept = privateRules.stored(
            HTTPResponse(status: .ok, headerFields: response), to: request, requestTime: now, responseTime: now)
        #expect(!String(reflecting: kept).contains("dXNlcjpwYXNzd29yZA"))
        let key = try #require(privateRules.variantKey(of: request.fields, for: response))
        #expect(key.hasPrefix("authorization,cookie\n") && !key.contains(secret))
        #expect(privateRules.word(request, kept) == "fresh")
        #expect(privateRules.variantKey(of: kept) == key)
    }

    @Test func `the key of a variant can be made for a request from the names in another variant's key`() throws {
        let vary = fields([("Vary", "B, a")])
        let key = try #require(privateRules.variantKey(of: fields([("A", "1")]), for: vary))
        let names = try #require(key.split(separator: "\n").first)
        for other in [[("A", "1")], [("A", "2")], [("B", "1"), ("A", "1")], []] {
            let request = fields(other)
            #expect(CacheRules.variantKey(names, of: request) == privateRules.variantKey(of: request, for: vary))
        }
    }

    @Test func `a response that names too many fields counts as one that varies on everything`() {
        func names(_ count: Int, _ first: Int = 0) -> String {
            (first..<first + count).map { "x-\($0)" }.joined(separator: ", ")
        }
        let most = CacheRules.mostVaryMembers
        let (few, many) = (fields([("Vary", names(most))]), fields([("Vary", names(most)), ("Vary", "y")]))
        #expect(privateRules.selectingNames(of: few).count == most)
        #expect(privateRules.variantKey(of: HTTPFields(), for: few) != nil)
        #expect(privateRules.selectingNames(of: many) == ["*"])
        #expect(privateRules.variantKey(of: HTTPFields(), for: many) == nil)
        #expect(privateRules.selectingFields(of: HTTPFields(), for: many).values.isEmpty)
        for (varying, isSelected) in [(few, true), (many, false)] {
            let stored = StoredResponse(
                requestURL: url, status: .ok, fields: varying, requestTime: now, responseTime: now)
            #expect(privateRules.isSelected(stored, by: HTTPFields()) == isSelected)
        }
        // Redirects count together, and one that varies on too much is asked again each time.
        let hops = (0..<2).map { StoredHead(status: .found, fields: fields([("Vary", names(60, $0 * 60))])) }
        #expect(privateRules.variantKey(of: HTTPFields(), for: HTTPFields(), redirects: hops) == nil)
    }

    @Test func `the fields that responses name in turn do not collect in a record`() {
        var response = stored(("Vary", "x-0"), ("ETag", "\"1\""))
        for round in 1..<50 {
            let names = (0..<60).map { "x-\(round)-\($0)" }.joined(separator: ",")
            response = privateRules.freshened(
                response, by: fields([("Vary", names)]), request: HTTPFields(), requestTime: now, responseTime: now)
            #expect(response.selectingFields.values.count <= CacheRules.mostVaryMembers)
            #expect(privateRules.variantKey(of: response) != nil)
        }
    }

    @Test func `a Vary that a 304 brings selects by the request that it answered`() throws {
        let old = stored(("Cache-Control", "max-age=1"), ("ETag", "\"1\""), ago: 100)
        let request = get(("Accept-Language", "de"))
        let validation = try #require(privateRules.decide(request, stored: [old], now: now).validation)
        let outcome = privateRules.afterNotModified(
            response(304, ("ETag", "\"1\""), ("Vary", "Accept-Language"), ("Cache-Control", "max-age=60")),
            validation: validation, stored: [old], request: request, requestTime: now, responseTime: now)
        guard case .refreshed(let refreshed) = outcome, let new = refreshed.first?.response else {
            Issue.record("\(outcome)")
            return
        }
        #expect(privateRules.word(request, new) == "fresh")
        #expect(privateRules.word(get(), new) == "forward")
        // Another one that the 304 confirmed was requested with an unknown value: it is not served.
        var unknown = new
        unknown.selectingFields = SelectingFields()
        #expect(privateRules.word(request, unknown) == "forward" && privateRules.variantKey(of: unknown) == nil)
    }

    @Test func `4.1: a variant's key is the same exactly when the selecting fields match, whatever their text`() {
        func key(_ vary: String, _ pairs: (String, String)...) -> String? {
            privateRules.variantKey(of: fields(pairs), for: fields([("Vary", vary)]))
        }
        #expect(key("A, B") == key("b,a"))
        #expect(key("A", ("A", "1\tb=1:x")) != key("A, B", ("A", "1"), ("B", "x")))
        #expect(key("A") != key("A", ("A", "")))
        #expect(key("A, B", ("A", "x")) != key("A, B", ("B", "x")))
    }
}
