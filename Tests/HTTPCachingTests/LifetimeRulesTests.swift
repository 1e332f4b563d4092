import FoundationEssentials
import HTTPSemantics
import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("Lifetimes by status and path")
struct LifetimeRulesTests {
    private static let now = Date(timeIntervalSince1970: 784_111_777)

    private func rules(
        _ list: [String: LifetimeRules.Rule], besides general: LifetimeLimits = LifetimeLimits()
    ) throws -> LifetimeRules {
        var rules: [ResponsePattern: LifetimeRules.Rule] = [:]
        for (text, rule) in list { rules[try #require(ResponsePattern(text), "\(text)")] = rule }
        return LifetimeRules(general, rules)
    }

    private func rule(_ setting: LifetimeSetting, _ seconds: Int?) -> LifetimeRules.Rule {
        var rule = LifetimeRules.Rule()
        rule.times[setting] = .some(seconds.map { .seconds($0) })
        return rule
    }

    /// The fields of a response with its lifetime.
    private func applied(
        _ rules: LifetimeRules, _ fields: HTTPFields, path: String = "/a", status: Int = 200,
        request: HTTPFields = [:]
    ) -> HTTPFields {
        let status = HTTPResponse.Status(code: status)
        return rules.limits(path: path, status: status).applied(
            to: fields, status: status, request: request, receivedAt: Self.now, by: CacheRules(mode: .shared))
    }

    @Test func `the longest path applies, then a status before a class before none, and to errors one with a status`()
        throws
    {
        let list = [
            "/*": 1, "/news/*": 2, "/news/*.jpg": 3, "2xx": 4, "200 /news/*": 5, "2xx /news/*": 6, "404": 7, "4xx": 8,
        ]
        let rules = try rules(list.mapValues { rule(.usual, $0) })
        let cases: [(String, Int, Int?)] = [
            ("/b", 200, 1), ("/news/x", 200, 5), ("/news/x", 204, 6), ("/news/x", 404, 7), ("/news/a.jpg", 200, 3),
            ("/news/a.jpg", 410, 8), ("/b", 500, nil), ("b", 404, 7), ("b", 410, 8), ("b", 201, 4), ("b", 500, nil),
        ]
        for (path, status, seconds) in cases {
            let limits = rules.limits(path: path, status: .init(code: status))
            let covered = status < 300 || limits.coversErrors ? limits.usual : nil
            #expect(covered == seconds.map { .seconds($0) }, "\(path) \(status)")
        }
    }

    @Test func `what a rule leaves open is as for all, and zero takes it away`() throws {
        var general = LifetimeLimits()
        (general.usual, general.longest) = (.seconds(600), .seconds(3600))
        let rules = try rules(["/news/*": rule(.longest, 60), "/old/*": rule(.usual, nil)], besides: general)
        #expect(applied(rules, [:])[.cacheControl] == "max-age=600")
        #expect(applied(rules, [:], path: "/news/1")[.cacheControl] == "max-age=60")
        #expect(applied(rules, [:], path: "/old/1")[.cacheControl] == nil)
        #expect(applied(rules, [.cacheControl: "max-age=9999"], path: "/old/1")[.cacheControl] == "max-age=3600")
    }

    @Test func `an error has a lifetime only where a rule names its status`() throws {
        var general = LifetimeLimits()
        general.usual = .seconds(600)
        let rules = try rules(["404": rule(.usual, 10), "/*": rule(.shortest, 5)], besides: general)
        #expect(applied(rules, [:], path: "/404", status: 404)[.cacheControl] == "max-age=10")
        #expect(applied(rules, [:], path: "/410", status: 410)[.cacheControl] == nil)
        #expect(applied(rules, [:], path: "/404", status: 404, request: [.cookie: "a=1"])[.cacheControl] == nil)
    }

    @Test func `a 304 is judged as the 200 that it confirms`() throws {
        let rules = try rules(["200": rule(.shortest, 60), "304": rule(.shortest, 7)])
        #expect(applied(rules, [.cacheControl: "max-age=1"], status: 304)[.cacheControl] == "max-age=60")
    }

    @Test(
        arguments: [
            ("no-store", "max-age=60"), ("private, max-age=5", "max-age=60"),
            ("no-cache, public", "public, max-age=60"),
            ("no-store, no-cache=\"a, b\", max-age=90", "max-age=90"),
        ])
    func `override-private ignores what forbids storing, except for one client's responses`(
        said: String, expected: String
    ) throws {
        var rule = rule(.shortest, 60)
        rule.overridesPrivate = true
        let rules = try rules(["/open/*": rule])
        let fields: HTTPFields = [.cacheControl: said]
        #expect(applied(rules, fields, path: "/open/a")[.cacheControl] == expected)
        #expect(applied(rules, fields, path: "/closed/a") == fields)
        #expect(applied(rules, fields, path: "/open/a", request: [.cookie: "a=1"]) == fields)
        var cookie = fields
        cookie[.setCookie] = "a=1"
        #expect(applied(rules, cookie, path: "/open/a") == cookie)
    }

    @Test func `Cache-Status tells what was applied`() throws {
        var general = LifetimeLimits()
        (general.usual, general.shortest, general.longest) = (.seconds(600), .seconds(60), .seconds(3600))
        let rules = try rules(["/open/*": with(rule(.stale, 30)) { $0.overridesPrivate = true }], besides: general)
        let cases: [(String?, String, String)] = [
            (nil, "/a", "default-ttl"), ("max-age=100", "/a", "origin-ttl"), ("max-age=1", "/a", "min-ttl"),
            ("max-age=9999", "/a", "max-ttl"), ("no-store", "/open/a", "\"override-private default-ttl stale-ttl\""),
        ]
        for (said, path, detail) in cases {
            var fields = HTTPFields()
            fields[.cacheControl] = said
            let result = applied(rules, fields, path: path)
            #expect(result[.cacheStatus] == "imgcache; detail=\(detail)")
            #expect(LifetimeLimits.note(in: result) == result[.cacheStatus])
        }
        #expect(applied(rules, [.cacheControl: "no-store"])[.cacheStatus] == nil)
        let behind = applied(rules, [.cacheStatus: "cdn; hit"])
        #expect(behind[.cacheStatus] == "cdn; hit, imgcache; detail=default-ttl")
        #expect(LifetimeLimits.note(in: behind) == "imgcache; detail=default-ttl")
        #expect(LifetimeLimits.note(in: [.cacheStatus: "imgcache; hit"]) == nil)
    }

    private func with<Value>(_ value: Value, _ change: (inout Value) -> Void) -> Value {
        var value = value
        change(&value)
        return value
    }

    @Test(arguments: ["", "news/*", "20", "2000", "6xx", "0xx", "xx", "404/a", "404 a", "/a?b", "/a b", "4XX"])
    func `another form is no pattern`(text: String) { #expect(ResponsePattern(text) == nil) }
}
