import HTTPSemantics
import HTTPTypes
import Testing

struct StructuredFieldTests {
    private func joined(_ lines: [String]) -> String? {
        var fields = HTTPFields()
        for line in lines { fields.append(HTTPField(name: .cacheStatus, value: line)) }
        return StructuredField.joined("cache-status", in: fields).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `the lines of a structured field are joined`() {
        #expect(joined(["a", "b=1, c"]) == "a,b=1, c" && joined(["a"]) == "a")
        #expect(joined([]) == nil && joined([""]) == nil)
    }

    @Test func `a structured field that is longer than the limit is not read, on one line or on many`() {
        let most = StructuredField.mostBytes
        #expect(joined([String(repeating: "a", count: most)])?.utf8.count == most)
        #expect(joined([String(repeating: "a", count: most + 1)]) == nil)
        #expect(joined([String](repeating: "a", count: most / 2))?.utf8.count == most - 1)
        #expect(joined([String](repeating: "a", count: most / 2 + 1)) == nil)
    }
}
