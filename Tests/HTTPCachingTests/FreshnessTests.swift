import Foundation
import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("RFC 9111 sections 4.2.1 and 4.2.2: freshness lifetime")
struct FreshnessTests {
    func lifetime(_ pairs: (String, String)..., rules: CacheRules = privateRules, status: Int = 200) -> Int {
        var response = stored(status: status)
        response.fields = fields(pairs)
        if !pairs.contains(where: { $0.0 == "Date" }) { response.fields[.date] = date(0) }
        return rules.freshness(of: response, at: now).lifetime
    }

    func source(_ pairs: (String, String)..., rules: CacheRules = privateRules) -> Freshness.Source {
        var response = stored()
        response.fields = fields(pairs + [("Date", date(0))])
        return rules.freshness(of: response, at: now).source
    }

    @Test func `4.2: "response_is_fresh = (freshness_lifetime > current_age)"`() {
        let tag = ("ETag", "\"a\"")
        #expect(privateRules.word(get(), stored(("Cache-Control", "max-age=60"), tag, ago: 59)) == "fresh")
        #expect(privateRules.word(get(), stored(("Cache-Control", "max-age=60"), tag, ago: 60)) == "validate")
        #expect(privateRules.word(get(), stored(("Cache-Control", "max-age=0"), tag)) == "validate")
    }

