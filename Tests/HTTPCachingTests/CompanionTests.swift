import Foundation
import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("RFC 9111 section 4.4: invalidation")
struct InvalidationTests {
    func urls(_ method: String, _ status: Int = 200, _ pairs: (String, String)..., url: String = url) -> [String] {
        guard let method = HTTPRequest.Method(rawValue: method) else { return ["?"] }
        let answer = HTTPResponse(status: .init(code: status), headerFields: fields(pairs))
        return privateRules.urlsInvalidated(by: answer, to: get(method: method, url: url))
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "PATCH", "FOO", "get"])
    func `4.4: "MUST invalidate the target URI … an unsafe request method (including methods whose safety is unknown)"`(
        method: String
    ) {
        #expect(urls(method) == [url])
    }

    @Test(arguments: ["GET", "HEAD", "OPTIONS", "TRACE", "QUERY", "CONNECT"])
    func `RFC 9110 9.2.1: safe methods invalidate nothing`(method: String) {
        #expect(urls(method).isEmpty)
    }

    @Test func `4.4: "A non-error response is one with a 2xx or 3xx status code"`() {
        for status in [200, 201, 204, 299, 301, 303, 399] { #expect(urls("POST", status) == [url]) }
        for status in [100, 199, 400, 404, 409, 500, 503] { #expect(urls("POST", status).isEmpty) }
    }

    @Test
    func
        `4.4: "the URI(s) in the Location and Content-Location response header fields … are candidates", relative ones too`()
    {
        #expect(
            urls("POST", 201, ("Location", "/new"), ("Content-Location", "other")) == [
                url, "https://example.org/new", "https://example.org/other",
            ])
        #expect(urls("PUT", 200, ("Location", "HTTPS://EXAMPLE.org:443/new#x")) == [url, "https://example.org/new"])
        #expect(urls("PUT", 200, ("Location", url)) == [url])
        #expect(urls("PUT", 200, ("Location", "?x=1")) == [url, url + "?x=1"])
        #expect(urls("PUT", 200, ("Location", "//example.org/y")) == [url, "https://example.org/y"])
    }

    @Test(arguments: [
        "https://example.com/new", "http://example.org/new", "https://example.org:8443/new", "//evil.org/new",
        "https://www.example.org/",
        "mailto:a@b", "https://example.org.evil.org/",
    ])
    func `4.4: "MUST NOT trigger an invalidation … if the origin … differs"`(location: String) {
        #expect(urls("POST", 201, ("Location", location)) == [url])
    }

    @Test func `4.4: what is invalidated is the normalised target; a declared query invalidates nothing`() {
        #expect(urls("POST", url: "HTTP://Example.org:80/a/../b#c") == ["http://example.org/b"])
        var query = get(method: .post)
        query.isSafeQuery = true
        #expect(privateRules.urlsInvalidated(by: response(200), to: query).isEmpty)
    }

    @Test func `4.4: "mark them as "invalid" and in need of a mandatory validation"`() {
        var response = stored(("Cache-Control", "max-age=60, stale-while-revalidate=60"), ("ETag", "\"a\""))
        response.isInvalidated = true
        #expect(privateRules.word(get(), response) == "validate")
        #expect(privateRules.word(get(("Cache-Control", "max-stale")), response) == "validate")
        #expect(privateRules.word(get(own: FreshnessOverride(seconds: 60)), response) == "validate")
        #expect(!privateRules.mayServeStale(response, after: .unreachable, for: get(), now: now))
    }
}

@Suite("RFC 9213: targeted cache control")
struct TargetedFieldTests {
    func lifetime(_ pairs: (String, String)..., rules: CacheRules = sharedRules) -> Int {
        var response = stored()
        response.fields.append(contentsOf: fields(pairs))
        return rules.freshness(of: response, at: now).lifetime
    }

