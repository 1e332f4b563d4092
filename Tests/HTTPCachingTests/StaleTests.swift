import Foundation
import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("RFC 9111 section 5.2.1: request directives")
struct RequestDirectiveTests {
    let tag = ("ETag", "\"a\"")

    func word(_ directive: String, lifetime: Int, age: Double, rules: CacheRules = privateRules, extra: String = "")
        -> String
    {
        rules.word(
            get(("Cache-Control", directive)), stored(("Cache-Control", "max-age=\(lifetime)" + extra), tag, ago: age))
    }

    @Test
    func `5.2.1.1: max-age: "prefers a response whose age is less than or equal to the specified number of seconds"`() {
        #expect(word("max-age=30", lifetime: 60, age: 30) == "fresh")
        #expect(word("max-age=30", lifetime: 60, age: 31) == "validate")
        #expect(word("max-age=0", lifetime: 60, age: 0) == "fresh")
        #expect(word("max-age=\"30\"", lifetime: 60, age: 31) == "validate")
        #expect(word("max-age=x", lifetime: 60, age: 0) == "validate")
        #expect(word("max-age=9999", lifetime: 60, age: 61) == "validate")
        #expect(
            privateRules.decide(
                get(("Cache-Control", "max-age=1")), stored: [stored(("Cache-Control", "max-age=60"), tag, ago: 2)],
                now: now
            ).validation?.reason == .request)
    }

    @Test func `5.2.1.2: max-stale: "by no more than the specified number of seconds", without a value "of any age"`() {
        #expect(word("max-stale=10", lifetime: 60, age: 70) == "stale")
        #expect(word("max-stale=10", lifetime: 60, age: 71) == "validate")
        #expect(word("max-stale", lifetime: 60, age: 1_000_000) == "stale")
        #expect(word("MAX-STALE=\"10\"", lifetime: 60, age: 70) == "stale")
        #expect(word("max-stale=x", lifetime: 60, age: 61) == "validate")
        #expect(word("max-stale, max-stale=10", lifetime: 60, age: 75) == "validate")
        #expect(word("max-stale=20, max-stale=10", lifetime: 60, age: 75) == "validate")
        #expect(word("max-stale=99999999999999999999", lifetime: 60, age: 75) == "stale")
    }

    @Test func `5.2.1.1, 5.2.1.2: max-age with max-stale`() {
        #expect(word("max-age=100, max-stale=50", lifetime: 60, age: 90) == "stale")
        #expect(word("max-age=80, max-stale=50", lifetime: 60, age: 90) == "validate")
    }

    @Test func `5.2.1.3: min-fresh: "will still be fresh for at least the specified number of seconds"`() {
        #expect(word("min-fresh=30", lifetime: 60, age: 30) == "fresh")
        #expect(word("min-fresh=30", lifetime: 60, age: 31) == "validate")
        #expect(word("min-fresh=x", lifetime: 60, age: 0) == "validate")
    }

    @Test func `5.2.1.4: no-cache: "not be used … without successful validation"`() {
        #expect(word("no-cache", lifetime: 60, age: 0) == "validate")
        #expect(word("no-cache, max-stale", lifetime: 60, age: 100) == "validate")
    }

    @Test func `5.4: Pragma: no-cache counts where there is no Cache-Control`() {
        let response = stored(("Cache-Control", "max-age=60"), tag)
        #expect(privateRules.word(get(("Pragma", "no-cache")), response) == "validate")
        #expect(privateRules.word(get(("Pragma", "foo, NO-CACHE")), response) == "validate")
        #expect(privateRules.word(get(("Pragma", "foo")), response) == "fresh")
        #expect(privateRules.word(get(("Pragma", "no-cache"), ("Cache-Control", "foo")), response) == "fresh")
    }

    @Test
    func `5.2.1.7: only-if-cached: "a stored response consistent with the other constraints of the request or a 504"`()
    {
        #expect(word("only-if-cached", lifetime: 60, age: 0) == "fresh")
        #expect(word("only-if-cached", lifetime: 60, age: 61) == "fail")
        #expect(word("only-if-cached, max-stale", lifetime: 60, age: 61) == "stale")
        #expect(word("only-if-cached, max-age=5", lifetime: 60, age: 6) == "fail")
        #expect(word("only-if-cached", lifetime: 60, age: 70, extra: ", stale-while-revalidate=30") == "stale+refresh")
        let decision = privateRules.decide(get(("Cache-Control", "only-if-cached")), stored: [], now: now)
        #expect(decision == .fail(CacheFailure(reason: .onlyIfCached, missing: .uriMiss)))
    }

    @Test func `5.2.1.6 and 5.2.3: no-transform and unknown directives change no decision`() {
        #expect(word("no-transform, foo=\"bar\", max-ages=0", lifetime: 60, age: 0) == "fresh")
        #expect(RequestDirectives(fields([("Cache-Control", "no-transform")])).noTransform)
    }
}

