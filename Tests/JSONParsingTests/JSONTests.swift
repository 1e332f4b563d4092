import Foundation
import TestSupport
import Testing

@testable import JSONParsing

@Suite("JSON, an element at a time") struct JSONElementsTests {
    /// The elements of a text that comes in pieces of such a length.
    private func elements(_ text: String, pieces: Int) throws -> [JSONElement] {
        var reader = JSONElements()
        var found: [JSONElement] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            try Array(rest.prefix(pieces)).withUnsafeBytes { try reader.append($0) { found.append($0) } }
            rest = rest.dropFirst(pieces)
        }
        try reader.end()
        return found
    }

    private func values(_ text: String, pieces: Int = 3) throws -> [String] {
        try elements(text, pieces: pieces).map { String(decoding: $0.value, as: UTF8.self) }
    }

    @Test func `an array is split into its elements, whatever pieces the text comes in`() throws {
        let text = #" [1, "a,]\"" ,{"b":[1,2,{}]}, -0.5e+3,null,[],"é"] "#
        for pieces in 1...9 {
            #expect(
                try values(text, pieces: pieces) == [
                    "1", #""a,]\"""#, #"{"b":[1,2,{}]}"#, "-0.5e+3", "null", "[]", #""é""#,
                ])
        }
        #expect(try values("[]").isEmpty && values("{ }").isEmpty)
    }

    @Test func `an object is split into its members with their names`() throws {
        let found = try elements(#"{"a\n":1,"b":{"a":2}}"#, pieces: 2)
        #expect(found.map(\.name) == ["a\n", "b"])
        #expect(found.map { String(decoding: $0.value, as: UTF8.self) } == ["1", #"{"a":2}"#])
        #expect(found[1].place == JSONPlace(line: 1, byte: 13))
    }

    @Test(arguments: [
        "", " ", "1", "\"a\"", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{1:2}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
        "[1]]",
        "[tru]", "[truee]", "[01]", "[1.]", "[.5]", "[-]", "[1e]", "[1e+]", "[+1]", "[\"\\x\"]", "[\"\\u12g4\"]",
        "[\"\n\"]",
        "[1}", "{\"a\":1]", "[NaN]", "<html>", "[1] x", "[\"a]",
    ])
    func `text that is not an array or object is refused`(_ text: String) {
        for pieces in [1, 100] { #expect(throws: JSONFault.self) { try elements(text, pieces: pieces) } }
    }

    @Test func `a JSON error names its line and byte`() {
        let fault = #expect(throws: JSONFault.self) { try elements("[\n1,\n x]", pieces: 4) }
        #expect(fault?.place == JSONPlace(line: 3, byte: 6))
        #expect(fault?.description == "line 3, byte 6: 'x' is not expected here")
    }

    @Test func `nesting that is too deep is refused without recursion`() {
        #expect(throws: JSONFault.self) { try elements(String(repeating: "[", count: 100_000), pieces: 5000) }
    }

    @Test func `the parser agrees with Foundation on random texts`() throws {
        var generator = SeededGenerator(for: "JSONElements")
        let parts = [
            "[", "]", "{", "}", ",", ":", "\"a\"", "1", "-0", "1.5e3", "true", "null", " ", "\n", "\"\\u00e9\"", "x",
            "0",
        ]
        for _ in 0..<4000 {
            let inner = (0..<Int.random(in: 0...7, using: &generator)).map { _ in
                parts[Int.random(in: 0..<parts.count, using: &generator)]
            }
            let text = "[" + inner.joined() + "]"
            // Foundation takes a comma before the end of an array or object, which RFC 8259 does not, and refuses large exponents.
            if text.contains(#/,\s*[\]}]|e3\d/#) { continue }
            let expected = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [Any]
            let found = try? values(text)
            #expect(found?.count == expected?.count, "\(text)")
        }
    }
}

@Suite("JSON pointers") struct JSONPointerTests {
    /// RFC 6901 section 5.
    private let document = Array(
        #"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#.utf8)

    @Test(arguments: [
        ("/foo", #"["bar","baz"]"#), ("/foo/0", #""bar""#), ("/", "0"), ("/a~1b", "1"), ("/c%d", "2"), ("/e^f", "3"),
        ("/g|h", "4"), (#"/i\j"#, "5"), (#"/k"l"#, "6"), ("/ ", "7"), ("/m~0n", "8"),
    ])
    func `JSON pointers find the values that RFC 6901 gives`(_ text: String, _ value: String) throws {
        let pointer = try #require(JSONPointer(text))
        #expect(pointer.value(in: document).map { String(decoding: $0, as: UTF8.self) } == value)
        #expect(pointer.description == text)
    }

    @Test func `JSON pointers distinguish members that are equal only by canonical equivalence`() throws {
        let document = Array("{\"e\u{301}\":1,\"\u{E9}\":2,\"\u{301}\":3}".utf8)
        #expect(try #require(JSONPointer("/e\u{301}")).value(in: document) == Array("1".utf8))
        #expect(try #require(JSONPointer("/\u{E9}")).value(in: document) == Array("2".utf8))
        // The slash and the mark are one `Character`.
        #expect(try #require(JSONPointer("/\u{301}")).value(in: document) == Array("3".utf8))
        #expect(JSONPointer("/e\u{301}") != JSONPointer("/\u{E9}"))
    }

    @Test func `JSON pointers to missing members find nothing`() throws {
        for text in ["/x", "/foo/2", "/foo/00", "/foo/-", "/foo/0/1", "/a/b"] {
            #expect(try #require(JSONPointer(text)).value(in: document) == nil, "\(text)")
        }
        #expect(try #require(JSONPointer("")).value(in: document) == document)
        for text in ["foo", "/a~", "/a~2"] { #expect(JSONPointer(text) == nil, "\(text)") }
    }
}