    @Test
    func
        `2.2: "MUST select the first … field with a valid, non-empty value" and "MUST ignore the Cache-Control and Expires"`()
    {
        #expect(lifetime(("CDN-Cache-Control", "max-age=60"), ("Cache-Control", "max-age=10")) == 60)
        #expect(lifetime(("cdn-cache-control", "public"), ("Expires", date(60))) == 0)
        #expect(lifetime(("CDN-Cache-Control", "max-age=60"), ("Cache-Control", "no-store, no-cache, private")) == 60)
        let rules = CacheRules(mode: .shared, targetedFieldNames: ["example-cache-control", "cdn-cache-control"])
        #expect(
            lifetime(("CDN-Cache-Control", "max-age=60"), ("Example-Cache-Control", "max-age=30"), rules: rules) == 30)
        #expect(
            lifetime(("CDN-Cache-Control", "max-age=60"), ("Example-Cache-Control", "max-age=\u{e9}"), rules: rules)
                == 60)
    }

    @Test
    func `2.2: "not on a cache's target list MUST NOT change that cache's behavior and MUST be passed through"`() {
        #expect(
            lifetime(("CDN-Cache-Control", "max-age=60"), ("Cache-Control", "max-age=10"), rules: privateRules) == 10)
        #expect(lifetime(("Foo-Cache-Control", "max-age=60"), ("Cache-Control", "max-age=10")) == 10)
        let all = fields([("CDN-Cache-Control", "max-age=60"), ("Foo-Cache-Control", "no-store")])
        #expect(sharedRules.storableFields(of: all) == all && privateRules.storableFields(of: all) == all)
    }

    @Test(arguments: [
        "", " ", "max-age=", "max-age=60,", "Max-Age=60", "max-age=60 s-maxage=5", "max-age=60;", "max-age=\"60",
        "max-age=60, =", "@",
        "max-age=60, foo=(", "max-age=9999999999999999", "max-age=60,, public",
    ])
    func `2.1: "If a targeted field … is empty, or a parsing error is encountered, that field MUST be ignored"`(
        value: String
    ) {
        #expect(lifetime(("CDN-Cache-Control", value), ("Cache-Control", "max-age=10")) == 10)
    }

    @Test func `2.1: a field that is too long to be read is ignored, on one line or on many`() {
        let members = (0..<2000).map { "k\($0)" }
        let lines = (members + ["max-age=60"]).map { ("CDN-Cache-Control", $0) }
        let long = [("CDN-Cache-Control", members.joined(separator: ",") + ",max-age=60")]
        for pairs in [lines, long] {
            let answer = HTTPResponse(
                status: .ok, headerFields: fields(pairs + [("Cache-Control", "max-age=10")]))
            guard case .store(let terms) = sharedRules.storability(of: answer, to: get(), receivedAt: now) else {
                Issue.record("the response is storable")
                continue
            }
            #expect(terms.lifetime == 10)
        }
    }

    @Test
    func `2.1: the structured field: last of a key, lines joined, parameters "to be ignored", unknown directives too`()
    {
        #expect(lifetime(("CDN-Cache-Control", "max-age=30, max-age=60")) == 60)
        #expect(lifetime(("CDN-Cache-Control", "public"), ("CDN-Cache-Control", "max-age=60")) == 60)
        #expect(lifetime(("CDN-Cache-Control", "max-age=60;foo=bar")) == 60)
        #expect(lifetime(("CDN-Cache-Control", "foo=(a b), bar=:AA==:, max-age=60")) == 60)
    }

    @Test func `2.1: "SHOULD NOT consume values that violate these inferred constraints"`() {
        for value in ["max-age=60.5", "max-age=\"60\"", "max-age", "max-age=-60", "max-age=(60)", "max-age=sixty"] {
            #expect(lifetime(("CDN-Cache-Control", value), ("Cache-Control", "max-age=10")) == 0, "\(value)")
        }
        #expect(
            storable("no-store=1, max-age=60") && !storable("no-store=?1, max-age=60")
                && storable("no-store=?0, max-age=60"))
    }

    @Test func `1.2.2 of RFC 9111: a great number counts as 2147483648`() {
        #expect(lifetime(("CDN-Cache-Control", "max-age=999999999999999")) == 2_147_483_648)
    }

    func storable(_ value: String) -> Bool {
        sharedRules.storability(
            of: response(200, ("CDN-Cache-Control", value), ("Cache-Control", "no-store")), to: get(), receivedAt: now
        )
        .isStorable
    }

    @Test
    func
        `2.2: "MUST implement … max-age, must-revalidate, no-store, no-cache, private", and others that are supported`()
    {
        #expect(storable("max-age=60") && storable("none"))
        #expect(!storable("no-store") && !storable("private") && storable("private=\"set-cookie\""))
        func word(_ value: String, ago: Double = 0) -> String {
            sharedRules.word(get(), stored(("CDN-Cache-Control", value), ("ETag", "\"a\""), ago: ago))
        }
        #expect(word("max-age=60, no-cache") == "validate")
        #expect(word("max-age=60, no-cache=\"x-user\"") == "fresh")
        #expect(word("max-age=60, stale-while-revalidate=60", ago: 70) == "stale+refresh")
        #expect(word("max-age=60, stale-while-revalidate=60, must-revalidate", ago: 70) == "validate")
        #expect(word("max-age=60, stale-while-revalidate=60, proxy-revalidate", ago: 70) == "validate")
        #expect(word("max-age=10, s-maxage=60", ago: 30) == "fresh")
    }

    @Test func `2.2: the fields that a targeted private names are not stored`() {
        let answer = fields([("CDN-Cache-Control", "max-age=60, private=\"x-user\""), ("X-User", "a")])
        #expect(!sharedRules.storableFields(of: answer).contains { $0.name.canonicalName == "x-user" })
    }
}