    @Test func `4.2.1: "using the first match": s-maxage in a shared cache, max-age, Expires minus Date`() {
        let all = [("Cache-Control", "max-age=60, s-maxage=90"), ("Expires", date(30))]
        #expect(lifetime(all[0], all[1]) == 60)
        #expect(lifetime(all[0], all[1], rules: sharedRules) == 90)
        #expect(lifetime(("Cache-Control", "s-maxage=90"), all[1]) == 30)
        #expect(lifetime(("Cache-Control", "foo"), all[1]) == 30)
        #expect(
            source(all[0], rules: sharedRules) == .sharedMaxAge && source(all[0]) == .maxAge
                && source(all[1]) == .expires)
    }

    @Test func `5.3: "if a response includes … max-age …, a recipient MUST ignore the Expires header field"`() {
        #expect(lifetime(("Cache-Control", "max-age=60"), ("Expires", "0")) == 60)
        #expect(lifetime(("Cache-Control", "max-age=0"), ("Expires", date(60))) == 0)
        #expect(lifetime(("Cache-Control", "s-maxage=60"), ("Expires", "0"), rules: sharedRules) == 60)
        #expect(lifetime(("Cache-Control", "max-age=x"), ("Expires", date(60))) == 0)
    }

    @Test(arguments: [
        "0", "-1", "", "never", "Thu, 01 Jan 2026 01:00:00", "Thu, 01 Jan 2026 01:00:00 EST",
        "Thu, 1 Jan 2026 01:00:00 GMT",
        "2026-01-01T01:00:00Z", "Thu, 01 Jan 2026 01:00:00 +0000", "1767229200", "Thu, 01 Jan 2026 1:00:00 GMT",
        "Thu, 01-Jan-2026 01:00:00 GMT", "Thu 01 Jan 2026 01:00:00 GMT", "Thu, 32 Jan 2026 01:00:00 GMT", "3600",
        "Thu, 01 Jan 2026 01:00:00 UTC", "Thu, 01 Jan 2026 25:00:00 GMT", "Thu, 01 Jan 2026 01:00:00 GMT; foo",
    ])
    func `5.3: "MUST interpret invalid date formats, especially the value "0", as representing a time in the past"`(
        value: String
    ) {
        let response = stored(("Expires", value), ("Last-Modified", date(-864_000)))
        let freshness = privateRules.freshness(of: response, at: now)
        #expect(!freshness.isFresh && freshness.source == .invalid)
    }

    @Test(arguments: [
        "Thu, 01 Jan 2026 01:00:00 GMT", "Thursday, 01-Jan-26 01:00:00 GMT", "Thu Jan  1 01:00:00 2026",
        "THU, 01 JAN 2026 01:00:00 gmt",
    ])
    func `5.3, RFC 9110 5.6.7: Expires in any of the three formats, in any letter case`(value: String) {
        #expect(lifetime(("Expires", value)) == 3600)
    }

    @Test func `4.2.1: Expires is reckoned from Date, or from when the message was received`() {
        #expect(lifetime(("Expires", date(60)), ("Date", date(-40))) == 100)
        #expect(lifetime(("Expires", date(-60)), ("Date", date(-100))) == 40)
        #expect(lifetime(("Expires", date(60)), ("Date", date(100))) == 0)
        #expect(lifetime(("Expires", date(60)), ("Date", "garbage")) == 60)
        let noDate = stored(("Expires", date(60)), hasDate: false)
        #expect(privateRules.freshness(of: noDate, at: now).lifetime == 60)
    }

    @Test func `4.2.1: "When there is more than one value": the first Expires; different max-ages count as stale`() {
        #expect(lifetime(("Expires", date(60)), ("Expires", date(90))) == 60)
        #expect(lifetime(("Expires", "0"), ("Expires", date(90))) == 0)
        #expect(lifetime(("Cache-Control", "max-age=60, max-age=60")) == 60)
        #expect(lifetime(("Cache-Control", "max-age=60, max-age=90")) == 0)
        #expect(lifetime(("Cache-Control", "max-age=90"), ("Cache-Control", "max-age=60")) == 0)
        #expect(lifetime(("Cache-Control", "s-maxage=60, s-maxage=90"), rules: sharedRules) == 0)
    }

    @Test func `4.2.1: "If directives conflict …, the most restrictive directive should be honored"`() {
        let tag = ("ETag", "\"a\"")
        #expect(privateRules.word(get(), stored(("Cache-Control", "max-age=60, no-cache"), tag)) == "validate")
        #expect(privateRules.word(get(), stored(("Cache-Control", "public, private, max-age=60"), tag)) == "fresh")
        #expect(sharedRules.word(get(), stored(("Cache-Control", "public, private, max-age=60"), tag)) == "forward")
        #expect(privateRules.word(get(), stored(("Cache-Control", "no-store, max-age=60"), tag)) == "forward")
    }

    @Test(arguments: [
        "max-age", "max-age=", "max-age=-1", "max-age=1.5", "max-age=x", "max-age=60s", "max-age=0x60",
        "max-age='60'",
        "max-age=\"60", "max-age = 60", "max-age =60", "max-age= 60", "max-age=60 61", "max-age=\"6 0\"",
        "max-age=+60",
        "max-age=60;", "max-age=\"\"", "max-age==60", "max-age=６０",
    ])
    func `4.2.1: "invalid freshness information" is stale, also where a heuristic would apply`(value: String) {
        #expect(lifetime(("Cache-Control", value), ("Last-Modified", date(-864_000))) == 0)
    }

    @Test(arguments: [
        "max-age=60", "MAX-AGE=60", "Max-Age=60", "max-age=\"60\"", "max-age=0060", "  max-age=60 ",
        "foo, max-age=60", "foo,,max-age=60,",
        "max-age=60, foo=bar", "foo=\"a,b\", max-age=60", "foo=\"a\\\"b, \", max-age=60", "\tmax-age=60",
        "@, max-age=60",
        "foo=\"max-age=5\", max-age=60", "foo bar, max-age=60", "max-age=60, foo=\"unclosed",
    ])
    func
        `5.2: directives are "compared case-insensitively", and "recipients ought to accept both forms" of an argument`(
            value: String
        )
    {
        #expect(lifetime(("Cache-Control", value)) == 60)
    }

    @Test func `5.2: directives on several field lines are one list`() {
        #expect(lifetime(("Cache-Control", "public"), ("cache-control", "max-age=60")) == 60)
    }

    @Test func `5.2.3: "A cache MUST ignore unrecognized cache directives"`() {
        #expect(lifetime(("Cache-Control", "max-ages=1, xmax-age=2, max-age=60, max_age=3, community=\"UCI\"")) == 60)
    }

    @Test(arguments: [
        "2147483648", "2147483649", "4294967296", "9223372036854775808", "99999999999999999999999999999999999999",
    ])
    func `1.2.2: "greater than the greatest integer it can represent …: MUST consider the value to be 2147483648"`(
        value: String
    ) {
        #expect(lifetime(("Cache-Control", "max-age=" + value)) == 2_147_483_648)
        #expect(privateRules.freshness(of: stored(("Age", value)), at: now).age == 2_147_483_648)
    }

    @Test func `4.2.2: a tenth of the time since Last-Modified, at most a day`() {
        #expect(lifetime(("Last-Modified", date(-1000))) == 100)
        #expect(lifetime(("Last-Modified", date(-8_640_000))) == 86_400)
        #expect(lifetime(("Last-Modified", date(-8_640_000 * 20))) == 86_400)
        #expect(lifetime(("Last-Modified", date(-1000)), ("Date", date(-500))) == 50)
        #expect(source(("Last-Modified", date(-1000))) == .heuristic)
    }

    @Test func `4.2.2: nothing is invented without a Last-Modified that lies before Date`() {
        #expect(lifetime(("ETag", "\"a\"")) == 0)
        #expect(lifetime(("Last-Modified", date(0))) == 0)
        #expect(lifetime(("Last-Modified", date(1000))) == 0)
        #expect(lifetime(("Last-Modified", "garbage")) == 0)
        #expect(source(("ETag", "\"a\"")) == .nothing)
    }

    @Test func `4.2.2: "MUST NOT use heuristics … when an explicit expiration time is present"`() {
        let modified = ("Last-Modified", date(-864_000))
        #expect(lifetime(("Cache-Control", "max-age=1"), modified) == 1)
        #expect(lifetime(("Expires", date(1)), modified) == 1)
        #expect(lifetime(("Expires", date(-1)), modified) == 0)
        #expect(lifetime(("Cache-Control", "s-maxage=1"), modified, rules: sharedRules) == 1)
    }

    @Test func `4.2.2: heuristics for statuses that allow it, and for what is marked public`() {
        let modified = ("Last-Modified", date(-1000))
        for status in [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501] {
            #expect(lifetime(modified, status: status) == 100)
        }
        for status in [201, 202, 302, 303, 307, 400, 403, 500, 503, 599] {
            #expect(lifetime(modified, status: status) == 0)
            #expect(lifetime(modified, ("Cache-Control", "public"), status: status) == 100)
        }
    }

    @Test func `5.2.2: a response's Pragma means nothing (5.4), nor does Warning (5.5)`() {
        #expect(privateRules.word(get(), stored(("Cache-Control", "max-age=60"), ("Pragma", "no-cache"))) == "fresh")
        #expect(
            privateRules.word(get(), stored(("Cache-Control", "max-age=60"), ("Warning", "110 - \"stale\""))) == "fresh"
        )
    }
}

