import FoundationEssentials
import Testing

@testable import imgcache_server

struct RepeatedSettingTests {
    @Test(arguments: [
        ["--origin", "http://a", "--origin", "http://b"], ["--origin=http://a", "--origin=http://a"],
        ["--forwarded", "--no-forwarded"], ["--forwarded", "--forwarded"], ["--config", "a", "--config", "b"],
    ])
    func `an option that is given twice is an error`(arguments: [String]) {
        let error = #expect(throws: SettingError.self) { try CommandLineOptions(arguments) }
        #expect(error?.description.hasSuffix("is specified more than once") == true)
    }

    @Test func `a list setting may be given in several parts`() throws {
        #expect(try CommandLineOptions(["--widths", "1", "--widths=2,3"]).options["widths"] == "1,2,3")
    }

    @Test(arguments: [
        (#"{"origin": "a", "origin": "b"}"#, "origin"),
        (#"{"origin": "a", "listen": "\"origin\":", "or\u0069gin": "b"}"#, "origin"),
        (#"{"origin": "a", "widths": ["origin", {"origin": 1}], "listen": {"origin": 2, "origin": 3}}"#, nil),
        (#"{"a\\": "\\\"a", "b": "a", "a": 1}"#, nil),
        (#"{"origins": {"a": {"url": "x"}, "b": {"url": "y", "presets": {"c": "", "c": ""}}}}"#, "origins.b.presets.c"),
        (#"{"origins": {"a": {"url": "x", "match": ["/a/", "/a/"], "url": "y"}}}"#, "origins.a.url"),
        (#"{}"#, nil),
    ])
    func `a key that occurs twice in the settings file is found`(json: String, key: String?) {
        #expect(SettingFileKeys(json.utf8).repeated?.joined(separator: ".") == key)
    }

    @Test func `an error in the origin does not show the password in it`() {
        let sources = { try SettingSources(options: ["origin": "http://ann:secret@a?b"], environment: [:], file: nil) }
        let error = #expect(throws: SettingError.self) { try sources().configuration() }
        #expect(error.map { "\($0)".contains("secret") } == false)
    }
}