@Suite("RFC 9111 section 4.2.4, RFC 5861: serving stale responses")
struct StaleTests {
    func response(_ cacheControl: String, ago: Double = 100) -> StoredResponse {
        stored(("Cache-Control", cacheControl), ("ETag", "\"a\""), ago: ago)
    }

    func may(
        _ cacheControl: String, _ failure: OriginFailure = .unreachable, request: CacheRequest = get(),
        rules: CacheRules = privateRules, ago: Double = 100
    ) -> Bool {
        rules.mayServeStale(response(cacheControl, ago: ago), after: failure, for: request, now: now)
    }

    static let forbidding: [(String, Bool, Bool)] = [
        // directive, forbids in a private cache, in a shared cache
        ("must-revalidate", true, true), ("no-cache", true, true), ("proxy-revalidate", false, true),
        ("s-maxage=60", false, true),
        ("s-maxage=x", false, true), ("public", false, false), ("MUST-REVALIDATE", true, true),
        ("must-revalidate=x", true, true),
        ("no-cache=\"x\"", false, false), ("immutable", false, false),
    ]

    @Test(arguments: forbidding)
    func `4.2.4: "MUST NOT generate a stale response if it is prohibited by an explicit in-protocol directive"`(
        directive: String, inPrivate: Bool, inShared: Bool
    ) {
        let value = "max-age=60, stale-while-revalidate=1000, stale-if-error=1000, " + directive
        for (rules, isForbidden) in [(privateRules, inPrivate), (sharedRules, inShared)] {
            #expect(
                rules.word(get(("Cache-Control", "max-stale")), response(value)) == (isForbidden ? "validate" : "stale")
            )
            #expect(
                rules.word(get(policy: .maxStale(seconds: nil)), response(value))
                    == (isForbidden ? "validate" : "stale"))
            #expect(rules.word(get(), response(value)) == (isForbidden ? "validate" : "stale+refresh"))
            #expect(may(value, rules: rules) == !isForbidden)
            #expect(may(value, .status(500), rules: rules) == !isForbidden)
            #expect(may(value, request: get(("Cache-Control", "stale-if-error=9999")), rules: rules) == !isForbidden)
        }
    }

    @Test func `5.2.2.2, 5.2.2.8, 5.2.2.10: what forbids stale responses does not make fresh ones stale`() {
        #expect(privateRules.word(get(), response("max-age=600, must-revalidate, proxy-revalidate")) == "fresh")
        #expect(sharedRules.word(get(), response("s-maxage=600, must-revalidate, proxy-revalidate")) == "fresh")
    }

    @Test
    func `4.2.4: "MUST NOT generate a stale response unless it is disconnected or doing so is explicitly permitted"`() {
        #expect(privateRules.word(get(), response("max-age=60")) == "validate")
        #expect(may("max-age=60"))
        #expect(!may("max-age=60", .status(500)))
    }

    @Test func `4.3.3: a 5xx to a validation is "as if the server failed to respond" only where the cache is set to`() {
        let lenient = CacheRules(treatsServerErrorAsUnreachable: true)
        for status in [500, 502, 503, 504] { #expect(may("max-age=60", .status(.init(code: status)), rules: lenient)) }
        for status in [400, 404, 410, 429, 501, 505] {
            #expect(!may("max-age=60", .status(.init(code: status)), rules: lenient))
        }
    }

    @Test
    func `RFC 5861 3: stale-while-revalidate: "after it becomes stale, up to the indicated number of seconds"`() throws
    {
        #expect(privateRules.word(get(), response("max-age=60, stale-while-revalidate=30", ago: 59)) == "fresh")
        #expect(privateRules.word(get(), response("max-age=60, stale-while-revalidate=30", ago: 60)) == "stale+refresh")
        #expect(privateRules.word(get(), response("max-age=60, stale-while-revalidate=30", ago: 90)) == "stale+refresh")
        let decision = privateRules.decide(
            get(), stored: [response("max-age=60, stale-while-revalidate=30", ago: 61)], now: now)
        #expect(decision.validation?.fields == [.ifNoneMatch: "\"a\""])
        #expect(decision.served?.staleness == .whileRevalidating && decision.served?.remainingLifetime == -1)
    }

    @Test func `RFC 5861 3: "If delta-seconds passes …, it SHOULD NOT continue to be served stale"`() {
        #expect(privateRules.word(get(), response("max-age=60, stale-while-revalidate=30", ago: 91)) == "validate")
        #expect(privateRules.word(get(), response("max-age=60, stale-while-revalidate=x", ago: 61)) == "validate")
        #expect(privateRules.word(get(), response("max-age=60, stale-while-revalidate", ago: 61)) == "validate")
    }

    @Test(arguments: ["no-cache", "max-age=10", "min-fresh=1"])
    func `RFC 5861 3: a request that wants something fresher is not served stale meanwhile`(directive: String) {
        let request = get(("Cache-Control", directive))
        #expect(privateRules.word(request, response("max-age=60, stale-while-revalidate=30", ago: 61)) == "validate")
    }

    @Test func `RFC 5861 3: what has no validator is refreshed by fetching it anew`() {
        let bare = stored(("Cache-Control", "max-age=60, stale-while-revalidate=30"), ago: 61)
        let decision = privateRules.decide(get(), stored: [bare], now: now)
        #expect(decision.word == "stale+refresh" && decision.validation?.fields.isEmpty == true)
    }

    @Test func `RFC 5861 4: stale-if-error in a response: "the upper limit to staleness"`() {
        for failure in [OriginFailure.unreachable, .status(500), .status(502), .status(503), .status(504)] {
            #expect(may("max-age=60, stale-if-error=40", failure))
            #expect(!may("max-age=60, stale-if-error=39", failure))
        }
    }

    @Test func `RFC 5861 4: "a 500, 502, 503 or 504" and no other status is an error`() {
        for status in [200, 304, 400, 403, 404, 429, 501, 505, 511] {
            #expect(!may("max-age=60, stale-if-error=1000", .status(.init(code: status))))
        }
    }

    @Test func `RFC 5861 4: stale-if-error in a request: "its scope of application is the request it appears in"`() {
        #expect(may("max-age=60", .status(500), request: get(("Cache-Control", "stale-if-error=40"))))
        #expect(!may("max-age=60", .status(500), request: get(("Cache-Control", "stale-if-error=39"))))
        #expect(!may("max-age=60", .unreachable, request: get(("Cache-Control", "stale-if-error=39"))))
        #expect(may("max-age=60, stale-if-error=1", .status(500), request: get(("Cache-Control", "stale-if-error=40"))))
    }

    @Test func `a request that insists is not answered stale when the origin fails`() {
        #expect(!may("max-age=60", request: get(("Cache-Control", "no-cache"))))
        #expect(!may("max-age=60", request: get(("Cache-Control", "max-age=5"))))
        #expect(!may("max-age=60", request: get(policy: .reloadRevalidatingCacheData)))
        #expect(!may("max-age=60", request: get(policy: .reloadIgnoringLocalCacheData)))
        #expect(may("max-age=60", request: get(("Cache-Control", "max-age=5, stale-if-error=100"))))
    }

    @Test func `what could not be chosen for the request is not served when the origin fails either`() {
        let other = stored(("Cache-Control", "max-age=60"), ("Vary", "X"), ago: 100, request: [("X", "1")])
        #expect(!privateRules.mayServeStale(other, after: .unreachable, for: get(), now: now))
        #expect(
            !privateRules.mayServeStale(
                stored(("Cache-Control", "no-store")), after: .unreachable, for: get(), now: now))
    }

    @Test
    func
        `5.2.2.2: "if a cache is disconnected, the cache MUST generate an error response": the decision says so beforehand`()
    {
        func told(_ value: String) -> Bool? {
            privateRules.decide(get(), stored: [response(value)], now: now).validation?.mayServeStaleOnError
        }
        #expect(told("max-age=60") == true)
        #expect(told("max-age=60, must-revalidate") == false)
        #expect(told("max-age=60, stale-if-error=10") == false)
        let bare = stored(("Cache-Control", "max-age=60, must-revalidate"), ago: 100)
        #expect(privateRules.decide(get(), stored: [bare], now: now).forwarded?.staleCandidate == nil)
    }

    @Test func `RFC 5861 4: what is served stale is visibly stale: its Age is there`() throws {
        let old = response("max-age=60, stale-if-error=1000")
        let served = try #require(privateRules.served(old, for: get(), now: now, staleness: .originFailed))
        #expect(served.isStale && privateRules.head(of: served, from: old).headerFields[.age] == "100")
    }
}

