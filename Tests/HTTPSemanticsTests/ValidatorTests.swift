import Foundation
import HTTPSemantics
import HTTPTypes
import Testing

@Suite("RFC 9110 section 8.8: validators")
struct ValidatorTests {
    @Test(arguments: [
        ("\"a\"", true), ("W/\"a\"", true), ("\"\"", true), ("\"a,b\"", true), ("\"a\\\"", true), (" \"a\" ", true),
        ("\"é\"", true),
        ("a", false), ("", false), ("\"", false), ("\"a", false), ("a\"", false), ("w/\"a\"", false),
        ("W\"a\"", false), ("W/", false),
        ("\"a\"\"", false), ("\"a b\"", false), ("'a'", false), ("W/ \"a\"", false), ("\"a\", \"b\"", false),
    ])
    func `8.8.3: a valid entity tag is read, and an invalid one is not`(text: String, isTag: Bool) {
        #expect((EntityTag(text) != nil) == isTag)
    }

    @Test(arguments: [
        ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "W/\"2\"", false, false),
        ("W/\"1\"", "\"1\"", false, true), ("\"1\"", "\"1\"", true, true),
        ("\"a\"", "\"A\"", false, false), ("\"\u{e9}\"", "\"e\u{301}\"", false, false),
    ])
    func `8.8.3.2: two entity tags match strongly or weakly`(one: String, other: String, strong: Bool, weak: Bool)
        throws
    {
        let one = try #require(EntityTag(one))
        let other = try #require(EntityTag(other))
        #expect(one.matchesStrongly(other) == strong && other.matchesStrongly(one) == strong)
        #expect(one.matchesWeakly(other) == weak && other.matchesWeakly(one) == weak)
        #expect((one == other) == (weak && one.isWeak == other.isWeak))
        #expect(EntityTag(one.text) == one)
    }

    @Test func `8.8.3: an entity tag that is not UTF-8 is ignored`() {
        var answer = HTTPFields()
        answer.append(HTTPField(name: .eTag, value: [0x22, 0xFF, 0x22]))
        #expect(ValidatorFields(answer).entityTag == nil)
    }

    @Test func `8.8.2.2: Last-Modified counts as strong when Date is at least a second later`() {
        #expect(!ValidatorFields.isStrong(lastModified: now, date: now))
        #expect(!ValidatorFields.isStrong(lastModified: now + 1, date: now))
        #expect(ValidatorFields.isStrong(lastModified: now - 1, date: now))
        #expect(ValidatorFields(fields([("Last-Modified", date(-1)), ("Date", date(0))])).strongText == date(-1))
        #expect(ValidatorFields(fields([("Last-Modified", date(-1))])).strongText == nil)
        #expect(!ValidatorFields(fields([("Last-Modified", "x"), ("Date", date(0))])).exists)
    }

    @Test func `13.1.5: the tag decides where there is one, weak or not`() {
        let dates = [("Last-Modified", date(-60)), ("Date", date(0))]
        #expect(ValidatorFields(fields(dates + [("ETag", "\"a\"")])).strongText == "\"a\"")
        #expect(ValidatorFields(fields(dates + [("ETag", "W/\"a\"")])).strongText == nil)
        #expect(ValidatorFields(fields(dates)).isStrong)
        // The value is not a tag, and does not affect the strength of the date.
        #expect(ValidatorFields(fields(dates + [("ETag", "a")])).strongText == nil)
    }

    @Test func `a field that is given twice with different values is not a validator`() {
        let both = ValidatorFields(fields([("ETag", "\"a\""), ("ETag", "\"b\"")]))
        #expect(both.entityTag == nil && !both.exists)
        #expect(ValidatorFields(fields([("ETag", "\"a\""), ("ETag", "\"a\"")])).strongText == "\"a\"")
    }

    @Test func `only an IMF-fixdate is sent back as a validator`() {
        let obsolete = [("Last-Modified", "Wednesday, 31-Dec-25 23:00:00 GMT"), ("Date", date(0))]
        #expect(ValidatorFields(fields(obsolete), receivedAt: now).exists)
        #expect(ValidatorFields(fields(obsolete), receivedAt: now).strongText == nil)
        #expect(HTTPDate.isIMFFixdate("Sun, 06 Nov 1994 08:49:37 GMT"))
        #expect(
            !HTTPDate.isIMFFixdate("Sun Nov  6 08:49:37 1994")
                && !HTTPDate.isIMFFixdate("Sun, 31 Feb 2026 08:49:37 GMT"))
    }
}
