import ConcurrencyPrimitives
import HTTPServer
import HTTPTypes
import NIOCore
import NIOPosix
import TestSupport
import Testing

/// `HTTPServer` with a handler that is neither a cache's nor a proxy's.
@Suite(.fewAtATime) struct StandaloneServerTests {
    private final class Handler: RequestHandler {
        private struct Failure: Error {}

        /// The responses to `/again` so far, and whether they may be sent again.
        let again = Locked((made: 0, mayBeReused: true))

        func readyResponse(to request: Request) -> Response? {
            if request.head.targetText == "/again" { return responseForOthers(request) }
            guard request.head.targetText == "/ready" else { return nil }
            var response = Response(HTTPResponse(status: .ok), body: .bytes(Array("ready".utf8)))
            response.outcome = "at once"
            return response
        }

        private func responseForOthers(_ request: Request) -> Response {
            let number = again.withLock { again in
                again.made += 1
                return again.made
            }
            var response = Response(
                HTTPResponse(status: .ok, headerFields: [.date: "Sun, 22 Nov 2026 20:00:00 GMT"]),
                body: request.method == .head ? .none : .bytes(Array("number \(number)".utf8)))
            response.reuse = ResponseReuse(selectingNames: [], lifetime: .seconds(1)) { [again] in
                again.withLock { $0.mayBeReused }
            }
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

    /// Records the observed events.
    private final class Observer: RequestObserver {
        let records = Locked<[RequestRecord]>([])
        let refused = Locked<[RequestError.Reason]>([])
        let reused = Locked(0)
        let readsRequests: Bool

        init(readsRequests: Bool) { self.readsRequests = readsRequests }

        func requestEnded(target: String, status: Int, outcome: String?, bytesSent: Int64, duration: Duration) {
            reused.withLock { $0 += 1 }
        }
        func requestRefused(_ reason: RequestError.Reason) { refused.withLock { $0.append(reason) } }
        func requestEnded(_ record: RequestRecord) { records.withLock { $0.append(record) } }
    }

    /// Runs a server with that handler during `body`, and returns the observed events.
    private func serve(
        _ handler: Handler = Handler(), readsRequests: Bool = true, _ body: @Sendable @escaping (UInt16) throws -> Void
    ) async throws -> Observer {
        let observer = Observer(readsRequests: readsRequests)
        let limit = ShareLimiter.Limits(total: 16)
        let listener = Listener(
            settings: ConnectionSettings(), handler: handler, observer: observer,
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

    @Test func `a handler answers at once, later or in pieces, and the observer sees the end of each request`()
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

    @Test func `the handler is not called for a malformed request`() async throws {
        let observer = try await serve { port in
            let answer = try Client(port).ask("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
            #expect(answer?.status == 400)
        }
        #expect(observer.refused.withLock { $0 } == [.malformed])
        #expect(observer.records.withLock { $0.map(\.isMalformed) } == [true])
    }

    @Test(arguments: [true, false])
    func `a response that may be reused is sent to equal requests without asking the handler`(readsRequests: Bool)
        async throws
    {
        let handler = Handler()
        let observer = try await serve(handler, readsRequests: readsRequests) { port in
            let client = try Client(port)
            // A second may pass between two of them, and then the handler is asked once more.
            let texts = (0..<50).compactMap { _ in client.get("/again")?.text }
            let made = handler.again.withLock { $0.made }
            #expect(texts.count == 50 && made < 50 && Set(texts).count == made)
            // From here on each is a new one.
            handler.again.withLock { $0.mayBeReused = false }
            let first = try #require(client.get("/again"))
            let second = try #require(client.get("/again"))
            #expect(first.text != second.text && first["X-Request-Id"] != second["X-Request-Id"])
            #expect(handler.again.withLock { $0.made } == made + 2)
        }
        let records = observer.records.withLock { $0 }
        let reused = observer.reused.withLock { $0 }
        #expect(records.count + reused == 52)
        #expect(readsRequests ? reused == 0 : reused > 0)
        #expect(records.allSatisfy { $0.request.head.targetText == "/again" && $0.status == 200 && $0.bytesSent >= 8 })
    }

    @Test func `pipelined requests get their responses in order, reused or not`() async throws {
        _ = try await serve { port in
            let client = try Client(port)
            let requests = ["/again", "/again", "/echo", "/again", "/ready", "/again"]
            let all = requests.map { "GET \($0) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined()
            let first = client.ask(all)
            #expect(first?.text.hasPrefix("number") == true)
            let texts = (1..<requests.count).compactMap { _ in client.answer()?.text }
            #expect(texts.map { $0.hasPrefix("number") } == [true, false, true, false, true])
            #expect(texts[1].isEmpty && texts[3] == "ready")
        }
    }
}
