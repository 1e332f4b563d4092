import TestSupport
import Testing

/// Traces that reach a collector through real sockets.
@Suite(.fewAtATime) struct TraceTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"

    /// Takes the messages of an exporter.
    private func collector(status: Int = 200) throws -> ScriptedOrigin {
        try ScriptedOrigin { _ in [.head(status: status, fields: [("Content-Length", "2")]), .body(Array("{}".utf8))] }
    }

    private func spans(_ collector: ScriptedOrigin) throws -> [TraceSpan] {
        try collector.requests.flatMap { try TraceSpan.all(of: $0.request.body) }
    }

    @Test func `a trace has the steps of a thumbnail, continues the client's, and is continued by the origin`()
        async throws
    {
        let bytes = GradientPicture.bytes
        let origin = try ScriptedOrigin { _ in
            [
                .head(status: 200, fields: [("Content-Length", "\(bytes.count)"), ("Cache-Control", "max-age=60")]),
                .body(bytes),
            ]
        }
        let collector = try collector()
        let server = try await ServerProcess(
            origin: origin.url(""), "--otlp-endpoint", collector.url(""), "--otlp-fields", "X-Key: one",
            "--trace-sampling", "0")
        let client = try Client(server.port)
        let parent = "b7ad6b7169203331"
        #expect(client.get("/image/w=40,f=png/a.jpg", "traceparent: 00-\(Self.trace)-\(parent)-01")?.status == 200)
        #expect(client.get("/image/w=50,f=png/a.jpg", "traceparent: 00-\(Self.trace)-\(parent)-00")?.status == 200)
        #expect(client.get("/image/w=60,f=png/a.jpg")?.status == 200)
        await server.stop()
        let spans = try spans(collector)
        #expect(spans.allSatisfy { $0.trace == Self.trace })
        let root = try #require(spans.first { $0.kind == 2 })
        #expect(root.name == "GET image" && root.parent == parent)
        #expect(root.attributes["imgcache.cache"] == "miss" && root.attributes["http.response.status_code"] == "200")
        let steps = spans.filter { $0.kind != 2 }
        #expect(steps.allSatisfy { $0.parent == root.id })
        #expect(Set(steps.map(\.name)) == ["queue", "look-up", "origin", "decode", "process", "encode", "store"])
        let transfer = try #require(steps.first { $0.name == "origin" })
        #expect(transfer.kind == 3)
        func sent(_ name: String, _ request: RecordedRequest?) -> String? {
            request?.request.fields.first { $0.name.lowercased() == name }?.value
        }
        #expect(sent("traceparent", origin.requests.first) == "00-\(Self.trace)-\(transfer.id)-01")
        #expect(collector.requests.allSatisfy { $0.request.path == "/v1/traces" && sent("x-key", $0) == "one" })
    }

    @Test func `an unavailable trace collector delays no response and is reported once`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 8, size: 1000))
        let collector = try collector(status: 503)
        let server = try await ServerProcess(
            origin: origin.url(""), "--otlp-endpoint", collector.url(""), "--trace-sampling", "1", "--admin",
            "127.0.0.1:0")
        let client = try Client(server.port)
        for number in 0..<50 { #expect(client.get("/\(number)")?.status == 200) }
        await server.stop()
        let lines = server.process.errorOutput.split(separator: "\n").filter { $0.contains("traces are lost") }
        #expect(lines.count == 1, "\(server.process.errorOutput)")
    }
}
