import FoundationEssentials
import Logging
import Testing

@testable import imgcache_server

@Suite("Messages of the service")
struct MessageLogTests {
    private static let date = Date(timeIntervalSince1970: 1_700_000_000.25)

    private func line(_ data: [String: String], _ format: MessageFormat) -> String {
        String(
            decoding: MessageLog.line(
                at: Self.date, .warning, "an origin is left alone", data, from: "imgcache", as: format),
            as: UTF8.self)
    }

    @Test func `a text log message has the sentence first and then its values by name`() {
        #expect(
            line(["origin": "photos", "failures": "8"], .text)
                == "2023-11-14T22:13:20.250Z warning: an origin is left alone (failures=8, origin=photos)\n")
        #expect(line([:], .text) == "2023-11-14T22:13:20.250Z warning: an origin is left alone\n")
    }

    @Test func `a JSON log message is one object on one line`() {
        #expect(
            line(["origin": "a \"b\""], .json)
                == #"{"data":{"origin":"a \"b\""},"level":"warning","logger":"imgcache","message":"an origin is left alone","#
                + #""time":"2023-11-14T22:13:20.250Z"}"# + "\n")
    }

    @Test func `a log message masks secrets and stays on one line`() {
        let safe = MessageLog.safe("http://user:secret@h/?token=abc\nnext")
        #expect(!safe.contains("secret") && !safe.contains("abc") && !safe.contains("\n"), "\(safe)")
    }
}
