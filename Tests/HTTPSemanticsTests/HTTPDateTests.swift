import Foundation
import HTTPSemantics
import TestSupport
import Testing

@Suite("Dates, RFC 9110 5.6.7")
struct DateTests {
    static let november = Date(timeIntervalSince1970: 784_111_777)

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        // RFC 9111 section 4.2: a cache "SHOULD match the field value case-insensitively".
        "sun, 06 nov 1994 08:49:37 gmt", "SUNDAY, 06-NOV-94 08:49:37 GMT",
    ])
    func `5.6.7: the three formats are read`(text: String) {
        #expect(HTTPDate.parse(text, now: now) == Self.november)
    }

    @Test(arguments: [
        "", "0", "-1", "now", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 PST",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Wed, 29 Feb 2023 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT", "Foo, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08.49.37 GMT", "Sun Nov 6 08:49:37 1994", "Sun Nov  6 08:49:37 94",
        "1994-11-06T08:49:37Z",
        "784111777", "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 1994 08:49:37 GM\u{0}", "Sün, 06 Nov 1994 08:49:37 GMT",
    ])
    func `5.6.7: nothing else is a date`(text: String) {
        #expect(HTTPDate.parse(text, now: now) == nil)
    }

    @Test func `5.6.7: a two-digit year more than 50 years in the future is the most recent one in the past`() throws {
        let then = try #require(HTTPDate.parse("Thu, 01 Jan 2026 00:00:00 GMT", now: now))
        #expect(HTTPDate.parse("Thursday, 01-Jan-26 00:00:00 GMT", now: then).map(HTTPDate.format) == date(0))
        func year(_ text: String) -> String? {
            HTTPDate.parse(text, now: then).map { String(HTTPDate.format($0).dropFirst(12).prefix(4)) }
        }
        #expect(year("Friday, 31-Dec-75 23:59:59 GMT") == "2075")
        #expect(year("Friday, 01-Jan-76 00:00:00 GMT") == "2076")
        #expect(year("Friday, 01-Jan-76 00:00:01 GMT") == "1976")
        #expect(year("Friday, 01-Jan-77 00:00:00 GMT") == "1977")
        #expect(year("Friday, 31-Dec-99 00:00:00 GMT") == "1999")
        #expect(year("Friday, 01-Jan-00 00:00:00 GMT") == "2000")
    }

    @Test func `5.6.7: a two-digit year is read the same way at the end of a century and before 1970`() throws {
        let at1999 = try #require(HTTPDate.parse("Fri, 31 Dec 1999 23:59:59 GMT", now: now))
        #expect(
            HTTPDate.parse("Saturday, 01-Jan-00 00:00:00 GMT", now: at1999).map(HTTPDate.format)
                == "Sat, 01 Jan 2000 00:00:00 GMT")
        #expect(
            HTTPDate.parse("Saturday, 01-Jan-50 00:00:00 GMT", now: at1999).map(HTTPDate.format)
                == "Sun, 01 Jan 1950 00:00:00 GMT")
        let at1960 = Date(timeIntervalSince1970: -315_619_200)
        #expect(
            HTTPDate.parse("Saturday, 02-Jan-60 00:00:00 GMT", now: at1960).map(HTTPDate.format)
                == "Sat, 02 Jan 1960 00:00:00 GMT")
    }

    @Test func `5.6.7: a leap second counts as the second before it, and only where there can be one`() {
        #expect(
            HTTPDate.parse("Sat, 31 Dec 2016 23:59:60 GMT", now: now).map(HTTPDate.format)
                == "Sat, 31 Dec 2016 23:59:59 GMT")
        #expect(HTTPDate.parse("Sat, 31 Dec 2016 12:30:60 GMT", now: now) == nil)
    }

    @Test func `5.6.7: a written date is an IMF-fixdate that is read back as the same second`() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            let second = Double(Int64.random(in: -62_167_219_200...253_402_300_799, using: &generator))
            let date = Date(timeIntervalSince1970: second)
            let text = HTTPDate.format(date)
            #expect(text.utf8.count == 29)
            #expect(HTTPDate.parse(text, now: now)?.timeIntervalSince1970 == second, "seed \(seed): \(text)")
        }
        #expect(HTTPDate.format(Self.november) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.format(Self.november + 0.9) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test func `a date out of range is written as the nearest possible date`() {
        #expect(HTTPDate.format(Date(timeIntervalSince1970: .infinity)) == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(HTTPDate.format(Date(timeIntervalSince1970: -.infinity)) == "Sat, 01 Jan 0000 00:00:00 GMT")
        #expect(HTTPDate.format(Date(timeIntervalSince1970: .nan)).utf8.count == 29)
        #expect(HTTPDate.parse("Sunday, 06-Nov-94 08:49:37 GMT", now: Date(timeIntervalSince1970: .infinity)) != nil)
        #expect(HTTPDate.parse("Sunday, 06-Nov-94 08:49:37 GMT", now: .distantPast) == nil)
    }
}
