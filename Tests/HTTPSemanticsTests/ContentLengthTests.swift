import HTTPSemantics
import HTTPTypes
import Testing

struct ContentLengthTests {
    func length(_ values: String...) -> ContentLength { ContentLength(fields(values.map { ("Content-Length", $0) })) }

    @Test func `a Content-Length is one length, or several equal ones`() {
        #expect(length() == .absent)
        #expect(length("0") == .bytes(0) && length(" 42 ") == .bytes(42))
        #expect(length("42, 42") == .bytes(42) && length("42", "42") == .bytes(42))
    }

    @Test(arguments: [
        "", "4,", "42, 43", "-1", "+1", "4 2", "0x10", "9223372036854775807", "99999999999999999999", "٤",
    ])
    func `any other Content-Length is invalid`(_ value: String) {
        #expect(length(value) == .invalid)
        #expect(ContentLength.value(of: fields([("Content-Length", value)])) == nil)
    }

    @Test func `different lengths in Content-Length are invalid`() {
        #expect(length("1", "2") == .invalid && length("1", "2", "1") == .invalid)
    }
}