@Suite("RFC 8246: immutable")
struct ImmutableTests {
    func word(
        _ policy: CachePolicy = .reloadRevalidatingCacheData, request: [(String, String)] = [],
        value: String = "max-age=60, immutable",
        ago: Double = 0, url: String = url, length: String? = "1000", extent: StoredExtent = .complete(length: 1000)
    ) -> String {
        var response = stored(("Cache-Control", value), ("ETag", "\"a\""), ago: ago, extent: extent, url: url)
        response.fields[.contentLength] = length
        return privateRules.word(CacheRequest(url: url, fields: fields(request), policy: policy), response)
    }

    @Test
    func `2: "SHOULD NOT issue a conditional request during the response's freshness lifetime (e.g. upon a reload)"`() {
        #expect(word() == "fresh")
        #expect(word(value: "max-age=60") == "validate")
    }

    @Test
    func
        `2: "unless explicitly overridden by the user"; 2.1: "a signal from the client that a validation is necessary"`()
    {
        #expect(word(.reloadIgnoringLocalCacheData) == "forward")
        #expect(word(.useProtocolCachePolicy, request: [("Cache-Control", "no-cache")]) == "validate")
    }

    @Test func `a browser's reload does not ask for what is immutable, a forced one and a shared cache do`() {
        let reload = [("Cache-Control", "max-age=0")]
        #expect(word(.useProtocolCachePolicy, request: reload, ago: 5) == "fresh")
        #expect(word(.useProtocolCachePolicy, request: reload, value: "max-age=60", ago: 5) == "validate")
        #expect(
            word(.useProtocolCachePolicy, request: [("Cache-Control", "max-age=0, no-cache")], ago: 5) == "validate")
        #expect(word(.useProtocolCachePolicy, request: reload, ago: 61) == "validate")
        var response = stored(("Cache-Control", "max-age=60, immutable"), ("ETag", "\"a\""), ago: 5)
        response.fields[.contentLength] = "1000"
        #expect(sharedRules.word(get(("Cache-Control", "max-age=0")), response) == "validate")
    }

    @Test func `2: "Stale responses SHOULD be revalidated as they normally would be"`() {
        #expect(word(ago: 61) == "validate")
        #expect(word(.useProtocolCachePolicy, ago: 61) == "validate")
    }

    @Test func `2: "If any arguments are present, they have no meaning, and MUST be ignored"; several are one`() {
        #expect(word(value: "max-age=60, immutable=0, IMMUTABLE=\"x\"") == "fresh")
    }

    @Test func `2: "an immutable Cache-Control extension in a request has no effect"`() {
        #expect(word(request: [("Cache-Control", "immutable")], value: "max-age=60") == "validate")
    }

    @Test
    func `3: "SHOULD ignore immutable from resources that are not part of an authenticated context such as HTTPS"`() {
        #expect(word(url: "http://example.org/a") == "validate")
        #expect(word(url: "HTTPS://example.org/a") == "fresh")
        #expect(word(url: "httpsx://example.org/a") == "validate")
    }

    @Test
    func
        `3: "SHOULD ignore immutable for resources that do not provide a strong indication that the stored response size is … correct"`()
    {
        #expect(word(length: nil) == "validate")
        #expect(word(length: "999") == "validate")
        #expect(word(extent: .complete(length: nil)) == "fresh")
    }
}
