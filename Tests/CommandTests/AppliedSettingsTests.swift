import Foundation
import Testing

@testable import imgcache

@Suite("Settings that are added to a command line")
struct AppliedSettingsTests {
    private func applied(_ settings: String, _ line: String) throws -> [String] {
        try Settings(path: "config.json", text: Data(settings.utf8))
            .applied(to: line.split(separator: " ").map(String.init))
    }

    @Test(arguments: [
        ("rm http://a/", ["--netrc"]), ("rm --prefix http://a/", []), ("rm --filter *.jpg", []), ("clear", []),
        ("clear --partials", []), ("info http://a/", ["--netrc"]), ("fetch http://a/", ["--netrc"]),
    ])
    func `netrc and cert select the entries of URLs, and never narrow a removal of many`(
        line: String, added: [String]
    ) throws {
        let words = line.split(separator: " ").map(String.init)
        #expect(try Set(applied(#"{"netrc": true}"#, line)) == Set(words + added))
        let certificate = added.isEmpty ? [] : ["--cert=c"]
        #expect(try Set(applied(#"{"cert": "c"}"#, line)) == Set(words + certificate))
    }

    @Test(arguments: [
        (#"{"ipv4": true}"#, "fetch -6 http://a/"), (#"{"ipv6": true}"#, "fetch --ipv4 http://a/"),
        (#"{"cookies": "jar"}"#, "fetch -H Cookie:a=1 http://a/"),
        (#"{"cookies": "jar"}"#, "fetch -HCookie:a=1 http://a/"),
        (#"{"remote-timeout": 3, "remote-private": true}"#, "fetch http://a/"),
        (#"{"cache-dir": "/a"}"#, "doctor /b"), (#"{"private-key": "k"}"#, "fetch --cert c http://a/"),
        (#"{"limit-rate": "100k"}"#, "fetch --speed-limit 200k http://a/"),
        (#"{"speed-limit": "100k"}"#, "fetch --limit-rate=50k http://a/"),
    ])
    func `an option on the command line takes the place of a setting that it excludes`(
        settings: String, line: String
    ) throws {
        #expect(try applied(settings, line) == line.split(separator: " ").map(String.init))
    }

    @Test(arguments: [
        ["--help"], ["--version"], ["help", "fetch"], ["fetch", "--help"], ["fetch", "-h"],
        ["serve", "--origin", "http://a"],
        ["--generate-completion-script", "bash"], [], ["ls", "--version"],
    ])
    func `help, the version and the service do not depend on the settings`(line: [String]) {
        #expect(!Settings.mayApply(to: line))
    }

    @Test func `a setting applies where nothing excludes it`() throws {
        #expect(Settings.mayApply(to: ["fetch", "http://a/", "--", "--help"]))
        #expect(try applied(#"{"ipv4": true}"#, "fetch http://a/") == ["fetch", "--ipv4", "http://a/"])
        // Values that look like options are none.
        for words in ["cat -r -6 http://a/", "cat -r-6 http://a/", "fetch -j6 http://a/"] {
            #expect(try applied(#"{"ipv4": true}"#, words).contains("--ipv4"), "\(words)")
        }
        #expect(
            try applied(#"{"limit-rate": "100k"}"#, "fetch --speed-limit 50k http://a/").contains("--limit-rate=100k"))
        #expect(try applied(#"{"cache-dir": "/a"}"#, "doctor --json") == ["doctor", "--cache-dir=/a", "--json"])
        #expect(
            try applied(#"{"remote": "s3://a", "remote-private": true}"#, "fetch http://a/")
                == ["fetch", "--remote=s3://a", "--remote-private", "http://a/"])
    }
}
