import FoundationEssentials
import HTTPSemantics
import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("Lifetimes of an operator's own")
struct LifetimeLimitsTests {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let now = Date(timeIntervalSince1970: 784_111_777)

    private func applied(
        _ limits: LifetimeLimits, to fields: HTTPFields, status: Int = 200, request: HTTPFields = [:]
    ) -> HTTPFields {
        limits.applied(
            to: fields, status: .init(code: status), request: request, receivedAt: Self.now,
            by: CacheRules(mode: .shared))
    }

    /// All four: 10 minutes by default, from 1 to 60 minutes, and 5 minutes stale.
    private static var all: LifetimeLimits {
        var limits = LifetimeLimits()
        (limits.usual, limits.shortest, limits.longest) = (.seconds(600), .seconds(60), .seconds(3600))
        limits.stale = .seconds(300)
        return limits
    }

    private static let stale = ", stale-while-revalidate=300, stale-if-error=300"

    @Test(
        arguments: [
            (nil, "max-age=600" + stale), ("public", "public, max-age=600" + stale),
            ("max-age=5", "max-age=60" + stale), ("max-age=100", "max-age=100" + stale),
            ("max-age=9999", "max-age=3600" + stale), ("s-maxage=5, max-age=99", "max-age=60, proxy-revalidate"),
            ("max-age=100, s-maxage=200", "max-age=100, s-maxage=200"),
            ("max-age=0, must-revalidate", "must-revalidate, max-age=60"),
            ("max-age=100, stale-if-error=7", "max-age=100, stale-if-error=7, stale-while-revalidate=300"),
            ("max-age=100, proxy-revalidate", "max-age=100, proxy-revalidate"),
            ("ext=\"a, max-age=7\", max-age=5", "ext=\"a, max-age=7\", max-age=60" + stale),
            ("no-store", "no-store"), ("private, max-age=9999", "private, max-age=9999"),
            ("no-cache, max-age=1", "no-cache, max-age=1"),
        ] as [(String?, String)])
    func `what the origin says is kept within the limits`(_ said: String?, _ expected: String) {
        var fields: HTTPFields = [.date: Self.date]
        fields[.cacheControl] = said
        #expect(applied(Self.all, to: fields)[.cacheControl] == expected)
    }

    @Test func `an age and an Expires belong to the lifetime that was replaced`() {
        let fields: HTTPFields = [.date: Self.date, .age: "500", .expires: "Sun, 06 Nov 1994 08:49:39 GMT"]
        let result = applied(Self.all, to: fields)
        #expect(result[.cacheControl] == "max-age=60" + Self.stale)
        #expect(result[.age] == nil && result[.expires] == nil)
        let kept = applied(Self.all, to: [.date: Self.date, .age: "5", .cacheControl: "max-age=100"])
        #expect(kept[.age] == "5")
        // A shorter lifetime does not make an old response young.
        let cut = applied(Self.all, to: [.date: Self.date, .age: "4000", .cacheControl: "max-age=9000"])
        #expect(cut[.age] == "4000" && cut[.cacheControl] == "max-age=3600" + Self.stale)
        // Behind a cache that keeps Date, it would be as old as that.
        let earlier = applied(Self.all, to: [.date: "Sun, 06 Nov 1994 08:29:37 GMT", .age: "1200"])
        #expect(earlier[.date] == Self.date && earlier[.age] == nil)
    }

    @Test func `a targeted field is changed where the cache obeys it`() throws {
        let name = try #require(HTTPField.Name("CDN-Cache-Control"))
        let result = applied(Self.all, to: [.date: Self.date, name: "max-age=36000", .cacheControl: "no-store"])
        #expect(result[name] == "max-age=3600" + Self.stale && result[.cacheControl] == "no-store")
    }

    @Test func `directives with a quotation mark that has no end are left as they are`() {
        let fields: HTTPFields = [.date: Self.date, .cacheControl: "foo=\"bar, max-age=1"]
        #expect(applied(Self.all, to: fields) == fields)
    }

    @Test(arguments: [301, 404, 500, 503])
    func `an error gets no lifetime, and a longer one is cut`(status: Int) {
        #expect(applied(Self.all, to: [.date: Self.date], status: status)[.cacheControl] == nil)
        let long = applied(Self.all, to: [.date: Self.date, .cacheControl: "max-age=9999"], status: status)
        #expect(long[.cacheControl] == "max-age=3600")
    }

