import FoundationEssentials
import HTTPCaching
import HTTPSemantics
import HTTPTypes
import Testing

@Suite("Freshness of a derived response")
struct DerivedFreshnessTests {
    private let made = Date(timeIntervalSince1970: 1_790_000_000)

    private func cacheControl(
        _ value: String?, age: Int = 0, after seconds: Double = 0, notAfter limit: Int64? = nil,
        lastModified: Date? = nil, mode: CacheMode = .shared
    ) -> String {
        var fields: HTTPFields = [.date: HTTPDate.format(made), .age: String(age)]
        fields[.cacheControl] = value
        fields[.lastModified] = lastModified.map(HTTPDate.format)
        let stored = StoredResponse(
            requestURL: "https://example.com/a.jpg", status: .ok, fields: fields, requestTime: made, responseTime: made)
        let freshness = DerivedFreshness(of: stored, rules: CacheRules(mode: mode), at: made)
        return freshness.cacheControl(at: made.addingTimeInterval(seconds), notAfter: limit)
    }

    @Test func `is fresh for what is left of the original's life, its age before it came here included`() {
        #expect(cacheControl("max-age=3600") == "max-age=3600")
        #expect(cacheControl("max-age=3600", age: 600) == "max-age=3000")
        #expect(cacheControl("max-age=3600", age: 600, after: 1000.5) == "max-age=1999")
        #expect(cacheControl("max-age=3600", after: 4000) == "max-age=0")
        #expect(cacheControl("public, max-age=60, immutable", after: 20) == "public, max-age=40, immutable")
        #expect(cacheControl("max-age=60, immutable", after: 60) == "max-age=0")
    }

    @Test func `tells shared caches and browsers apart, as the origin did`() {
        #expect(cacheControl("max-age=60, s-maxage=600", after: 30) == "max-age=30, s-maxage=570")
        #expect(cacheControl("max-age=60, s-maxage=600", after: 100) == "max-age=0, s-maxage=500")
        #expect(cacheControl("private, max-age=60") == "private, max-age=60")
        #expect(cacheControl("private, max-age=60, s-maxage=600") == "private, max-age=60")
        #expect(cacheControl("max-age=60, s-maxage=600", mode: .private) == "max-age=60")
    }

    @Test func `is not stored, or not used unasked, where the original may not be`() {
        #expect(cacheControl("no-store, max-age=60") == "no-store")
        #expect(cacheControl("private, no-store") == "private, no-store")
        #expect(cacheControl("no-cache, max-age=60") == "no-cache")
        #expect(
            cacheControl("max-age=60, must-revalidate, no-transform") == "max-age=60, must-revalidate, no-transform")
        #expect(cacheControl(nil) == "max-age=0")
    }

    @Test func `keeps what the origin allows beyond that, and its guess`() {
        #expect(
            cacheControl("max-age=60, stale-while-revalidate=30, stale-if-error=300", after: 10)
                == "max-age=50, stale-while-revalidate=30, stale-if-error=300")
        #expect(cacheControl(nil, lastModified: made.addingTimeInterval(-36_000)) == "max-age=3600")
    }

    @Test func `never outlives the limit that it is given`() {
        let limit = Int64(made.timeIntervalSince1970) + 9
        #expect(cacheControl("max-age=60, immutable, stale-if-error=300", notAfter: limit) == "max-age=10")
        #expect(cacheControl("max-age=60, s-maxage=600", after: 5, notAfter: limit) == "max-age=5")
        #expect(cacheControl("max-age=5", notAfter: limit) == "max-age=5")
        #expect(cacheControl("max-age=60", after: 20, notAfter: limit) == "max-age=0")
    }
}
