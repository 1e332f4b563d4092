import Foundation
import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("Policies, own lifetimes and redirects")
struct PolicyTests {
    let fresh = stored(("Cache-Control", "max-age=60"), ("ETag", "\"a\""))
    let stale = stored(("Cache-Control", "max-age=60, must-revalidate"), ("ETag", "\"a\""), ago: 100)

    @Test func `reload ignoring local: the network is asked as if nothing were stored`() {
        let decision = privateRules.decide(get(policy: .reloadIgnoringLocalCacheData), stored: [fresh], now: now)
        #expect(decision.forwarded?.reason == .bypass && decision.forwarded?.fields.isEmpty == true)
    }

    @Test func `reload ignoring local and remote: caches on the way are told not to answer`() {
        let decision = privateRules.decide(
            get(policy: .reloadIgnoringLocalAndRemoteCacheData), stored: [fresh], now: now)
        #expect(decision.forwarded?.fields == [.cacheControl: "no-cache"])
    }

    @Test func `cache else load: what is stored, whatever its age; else the network`() {
        #expect(privateRules.word(get(policy: .returnCacheDataElseLoad), fresh) == "fresh")
        #expect(privateRules.word(get(policy: .returnCacheDataElseLoad), stale) == "stale")
        #expect(
            privateRules.word(get(policy: .returnCacheDataElseLoad), stored(("Cache-Control", "no-cache"))) == "stale")
        #expect(privateRules.word(get(policy: .returnCacheDataElseLoad)) == "forward")
    }

    @Test func `cache only: what is stored, whatever its age; else a failure that says why`() {
        #expect(privateRules.word(get(policy: .returnCacheDataDontLoad), stale) == "stale")
        let decision = privateRules.decide(get(policy: .returnCacheDataDontLoad), stored: [], now: now)
        #expect(decision == .fail(CacheFailure(reason: .policy, missing: .uriMiss)))
        let partial = stored(("ETag", "\"a\""), extent: .partial(held: [0..<1], total: 2))
        #expect(privateRules.word(get(policy: .returnCacheDataDontLoad), partial) == "fail")
    }

    @Test func `reload revalidating: the origin confirms, and caches on the way too`() {
        let validation = privateRules.decide(get(policy: .reloadRevalidatingCacheData), stored: [fresh], now: now)
            .validation
        #expect(validation?.fields == [.ifNoneMatch: "\"a\"", .cacheControl: "max-age=0"])
        #expect(validation?.reason == .request)
        let bare = stored(("Cache-Control", "max-age=60"))
        let forward = privateRules.decide(get(policy: .reloadRevalidatingCacheData), stored: [bare], now: now).forwarded
        #expect(forward?.fields == [.cacheControl: "max-age=0"])
    }

    @Test func `max-stale as a policy is the request directive's equal`() {
        let old = stored(("Cache-Control", "max-age=60"), ("ETag", "\"a\""), ago: 100)
        #expect(privateRules.word(get(policy: .maxStale(seconds: 40)), old) == "stale")
        #expect(privateRules.word(get(policy: .maxStale(seconds: 39)), old) == "validate")
        #expect(privateRules.word(get(policy: .maxStale(seconds: nil)), old) == "stale")
        #expect(privateRules.word(get(policy: .maxStale(seconds: nil)), stale) == "validate")
        #expect(privateRules.word(get(policy: .maxStale(seconds: -5)), fresh) == "fresh")
    }

    @Test func `an own lifetime decides, whatever the server says`() {
        let request = get(own: FreshnessOverride(seconds: 50))
        for value in ["max-age=0", "no-cache", "max-age=10, must-revalidate", "max-age=99999"] {
            let response = { (ago: Double) in stored(("Cache-Control", value), ("ETag", "\"a\""), ago: ago) }
            #expect(privateRules.word(request, response(49)) == "fresh")
            #expect(privateRules.word(request, response(51)) == "validate")
        }
        #expect(privateRules.word(get(own: FreshnessOverride(seconds: -1)), stored(("ETag", "\"a\""))) == "validate")
        // It does not pin an error.
        #expect(privateRules.word(request, stored(("ETag", "\"a\""), status: 404)) == "validate")
    }

    @Test func `an own lifetime: an entry of another version counts as absent`() {
        func word(_ wanted: String?, _ kept: String?) -> String {
            privateRules.word(get(own: FreshnessOverride(seconds: 60, version: wanted)), stored(version: kept))
        }
        #expect(word("2", "2") == "fresh" && word(nil, nil) == "fresh")
        #expect(
            word("2", "1") == "forward" && word("2", nil) == "forward" && word(nil, "1") == "forward"
                && word("", nil) == "forward")
        let kept = privateRules.stored(
            response(200), to: get(own: FreshnessOverride(seconds: 60, version: "2")), requestTime: now,
            responseTime: now)
        #expect(kept.ownVersion == "2")
    }

    @Test func `an own lifetime: an entry whose age is negative counts as absent`() {
        #expect(privateRules.word(get(own: FreshnessOverride(seconds: 60)), stored(ago: -10)) == "forward")
        #expect(privateRules.word(get(own: FreshnessOverride(seconds: 60)), stored(ago: -0.5)) == "fresh")
    }

    @Test func `an own lifetime never makes a no-store response storable unless the caller says so`() {
        func stores(_ own: FreshnessOverride, request: String? = nil, status: Int = 200) -> Bool {
            var asked = get(own: own)
            asked.fields[.cacheControl] = request
            return privateRules.storability(
                of: response(status, ("Cache-Control", "no-store")), to: asked, receivedAt: now
            ).isStorable
        }
        #expect(!stores(FreshnessOverride(seconds: 60)))
        #expect(stores(FreshnessOverride(seconds: 60, storesDespiteNoStore: true)))
        #expect(stores(FreshnessOverride(seconds: 60, storesDespiteNoStore: true), request: "no-store"))
        #expect(!stores(FreshnessOverride(seconds: 60, storesDespiteNoStore: true), status: 404))
        // A request without a freshness override is not affected.
        let kept = stored(("Cache-Control", "no-store, max-age=60"))
        #expect(privateRules.word(get(own: FreshnessOverride(seconds: 60)), kept) == "fresh")
        #expect(privateRules.word(get(), kept) == "forward")
    }

    @Test func `an own lifetime makes storable what nothing else would, but no answer to an unsafe method`() {
        #expect(
            privateRules.storability(of: response(201), to: get(own: FreshnessOverride(seconds: 5)), receivedAt: now)
                .isStorable)
        #expect(
            !privateRules.storability(of: response(403), to: get(own: FreshnessOverride(seconds: 5)), receivedAt: now)
                .isStorable)
        let put = get(own: FreshnessOverride(seconds: 5), method: .put)
        #expect(!privateRules.storability(of: response(200), to: put, receivedAt: now).isStorable)
        #expect(
            !sharedRules.storability(
                of: response(200, ("Cache-Control", "private")), to: get(own: FreshnessOverride(seconds: 5)),
                receivedAt: now
            ).isStorable)
    }

    func through(_ hops: StoredHead..., ago: Double = 10) -> Freshness {
        privateRules.freshness(
            of: stored(("Cache-Control", "max-age=600"), ("ETag", "\"a\""), ago: ago, redirects: hops), at: now)
    }

    func hop(_ status: Int, _ pairs: (String, String)...) -> StoredHead {
        StoredHead(status: .init(code: status), fields: fields(pairs))
    }

    @Test(arguments: [302, 303, 307])
    func `redirects: a temporary one without explicit freshness is asked again each time`(status: Int) {
        #expect(through(hop(status)).mustValidate)
        #expect(through(hop(status, ("Last-Modified", date(-864_000)))).mustValidate)
        #expect(!through(hop(status, ("Cache-Control", "max-age=60"))).mustValidate)
    }

    @Test(arguments: [301, 308])
    func `redirects: a permanent one holds as long as the response`(status: Int) {
        #expect(through(hop(status)).remaining == 590)
    }

    @Test func `redirects: the shortest freshness on the way bounds the response's`() {
        #expect(
            through(hop(301, ("Cache-Control", "max-age=60")), hop(302, ("Cache-Control", "max-age=90"))).remaining
                == 50)
        #expect(through(hop(301, ("Cache-Control", "max-age=5"))).remaining <= 0)
        #expect(through(hop(301, ("Cache-Control", "max-age=5"))).lifetime >= 0)
        #expect(through(hop(302, ("Expires", date(20)), ("Date", date(-10)))).remaining == 20)
        #expect(through(hop(301, ("Cache-Control", "max-age=6000"))).remaining == 590)
        #expect(through(hop(301, ("Cache-Control", "max-age=60"))).source == .redirect)
    }

    @Test func `redirects: no-store, no-cache and Vary: * on the way are asked again; must-revalidate forbids stale`() {
        #expect(through(hop(301, ("Cache-Control", "no-store, max-age=60"))).mustValidate)
        #expect(through(hop(301, ("Cache-Control", "no-cache, max-age=60"))).mustValidate)
        #expect(through(hop(301, ("Cache-Control", "max-age=60"), ("Vary", "*"))).mustValidate)
        #expect(through(hop(301, ("Cache-Control", "max-age=60, must-revalidate"))).forbidsStale)
    }

    @Test func `redirects: what varies on the way selects, and of a no-store redirect nothing else is kept`() {
        let kept = privateRules.stored(
            response(200), to: get(("Accept", "a")),
            redirects: [hop(302, ("Vary", "Accept"), ("Cache-Control", "max-age=60"))],
            requestTime: now, responseTime: now)
        #expect(kept.selectingFields.values.map(\.name) == ["accept"])
        #expect(privateRules.word(get(("Accept", "b")), kept) == "forward")
        let secret = privateRules.stored(
            response(200), to: get(),
            redirects: [hop(302, ("Set-Cookie", "x"), ("Cache-Control", "private, no-store"))], requestTime: now,
            responseTime: now)
        #expect(secret.redirects == [hop(302, ("Cache-Control", "no-store"))])
    }

    @Test func `it is explained in words why a response is fresh or stale, until when, and what is sent next`() {
        func words(_ response: StoredResponse) -> String { privateRules.explain(response, now: now).description }
        #expect(
            words(fresh)
                == "Fresh until Thu, 01 Jan 2026 00:01:00 GMT, for another 60 s. The response says max-age=60, and its age is 0 s. It is served without asking the origin."
        )
        #expect(
            words(stale)
                == "Stale since Wed, 31 Dec 2025 23:59:20 GMT, for 40 s. The response says max-age=60, and its age is 100 s. The origin is asked with If-None-Match: \"a\"."
        )
        #expect(
            words(stored(("Cache-Control", "no-cache")))
                == "Must be confirmed before each use. The response says no-cache. It has no validator, so all of it is fetched anew."
        )
        #expect(words(stored(("Cache-Control", "max-age=x"))).contains("invalid"))
        #expect(
            words(stored(("Last-Modified", date(-1000)))).contains("a tenth of its time since Last-Modified is 100 s"))
        #expect(
            words(stored(("Cache-Control", "max-age=60, stale-while-revalidate=60"), ago: 70)).contains(
                "in the background"))
        #expect(words(stored(("ETag", "\"a\""), ago: -100)).contains("the clock was set back"))
        #expect(words(stored(("ETag", "\"a\""), redirects: [hop(302)])).contains("redirect"))
        #expect(words(stored(("ETag", "\"a\""), extent: .partial(held: [0..<1], total: 2))).contains("If-Range: \"a\""))
        #expect(words(stored(("Vary", "*"))).contains("Vary"))
        #expect(privateRules.explain(stale, now: now).nextFields == [.ifNoneMatch: "\"a\""])
    }
}