    @Test func `a response for one client gets no lifetime that others could use`() {
        let plain: HTTPFields = [.date: Self.date]
        #expect(applied(Self.all, to: plain, request: [.cookie: "a=1"])[.cacheControl] == nil)
        var fields = plain
        fields[.setCookie] = "a=1"
        fields[.cacheControl] = "max-age=1"
        #expect(applied(Self.all, to: fields)[.cacheControl] == "max-age=1")
    }

    @Test func `a 304 without a lifetime leaves that of the stored response`() {
        #expect(applied(Self.all, to: [.date: Self.date], status: 304)[.cacheControl] == nil)
        let said = applied(Self.all, to: [.date: Self.date, .cacheControl: "max-age=1"], status: 304)
        #expect(said[.cacheControl] == "max-age=60" + Self.stale)
        let other = applied(Self.all, to: [.date: Self.date, .cacheControl: "public"], status: 304)
        #expect(other[.cacheControl] == "public, max-age=600" + Self.stale)
    }

    @Test(arguments: [0, 1, 1200])
    func `a lifetime that was lengthened does not make a strong validator of a date`(_ elapsed: Int) {
        let sent = HTTPDate.format(Self.now - TimeInterval(elapsed))
        for (modified, isStrong) in [(elapsed, false), (elapsed - 1, false), (elapsed + 1, true)] {
            let fields: HTTPFields = [
                .date: sent, .age: "\(elapsed)", .lastModified: HTTPDate.format(Self.now - TimeInterval(modified)),
            ]
            let result = applied(Self.all, to: fields)
            #expect(ValidatorFields(fields).isStrong == isStrong && ValidatorFields(result).isStrong == isStrong)
            #expect(result[.age] == nil && result[.date] == (isStrong ? Self.date : sent))
            // It is fresh for the lifetime of the limits from now on.
            let stored = StoredResponse(
                requestURL: "https://a.example/", status: .ok, fields: result, requestTime: Self.now,
                responseTime: Self.now)
            let rules = CacheRules(mode: .shared)
            #expect(rules.freshness(of: stored, at: Self.now + 599).isFresh)
            #expect(!rules.freshness(of: stored, at: Self.now + 601).isFresh)
        }
    }

    @Test func `a heuristic lifetime is replaced by the default one, and is kept within the limits`() {
        // A tenth of the file's age: 100 seconds.
        let fields: HTTPFields = [.date: Self.date, .lastModified: "Sun, 06 Nov 1994 08:32:57 GMT"]
        #expect(applied(Self.all, to: fields)[.cacheControl] == "max-age=600" + Self.stale)
        var limits = LifetimeLimits()
        func limited(request: HTTPFields = [:], status: Int = 200) -> String? {
            applied(limits, to: fields, status: status, request: request)[.cacheControl]
        }
        limits.longest = .seconds(100)
        #expect(limited() == nil)
        limits.longest = .seconds(99)
        #expect(limited() == "max-age=99" && limited(status: 404) == "max-age=99")
        #expect(limited(status: 500) == nil && limited(request: [.cookie: "a=1"]) == nil)
        limits.longest = nil
        limits.shortest = .seconds(100)
        #expect(limited() == nil)
        limits.shortest = .seconds(101)
        #expect(limited() == "max-age=101" && limited(status: 404) == nil)
        #expect(applied(LifetimeLimits(), to: fields) == fields)
    }

    @Test func `a heuristic lifetime that was cut does not make an old response young`() {
        var limits = LifetimeLimits()
        limits.longest = .seconds(60)
        let fields: HTTPFields = [
            .date: Self.date, .age: "40", .lastModified: "Sun, 06 Nov 1983 08:49:37 GMT",
        ]
        let cut = applied(limits, to: fields)
        #expect(cut[.cacheControl] == "max-age=60" && cut[.age] == "40" && cut[.date] == Self.date)
        // The default lifetime begins with the response, also where the heuristic one was longer.
        let replaced = applied(Self.all, to: fields)
        #expect(replaced[.cacheControl] == "max-age=600" + Self.stale && replaced[.age] == nil)
    }
}
