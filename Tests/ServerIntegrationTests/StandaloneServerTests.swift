import ConcurrencyPrimitives
import HTTPServer
import HTTPTypes
import NIOCore
import NIOPosix
import TestSupport
import Testing

/// `HTTPServer` with a handler that is neither a cache's nor a proxy's.
@Suite(.fewAtATime, .timeLimit(.minutes(20))) struct StandaloneServerTests {
    private struct Handler: RequestHandler {
        private struct Failure: Error {}

        func readyResponse(to request: Request) -> Response? {
            guard request.head.targetText == "/ready" else { return nil }
            var response = Response(HTTPResponse(status: .ok), body: .bytes(Array("ready".utf8)))
            response.outcome = "at once"
            return response
        }

        func response(to request: Request) async -> Response {
            switch request.head.targetText {
            case "/echo": Response(HTTPResponse(status: .ok), body: .bytes(request.content))
            case "/pieces":
                Response(
                    HTTPResponse(status: .ok),
                    body: .stream(length: nil) { writer in
                        for piece in ["one ", "two ", "three"] { try await writer.write(Array(piece.utf8)) }
                    })
            case "/cut":
                Response(
                    HTTPResponse(status: .ok),
                    body: .stream(length: 100) { writer in
                        try await writer.write(Array("part".utf8))
                        throw Failure()
                    })
            default: .failure(404, "not-found", "Not found.")
            }
        }
    }

    /// Keeps what it is told.
    private final class Observer: RequestObserver {
        let records = Locked<[RequestRecord]>([])
        let refused = Locked<[RequestError.Reason]>([])

        func requestRefused(_ reason: RequestError.Reason) { refused.withLock { $0.append(reason) } }
        func requestEnded(_ record: RequestRecord) { records.withLock { $0.append(record) } }
    }

    /// Runs a server with that handler while `body` does, and gives what the observer was told.
    private func serve(_ body: @Sendable @escaping (UInt16) throws -> Void) async throws -> Observer {
        let observer = Observer()
        let limit = ShareLimiter.Limits(total: 16)
        let listener = Listener(
            settings: ConnectionSettings(), handler: Handler(), observer: observer,
            admission: Admission(Admission.Limits()), connections: ConnectionRegistry(limit))
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let address = try #require(ListenAddress("127.0.0.1:0"))
        let channel = try await ListeningSocket.start(on: address, group: group, listener: listener)
        let port = UInt16(channel.localAddress?.port ?? 0)
        try await onThreadOfItsOwn { try body(port) }
        await ListeningSocket.stop(channel)
        try await channel.closeFuture.get()
        await listener.drain(within: .seconds(10))
        try await group.shutdownGracefully()
        return observer
    }

    @Test func `a handler answers at once, later, or piece by piece, and the observer is told of each request's end`()
        async throws
    {
        let observer = try await serve { port in
            let client = try Client(port)
            #expect(client.get("/ready")?.text == "ready")
            let echo = client.ask("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
            #expect(echo?.text == "hello")
            let pieces = client.get("/pieces")
            #expect(pieces?["Transfer-Encoding"] == "chunked" && pieces?.text == "one two three")
            #expect(client.get("/nothing")?.status == 404)
            // The last: a response that breaks off ends its connection.
            #expect(client.get("/cut") == nil)
        }
        let records = observer.records.withLock { $0 }
        #expect(records.map(\.request.head.targetText) == ["/ready", "/echo", "/pieces", "/nothing", "/cut"])
        #expect(records.map(\.status) == [200, 200, 200, 404, 200])
        #expect(records.map(\.bytesSent).prefix(3) == [5, 5, 13])
        #expect(records.map(\.outcome) == ["at once", nil, nil, nil, nil])
        #expect(records.map(\.isCutShort) == [false, false, false, false, true])
    }

    @Test func `the handler is not asked for what is no request`() async throws {
        let observer = try await serve { port in
            let answer = try Client(port).ask("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
            #expect(answer?.status == 400)
        }
        #expect(observer.refused.withLock { $0 } == [.malformed])
        #expect(observer.records.withLock { $0.map(\.isMalformed) } == [true])
    }
}
