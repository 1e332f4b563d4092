import HTTPSemantics
import HTTPTypes
import Testing

struct ContentRangeTests {
    @Test func `byte ranges in Content-Range are read and written`() {
        #expect(ContentRange("bytes 0-0/1") == .range(0..<1, total: 1))
        #expect(ContentRange("bytes 5-9/10") == .range(5..<10, total: 10))
        #expect(ContentRange("BYTES 5-9/*") == .range(5..<10, total: nil))
        #expect(ContentRange("bytes */0") == .unsatisfied(total: 0))
        #expect(
            ContentRange("bytes 9223372036854775805-9223372036854775805/9223372036854775807")
                == .range(9_223_372_036_854_775_805..<9_223_372_036_854_775_806, total: .max))
        for text in ["bytes 0-0/1", "bytes 5-9/*", "bytes */10"] { #expect(ContentRange(text)?.text == text) }
    }

    @Test(arguments: [
        "", "bytes", "bytes ", "bytes 5-9", "bytes 5-9/", "bytes 5-4/10", "bytes 5-10/10", "bytes -5/10",
        "bytes 5-/10", "bytes +5-9/10", "bytes  5-9/10", "bytes 5-9/10/11", "bytes 5-9-10/20", "bytes */*",
        "bytes */", "bytes=5-9/10", "items 5-9/10", "bytes 5-9/10, bytes 0-1/10", "bytes 5- 9/10",
        "bytes 0-9223372036854775807/*", "bytes 0-9223372036854775808/*", "bytes 0-1/99999999999999999999",
        "bytes */99999999999999999999", "bytes ٥-٩/10",
    ])
    func `any other Content-Range is invalid`(_ text: String) {
        #expect(ContentRange(text) == nil)
    }

    @Test func `several Content-Range fields count as none`() {
        #expect(ContentRange(fields([("Content-Range", "bytes 0-9/100")])) == .range(0..<10, total: 100))
        #expect(ContentRange(fields([("Content-Range", "bytes 0-9/100"), ("Content-Range", "bytes 0-9/100")])) == nil)
        #expect(ContentRange(HTTPFields()) == nil)
    }

    @Test func `a Range is written as it is read`() {
        for text in ["5-9", "5-", "-5"] { #expect(ByteRange(fields([("Range", "bytes=" + text)]))?.text == text) }
        #expect(ByteRange(5..<10).text == "5-9" && ByteRange(5..<Int64.max).text == "5-")
        #expect(ByteRange(fields([("Range", "bytes=0-1,3-4")])) == nil)
    }
}