@Suite("RFC 9111 sections 4.2.3 and 5.1: age")
struct AgeTests {
    func age(
        _ pairs: (String, String)..., ago: Double = 0, delay: Double = 0, at time: Double = 0, hasDate: Bool = true
    ) -> Int {
        var response = stored(ago: ago, delay: delay, hasDate: hasDate && !pairs.contains { $0.0 == "Date" })
        response.fields.append(contentsOf: fields(pairs))
        return privateRules.freshness(of: response, at: now + time).age
    }

    @Test func `4.2.3: "apparent_age = max(0, response_time - date_value)"`() {
        #expect(age(("Date", date(-30))) == 30)
        #expect(age(("Date", date(30))) == 0)
        #expect(age() == 0)
    }

    @Test func `4.2.3: "corrected_age_value = age_value + response_delay": relative to the time of the request`() {
        #expect(age(("Age", "20")) == 20)
        #expect(age(("Age", "20"), delay: 5) == 25)
        #expect(age(delay: 5) == 5)
    }

    @Test func `4.2.3: "corrected_initial_age = max(apparent_age, corrected_age_value)"`() {
        #expect(age(("Age", "20"), ("Date", date(-30))) == 30)
        #expect(age(("Age", "40"), ("Date", date(-30))) == 40)
    }

    @Test func `4.2.3: "current_age = corrected_initial_age + resident_time"`() {
        #expect(age(("Age", "20"), ago: 100, delay: 3, at: 7) == 130)
    }

    @Test(arguments: [("10, 20", 10), ("10,20", 10), ("20 , 10", 20), (" 10 ", 10), ("10,", 10), ("10, x", 10)])
    func `5.1: a list-based Age: "use the first member …, discarding subsequent ones"`(value: String, expected: Int) {
        #expect(age(("Age", value)) == expected)
    }

    @Test func `5.1: Age on several lines: the first`() {
        #expect(age(("Age", "10"), ("Age", "20")) == 10)
        #expect(age(("Age", "x"), ("Age", "20")) == 0)
    }

    @Test(arguments: ["", "-10", "1.5", "x", "10s", "\"10\"", "10;20", ", 10", "+10", "0x10", "１０"])
    func `5.1: an invalid Age: "a cache SHOULD ignore the field"`(value: String) {
        #expect(age(("Age", value)) == 0)
    }

    @Test func `RFC 9110 6.6.1: a Date that is missing or invalid counts as the time that the response was received`() {
        #expect(age(ago: 10, hasDate: false) == 10)
        #expect(age(("Date", "yesterday"), ago: 10) == 10)
    }

    @Test func `4: "MUST generate an Age header field, replacing any present in the response"`() throws {
        let response = stored(("Cache-Control", "max-age=60"), ("Age", "20"), ("Age", "3"), ago: 10)
        let served = try #require(privateRules.decide(get(), stored: [response], now: now).served)
        #expect(served.age == 30 && served.remainingLifetime == 30)
        #expect(privateRules.head(of: served, from: response).headerFields[values: .age] == ["30"])
    }

    @Test func `a clock that was set back makes a stored response stale, never younger than it is`() {
        let response = stored(("Cache-Control", "max-age=60"), ("ETag", "\"a\""), ago: -100)
        #expect(privateRules.word(get(), response) == "validate")
        #expect(privateRules.freshness(of: response, at: now).age == 0)
        // A second is the resolution of HTTP's dates.
        #expect(privateRules.word(get(), stored(("Cache-Control", "max-age=60"), ago: -0.5)) == "fresh")
    }

    @Test func `a clock that was set ahead makes stored responses old`() {
        let response = stored(("Cache-Control", "max-age=60"), ("ETag", "\"a\""))
        #expect(privateRules.word(get(), response, at: now + 1e9) == "validate")
    }

    @Test func `a request time after the response time, and times that are no numbers, do no harm`() {
        #expect(age(delay: -50) == 0)
        for bad in [Double.nan, .infinity, -.infinity, 1e300, -1e300] {
            var response = stored(("Cache-Control", "max-age=60"))
            response.responseTime = Date(timeIntervalSince1970: bad)
            #expect(privateRules.freshness(of: response, at: now).age >= 0)
            #expect(privateRules.freshness(of: response, at: Date(timeIntervalSince1970: bad)).age >= 0)
            response.requestTime = Date(timeIntervalSince1970: bad)
            #expect(privateRules.freshness(of: response, at: now).lifetime >= 0)
        }
    }
}
