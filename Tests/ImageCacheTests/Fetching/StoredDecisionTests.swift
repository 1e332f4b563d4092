import FoundationEssentials
import HTTPCaching
import HTTPTypes
import Testing

@testable import ImageCache

@Suite("Decisions about stored responses")
struct StoredDecisionTests {
    typealias Allowance = StoredDecision.Allowance

    /// The expected decision.
    enum Expected: String, Sendable {
        case serve, serveAndRevalidate, validate, forward, fail
        /// Nothing that is stored may be served, and the origin is not asked.
        case nothing
    }

    struct Example: Sendable, CustomTestStringConvertible {
        let stored: [StoredFixture]
        let allowance: Allowance
        let policy: CachePolicy
        let directives: String?
        let expected: Expected

        init(
            _ stored: StoredFixture?, _ allowance: Allowance, _ policy: CachePolicy = .useProtocolCachePolicy,
            _ directives: String? = nil, expecting expected: Expected
        ) {
            self.stored = stored.map { [$0] } ?? []
            self.allowance = allowance
            self.policy = policy
            self.directives = directives
            self.expected = expected
        }

        var testDescription: String {
            "\(stored.first?.rawValue ?? "nothing"), \(allowance), \(policy), \(directives ?? "-"): \(expected)"
        }
    }

    /// All at second 30.
    static let examples: [Example] = [
        Example(nil, .usable, expecting: .forward),
        Example(nil, .staleWhileRevalidating, expecting: .forward),
        Example(nil, .fresh, expecting: .forward),
        Example(nil, .storedOnly(maxStale: nil), expecting: .fail),
        Example(.fresh, .usable, expecting: .serve),
        Example(.fresh, .staleWhileRevalidating, expecting: .serve),
        Example(.fresh, .fresh, expecting: .serve),
        Example(.fresh, .storedOnly(maxStale: nil), expecting: .serve),
        Example(.fresh, .storedOnly(maxStale: 0), expecting: .serve),
        Example(.stale, .usable, expecting: .validate),
        Example(.stale, .staleWhileRevalidating, expecting: .validate),
        Example(.stale, .fresh, expecting: .validate),
        Example(.stale, .storedOnly(maxStale: nil), expecting: .serve),
        Example(.stale, .storedOnly(maxStale: 20), expecting: .serve),
        Example(.stale, .storedOnly(maxStale: 19), expecting: .nothing),
        Example(.staleWithoutValidator, .usable, expecting: .forward),
        Example(.staleWithoutValidator, .storedOnly(maxStale: nil), expecting: .serve),
        Example(.mustRevalidate, .usable, expecting: .validate),
        Example(.mustRevalidate, .staleWhileRevalidating, expecting: .validate),
        Example(.staleWhileRevalidating, .usable, expecting: .validate),
        Example(.staleWhileRevalidating, .staleWhileRevalidating, expecting: .serveAndRevalidate),
        Example(.staleWhileRevalidating, .fresh, expecting: .validate),
        Example(.staleIfError, .usable, expecting: .validate),
        Example(.otherVariant, .usable, expecting: .forward),
        Example(.otherVariant, .storedOnly(maxStale: nil), expecting: .fail),
        Example(.fresh, .usable, .reloadIgnoringLocalCacheData, nil, expecting: .forward),
        Example(.fresh, .usable, .reloadIgnoringLocalAndRemoteCacheData, nil, expecting: .forward),
        Example(.fresh, .usable, .reloadRevalidatingCacheData, nil, expecting: .validate),
        Example(.fresh, .storedOnly(maxStale: nil), .reloadRevalidatingCacheData, nil, expecting: .serve),
        Example(.fresh, .storedOnly(maxStale: nil), .reloadIgnoringLocalCacheData, nil, expecting: .serve),
        Example(.stale, .usable, .returnCacheDataElseLoad, nil, expecting: .serve),
        Example(.stale, .fresh, .returnCacheDataElseLoad, nil, expecting: .forward),
        Example(.stale, .usable, .returnCacheDataDontLoad, nil, expecting: .serve),
        Example(nil, .usable, .returnCacheDataDontLoad, nil, expecting: .fail),
        Example(.stale, .usable, .maxStale(seconds: nil), nil, expecting: .serve),
        Example(.stale, .usable, .maxStale(seconds: 19), nil, expecting: .validate),
        Example(.fresh, .usable, .useProtocolCachePolicy, "no-cache", expecting: .validate),
        Example(.stale, .usable, .useProtocolCachePolicy, "max-stale=20", expecting: .serve),
        Example(.stale, .fresh, .useProtocolCachePolicy, "max-stale=20", expecting: .forward),
        Example(.stale, .usable, .useProtocolCachePolicy, "only-if-cached", expecting: .fail),
        Example(.fresh, .usable, .useProtocolCachePolicy, "only-if-cached", expecting: .serve),
        Example(
            .staleWhileRevalidating, .staleWhileRevalidating, .useProtocolCachePolicy, "no-cache",
            expecting: .validate),
    ]

