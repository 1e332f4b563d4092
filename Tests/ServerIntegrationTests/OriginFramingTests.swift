import TestSupport
import Testing

/// Messages of an origin whose end is a matter of opinion do not reach a client.
@Suite(.fewAtATime) struct OriginFramingTests {
    @Test(arguments: ["gzip, chunked", "foo", "identity"])
    func `a transfer coding that is not known is a 502, not a cut response`(coding: String) async throws {
        let origin = try ScriptedOrigin { _ in
            [.head(status: 200, fields: [("Transfer-Encoding", coding)]), .raw("5\r\nhello\r\n0\r\n\r\n")]
        }
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        for path in ["/a", "/a?no-store"] {
            let answer = try #require(client.get(path))
            #expect(answer.status == 502 && answer.text.contains("origin-wrong-bytes"), "\(answer.text)")
        }
        // The connection remains usable.
        #expect(try #require(client.get("/b")).status == 502)
    }

    @Test func `a 204 with a Content-Length is passed on without it, at once`() async throws {
        let origin = try ScriptedOrigin { _ in [.head(status: 204, fields: [("Content-Length", "5")])] }
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        for path in ["/a", "/b"] {
            let answer = try #require(client.get(path))
            #expect(answer.status == 204 && answer["Content-Length"] == nil && answer.body.isEmpty)
        }
        #expect(origin.requests.count == 2)
    }
}
