import FoundationEssentials
import HTTPTypes
import Testing

@testable import HTTPServer
@testable import ThumbnailServer

struct MaskedTextTests {
    @Test(arguments: [
        (
            "/a.jpg?v=2&imgcache-kid=1&imgcache-exp=9&imgcache-sig=tzLUe-_x",
            "/a.jpg?v=2&imgcache-kid=1&imgcache-exp=9&imgcache-sig=***"
        ),
        ("/a?X-Amz-Signature=abc&x=y", "/a?X-Amz-Signature=***&x=y"),
        ("/a?%73ig=abc", "/a?%73ig=***"),
        ("/a?SIG=a%26b,c;d)e#f", "/a?SIG=***#f"),
        ("/a?x=1?token=abc&sig", "/a?x=1?token=***&sig"),
        ("/a?sig==a=b", "/a?sig=***"),
        ("/a?sig=", "/a?sig=***"),
        ("/a?assign=b&design=c", "/a?assign=b&design=c"),
        ("/a?b", "/a?b"),
        (
            "http://a/b?sig=1 answered \"http://c/d?token=2\" and <http://e/?key=3>",
            "http://a/b?sig=*** answered \"http://c/d?token=***\" and <http://e/?key=***>"
        ),
    ])
    func `what authorises in a URL is not shown`(text: String, expected: String) {
        #expect(MaskedText.masked(text) == expected)
    }

    @Test func `the access log has no signature in it, whatever the request came to`() {
        let client = ClientAddress("192.0.2.7")
        let head = RequestHead(method: .get, target: .path("/a?imgcache-sig=secret"))
        let record = RequestRecord(
            Exchange(head: head, client: client, peer: client, content: [], id: "1", received: .now), status: 502,
            error: "origin-unreachable", detail: "http://a/b?X-Amz-Signature=secret: connection refused")
        let line = String(decoding: record.line(at: .init(timeIntervalSince1970: 0)), as: UTF8.self)
        #expect(!line.contains("secret"), "\(line)")
        #expect(line.contains("connection refused"))
    }
}

struct RepeatedSettingTests {
    @Test(arguments: [
        ["--origin", "http://a", "--origin", "http://b"], ["--origin=http://a", "--origin=http://a"],
        ["--forwarded", "--no-forwarded"], ["--forwarded", "--forwarded"], ["--config", "a", "--config", "b"],
    ])
    func `an option that is given twice is an error`(arguments: [String]) {
        let error = #expect(throws: SettingMistake.self) { try CommandLineOptions(arguments) }
        #expect(error?.description.hasSuffix("is specified more than once") == true)
    }

    @Test func `a list may be given bit by bit`() throws {
        #expect(try CommandLineOptions(["--widths", "1", "--widths=2,3"]).options["widths"] == "1,2,3")
    }

    @Test(arguments: [
        (#"{"origin": "a", "origin": "b"}"#, "origin"),
        (#"{"origin": "a", "listen": "\"origin\":", "or\u0069gin": "b"}"#, "origin"),
        (#"{"origin": "a", "widths": ["origin", {"origin": 1}], "listen": {"origin": 2, "origin": 3}}"#, nil),
        (#"{"a\\": "\\\"a", "b": "a", "a": 1}"#, nil),
        (#"{}"#, nil),
    ])
    func `a key that stands in the file twice is found`(json: String, key: String?) {
        #expect(SettingFileKeys.repeated(in: json.utf8) == key)
    }

    @Test func `a mistake in the origin does not show the password in it`() {
        let sources = { try SettingSources(options: ["origin": "http://ann:secret@a?b"], environment: [:], file: nil) }
        let error = #expect(throws: SettingMistake.self) { try sources().configuration() }
        #expect(error.map { "\($0)".contains("secret") } == false)
    }
}