    @Test(arguments: examples)
    func `a caller's allowance and the rules decide about a stored response`(_ example: Example) {
        var fields: HTTPFields = [.accept: "image/webp"]
        fields[.cacheControl] = example.directives
        let request = CacheRequest(url: StoredFixture.url, fields: fields, policy: example.policy)
        let decision = StoredDecision(
            request, stored: example.stored.map(\.response), allowing: example.allowance, by: CacheRules(),
            at: StoredFixture.time(30))
        let serves = [.serve, .serveAndRevalidate].contains(example.expected)
        #expect((decision.served != nil) == serves)
        #expect(decision.needsRevalidation == (example.expected == .serveAndRevalidate))
        #expect((decision.failure != nil) == (example.expected == .fail))
        guard [.validate, .forward].contains(example.expected) else { return }
        let asked = decision.conditionalRequest(about: [])
        #expect((asked.validation != nil) == (example.expected == .validate))
        #expect((asked.fields[.ifNoneMatch] != nil) == (example.expected == .validate))
    }

    @Test func `a look-up continues with the other candidates when a body is missing`() throws {
        var lookup = Lookup(
            CacheRequest(url: StoredFixture.url),
            [try StoredFixture.fresh.candidate(id: 2), try StoredFixture.stale.candidate(id: 1)], allowing: .usable)
        let now = StoredFixture.time(30)
        let first = try #require(lookup.decision(by: CacheRules(), at: now).served)
        #expect(lookup.candidates[first.candidate].entry.id == 2 && !lookup.hasRemoved)
        lookup.remove(at: first.candidate)
        let second = lookup.decision(by: CacheRules(), at: now)
        #expect(second.served == nil && lookup.hasRemoved)
        #expect(second.conditionalRequest(about: lookup.candidates).fields[.ifNoneMatch] == "\"1\"")
    }

    @Test(arguments: [
        (StoredFixture.fresh, 0.0, true), (.stale, 0, true), (.mustRevalidate, 0, true), (.fresh, 1, false),
        (.fromTheFuture, 0, false), (.otherVariant, 0, false),
    ])
    func `a response that was stored during a wait is served whatever its age`(
        _ stored: StoredFixture, _ began: Double, _ isServed: Bool
    ) throws {
        let request = CacheRequest(
            url: StoredFixture.url, fields: [.accept: "image/webp"], policy: .reloadIgnoringLocalCacheData)
        let lookup = Lookup(request, [try stored.candidate()], allowing: .usable)
        let later = lookup.stored(since: StoredFixture.time(began), besides: [], now: StoredFixture.time(30))
        #expect((later.decision(by: CacheRules(), at: StoredFixture.time(30)).served != nil) == isServed)
    }

    @Test func `a candidate from before the wait counts only once it was confirmed`() throws {
        let known = try StoredFixture.stale.candidate()
        var confirmed = known
        confirmed.entry = try StoredFixture.fresh.candidate().entry
        let (began, now) = (StoredFixture.time(0), StoredFixture.time(30))
        for (candidate, count) in [(known, 0), (confirmed, 1)] {
            let lookup = Lookup(CacheRequest(url: StoredFixture.url), [candidate], allowing: .usable)
            #expect(lookup.stored(since: began, besides: [known], now: now).candidates.count == count)
        }
    }
}