@Suite("RFC 9211: Cache-Status")
struct CacheStatusTests {
    func status(_ request: CacheRequest = get(), _ stored: StoredResponse...) -> String {
        privateRules.decide(request, stored: stored, now: now).cacheStatus("imgcache").description
    }

    let fresh = stored(("Cache-Control", "max-age=60"), ("ETag", "\"a\""), ago: 10)
    let stale = stored(("Cache-Control", "max-age=60"), ("ETag", "\"a\""), ago: 100)

    @Test func `2.1, 2.4: a hit, with its remaining lifetime, negative when stale`() {
        #expect(status(get(), fresh) == "imgcache; hit; ttl=50")
        #expect(status(get(("If-None-Match", "*")), fresh) == "imgcache; hit; ttl=50")
        #expect(status(get(("Cache-Control", "max-stale")), stale) == "imgcache; hit; ttl=-40; detail=max-stale")
        let swr = stored(("Cache-Control", "max-age=60, stale-while-revalidate=60"), ago: 100)
        #expect(status(get(), swr) == "imgcache; hit; ttl=-40; detail=stale-while-revalidate")
    }

    @Test func `2.2: "The most specific reason known to the cache SHOULD be used"`() {
        #expect(status(get(policy: .reloadIgnoringLocalCacheData), fresh) == "imgcache; fwd=bypass")
        #expect(status(get(method: .post), fresh) == "imgcache; fwd=method")
        #expect(status() == "imgcache; fwd=uri-miss")
        #expect(status(get(), stored(("Vary", "*"))) == "imgcache; fwd=vary-miss")
        #expect(status(get(("Cache-Control", "no-cache")), fresh) == "imgcache; fwd=request")
        #expect(status(get(), stale) == "imgcache; fwd=stale")
        #expect(
            status(get(), stored(("Cache-Control", "max-age=60"), extent: .partial(held: [0..<1], total: 2)))
                == "imgcache; fwd=partial")
    }

    @Test func `2.3, 2.5, 2.6, 2.7: what became of a forwarded request; "hit" and "fwd" are exclusive`() {
        var status = privateRules.decide(get(), stored: [stale], now: now).cacheStatus()
        status.forwardStatus = 304
        status.stored = true
        status.collapsed = true
        status.hit = true
        status.timeToLive = 60
        status.key = "GET - - \"é\\"
        #expect(
            status.description
                == "imgcache; fwd=stale; fwd-status=304; stored; collapsed; ttl=60; key=\"GET - - \\\"%C3%A9\\\\\"")
        // Without fwd they mean nothing.
        #expect(
            CacheStatus(cache: "a", hit: true, forwardStatus: 200, stored: true, collapsed: true).description
                == "a; hit")
    }

    @Test func `2: "this identifier MUST be a String or Token"; 2.8: detail is either`() {
        #expect(CacheStatus(cache: "CDN Company", hit: true).description == "\"CDN Company\"; hit")
        #expect(CacheStatus(cache: "", hit: true, detail: "a b").description == "\"\"; hit; detail=\"a b\"")
        #expect(
            CacheStatus(cache: "cache-3.example.com", detail: "memory").description
                == "cache-3.example.com; detail=memory")
    }

    @Test func `2: "caches SHOULD preserve the existing field value"; the last member is the nearest to the user`() {
        let status = CacheStatus(cache: "imgcache", hit: true)
        #expect(status.appended(to: "Origin; hit") == "Origin; hit, imgcache; hit")
        #expect(status.appended(to: nil) == "imgcache; hit" && status.appended(to: "") == "imgcache; hit")
    }

    @Test func `a request that wanted only what is stored says so`() {
        #expect(status(get(("Cache-Control", "only-if-cached"))) == "imgcache; detail=only-if-cached")
        #expect(status(get(policy: .returnCacheDataDontLoad)) == "imgcache; detail=cache-only")
    }
}
