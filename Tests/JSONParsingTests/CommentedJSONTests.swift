import Testing

@testable import JSONParsing

@Suite("JSON with comments")
struct CommentedJSONTests {
    private func json(_ text: String) throws -> String {
        String(decoding: try CommentedJSON(text.utf8).json, as: UTF8.self)
    }

    @Test(arguments: [
        ("{}", "{}"), (#"{"a": 1} // end"#, #"{"a": 1}       "#), ("/* x\ny */{}", "    \n    {}"),
        (#"{"a": "// no /* comment */ \" //"}"#, #"{"a": "// no /* comment */ \" //"}"#),
        (#"{"a": [1, 2, ], }"#, #"{"a": [1, 2  ]  }"#), ("[1, // one\n]", "[1        \n]"), (#"[","]"#, #"[","]"#),
        ("12", "12"),
    ])
    func `comments and trailing commas become spaces, and everything else keeps its position`(
        text: String, plain: String
    ) throws {
        #expect(try json(text) == plain)
    }

    @Test(arguments: [
        ("{\n  \"a\": }", 2, 8, "'}' is not expected here"), ("{\"a\": 1", 1, 8, "the text ends too early"),
        ("", 1, 1, "the text ends too early"),
        ("{\n/* never", 2, 1, "the comment does not end"), ("[,]", 1, 2, "',' is not expected here"),
        ("[1,,]", 1, 4, "',' is not expected here"),
        ("{\"a\": 1,\n \"b\" 2}", 2, 6, "'2' is not expected here"), ("[1] x", 1, 5, "'x' is not expected here"),
        ("{\"a\":,}", 1, 6, "',' is not expected here"), ("/", 1, 1, "'/' is not expected here"),
        ("[\"a\n\"]", 1, 4, "this character is not expected here"),
    ])
    func `a syntax error has its line and column`(text: String, line: Int, column: Int, reason: String) {
        let error = CommentedJSON.SyntaxError(line: line, column: column, reason: reason)
        #expect(throws: error) { try json(text) }
    }

    @Test(arguments: [
        (#"{"a": 1, "b": 2, "a": 3}"#, 1, 18, "a"), ("{\"a\": 1, // \"a\"\n \"\\u0061\": 2}", 2, 2, "a"),
        (#"{"a": {"b": [1, {"c": 1, "c": [], "a": 1, "a": 2}]}}"#, 1, 26, "c"),
        (#"{"a": {"b": 1,}, "c": {"b": 2, }, "b": [], "c": 1,}"#, 1, 44, "c"),
        (#"{"": 1, "a": 12, "": 1}"#, 1, 18, ""),
    ])
    func `the second of two members of one name has its line and column`(
        text: String, line: Int, column: Int, name: String
    ) throws {
        let reason = "\"\(name)\" is specified more than once"
        let error = CommentedJSON.SyntaxError(line: line, column: column, reason: reason)
        #expect(try CommentedJSON(text.utf8).repeatedName == error)
    }

    @Test(arguments: [
        "{}", "12", #"["a", "a"]"#, #"{"a": "a", "b": {"a": "a"}, "A": ["a", {"a": 1}, {"a": 1}]}"#,
        "{\"e\u{301}\": 1, \"\u{E9}\": 2}", #"{"a": "b\"", "b": 1,}"#,
    ])
    func `members of different names or objects are not repeated`(text: String) throws {
        #expect(try CommentedJSON(text.utf8).repeatedName == nil)
    }

    @Test func `plain JSON stays as it is`() throws {
        let text = #"{"a": [true, null, -1.5e3, "é\u00e9\\"], "b": {"c": {}}}"#
        #expect(try json(text) == text)
    }
}
