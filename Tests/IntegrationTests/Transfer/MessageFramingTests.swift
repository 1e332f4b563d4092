import Foundation
import HTTPTypes
import TestSupport
import Testing
import Transfer

/// The end of messages, and the bytes after it, which are not read (RFC 9112 section 6).
@Suite(.fewAtATime) struct MessageFramingTests {
    private let representation = Representation(seed: 41, size: 5000)

    @Test(arguments: ["Content-Length", "Transfer-Encoding"])
    func `the body of a redirect is not read beyond 64 KiB`(framing: String) async throws {
        let content = Content(seed: 1, size: 200 << 20)
        let origin = try ScriptedOrigin(script: { [representation] request in
            guard request.path == "/start" else { return Behaviour(representation).script(for: request) }
            let isChunked = framing == "Transfer-Encoding"
            let field = (name: framing, value: isChunked ? "chunked" : "\(content.size)")
            return [
                .head(status: 302, fields: [("Location", "/there"), field]),
                isChunked ? .chunks(content, 0..<content.size, chunkSize: 8192) : .content(content, 0..<content.size),
            ]
        })
        let sink = PartialSink()
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url("/start")), into: sink)
        #expect(result.outcome == .body && sink.bytes == representation.content.bytes())
        #expect(result.bytesReceived == representation.size)
        // The sockets' buffers.
        #expect(origin.bodyBytesSent < 10 << 20)
    }

    @Test func `the body of a redirect is not waited for`() async throws {
        let origin = try ScriptedOrigin(script: { [representation] request in
            guard request.path == "/start" else { return Behaviour(representation).script(for: request) }
            return [.head(status: 302, fields: [("Location", "/there"), ("Content-Length", "10")]), .stall]
        })
        let result = try await TransferEngine().run(
            TransferRequest(testing: origin.url("/start")) { $0.options.stallTimeout = .seconds(600) },
            into: PartialSink())
        #expect(result.outcome == .body && result.attempts == 1)
    }

    @Test(arguments: [false, true])
    func `a 204 has no content, whatever its Content-Length says`(forwardsErrorResponses: Bool) async throws {
        let origin = try ScriptedOrigin(script: { _ in
            [.head(status: 204, fields: [("Content-Length", "5"), ("Transfer-Encoding", "gzip")])]
        })
        let sink = PartialSink()
        let result = try await TransferEngine().run(
            TransferRequest(testing: origin.url()) { $0.options.forwardsErrorResponses = forwardsErrorResponses },
            into: sink)
        #expect(result.outcome == .body && result.attempts == 1 && sink.bytes.isEmpty)
        #expect(result.head.fields[.contentLength] == nil && result.head.fields[.transferEncoding] == nil)
        #expect(origin.requests.count == 1)
    }

    @Test func `a 304 may say how long the content would be`() async throws {
        let origin = try ScriptedOrigin(script: { _ in [.head(status: 304, fields: [("Content-Length", "5000")])] })
        let result = try await TransferEngine().run(
            TransferRequest(testing: origin.url()) { $0.fields[.ifNoneMatch] = "\"a\"" }, into: PartialSink())
        #expect(result.outcome == .notModified && result.attempts == 1)
    }

    @Test(
        arguments: ["foo", "gzip", "gzip, chunked", "chunked, chunked", "chunked, foo", "identity", "chunked;a=b", ""],
        [200, 404])
    func `a response with a transfer coding that is not known is an error before its head is passed on`(
        coding: String, status: Int
    ) async throws {
        let origin = try ScriptedOrigin(script: { _ in
            [
                .head(status: status, fields: [("Transfer-Encoding", coding), ("ETag", "\"a\"")]),
                .raw("5\r\nhello\r\n0\r\n\r\n"),
            ]
        })
        let sink = PartialSink()
        let error = await failure { () throws(TransferError) in
            try await TransferEngine().run(
                TransferRequest(testing: origin.url()) { $0.options.forwardsErrorResponses = true }, into: sink)
        }
        #expect(error?.code == .protocolViolation, "\(String(describing: error))")
        #expect(sink.begins == 0 && origin.requests.count == 1)
    }

    @Test(arguments: ["chunked", "Chunked", "CHUNKED"])
    func `the transfer coding chunked is known in any letter case`(coding: String) async throws {
        let origin = try ScriptedOrigin(script: { _ in
            [.head(status: 200, fields: [("Transfer-Encoding", coding)]), .raw("5\r\nhello\r\n0\r\n\r\n")]
        })
        let sink = PartialSink()
        _ = try await TransferEngine().run(TransferRequest(testing: origin.url()), into: sink)
        #expect(sink.bytes == Array("hello".utf8))
    }
}
