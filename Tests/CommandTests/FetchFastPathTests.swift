import Testing

@testable import imgcache

@Suite("The fast path to a hit")
struct FetchFastPathTests {
    @Test(
        arguments: [
            (["fetch", "http://h/a"], "http://h/a", nil),
            (["fetch", "-q", "http://h/a"], "http://h/a", nil),
            (["fetch", "http://h/a", "--quiet", "--cache-dir", "/c"], "http://h/a", "/c"),
        ] as [([String], String, String?)])
    func `the fast path takes a command line with one URL and no option that changes the answer`(
        arguments: [String], url: String, directory: String?
    ) throws {
        let plain = try #require(FetchFastPath(arguments: arguments))
        #expect(plain.url == url)
        #expect(plain.directory == directory)
    }

    @Test(arguments: [["fetch", "-o", "f", "http://h/a"], ["fetch", "http://h/a", "--output", "f", "-q"]])
    func `the fast path accepts an output file`(arguments: [String]) throws {
        #expect(try #require(FetchFastPath(arguments: arguments)).output == "f")
    }

    @Test(arguments: [
        [], ["fetch"], ["ls"], ["--version"], ["fetch", "--help"], ["http://h/a"],
        ["fetch", "http://h/a", "http://h/b"],
        ["fetch", "http://h/a", "-o"], ["fetch", "http://h/a", "-o", "-"],
        ["fetch", "-o", "a", "--output", "b", "http://h/a"],
        ["fetch", "http://h/a", "-d", "f"], ["fetch", "--refresh", "http://h/a"], ["fetch", "--", "http://h/a"],
        ["fetch", "http://h/a", "--cache-dir"], ["fetch", "--cache-dir", "-q", "http://h/a"],
        ["fetch", "http://h/a", "-H", "Accept: x"], ["fetch", "-i", "list"], ["fetch", "-qv", "http://h/a"],
        ["help", "fetch"],
    ])
    func `the fast path leaves every other command line to the parser`(arguments: [String]) {
        #expect(FetchFastPath(arguments: arguments) == nil)
    }
}
