import HTTPSemantics
import Testing

struct PercentEncodingTests {
    @Test func `percent escapes are decoded once`() {
        #expect(PercentEncoding.decoded("a%20b%2525%C3%a9".utf8) == Array("a b%25é".utf8))
        #expect(PercentEncoding.strictlyDecoded("a%20b%2525%C3%a9".utf8) == Array("a b%25é".utf8))
    }

    @Test(arguments: ["%", "%4", "%4g", "a%zz", "%%41"])
    func `a stray percent sign stays as it is, or is refused by strict decoding`(_ text: String) {
        #expect(PercentEncoding.decoded(text.utf8).first == text.utf8.first)
        #expect(PercentEncoding.strictlyDecoded(text.utf8) == nil)
    }

    @Test func `every escaped byte is read back as it was written`() {
        for byte in UInt8.min...UInt8.max {
            var text: [UInt8] = []
            PercentEncoding.append(byte, to: &text)
            #expect(PercentEncoding.strictlyDecoded(text) == [byte])
        }
    }
}
