import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import ImageCache
import TestSupport
import Testing

/// The library as a proxy uses it: every method and status, heads at once, bodies while they arrive.
@Suite(.fewAtATime(limit: .seconds(180))) struct ForwardingTests: ForwardingSuite {
    let proxy: ProxyCache
    private let representation = Representation(seed: 91, size: 3_000_000)

    init() throws { proxy = try ProxyCache() }

    private func origin(
        _ representation: Representation? = nil,
        _ change: @escaping @Sendable (inout Behaviour, ReceivedRequest) -> Void = { _, _ in }
    ) throws -> ScriptedOrigin {
        try ScriptedOrigin { [own = self.representation, clock] request in
            Behaviour(representation ?? own).with {
                $0.date = clock.withLock { $0 }
                change(&$0, request)
            }
        }
    }

    // MARK: Files

    @Test func `a file is delivered while it is stored, and the next request is a hit`() async throws {
        let origin = try origin()
        let first = try await cache.forward(request(origin.url()))
        #expect(first.head.status == .ok)
        #expect(first.head.headerFields[.contentLength] == "3000000")
        #expect(status(of: first) == "imgcache; fwd=uri-miss; fwd-status=200; stored")
        #expect(try await first.bytes() == representation.content.bytes())
        let second = try await cache.forward(request(origin.url()))
        #expect(status(of: second) == "imgcache; hit; ttl=3600")
        #expect(try await second.bytes() == representation.content.bytes())
        #expect(origin.requests.count == 1)
    }

    @Test func `the head comes before the body, and the body's bytes as they arrive`() async throws {
        let gate = Gate()
        let small = Representation(seed: 3, size: 100_000)
        let origin = try origin(small) { behaviour, _ in behaviour.bodyGate = (40_000, gate) }
        let answer = try await cache.forward(request(origin.url()))
        #expect(answer.body?.length == 100_000)
        var received: [UInt8] = []
        for try await piece in try #require(answer.body) {
            received += try piece.bytes()
            // The origin sends no more before these are here.
            if received.count == 40_000 { gate.open() }
        }
        #expect(received == small.content.bytes())
    }

    @Test func `clients that ask during a download share one request, and one that leaves does not stop it`()
        async throws
    {
        let gate = Gate()
        let origin = try origin { behaviour, _ in behaviour.bodyGate = (1_000_000, gate) }
        let url = origin.url()
        let first = try await cache.forward(request(url))
        var others: [ForwardedResponse] = []
        for _ in 0..<20 { others.append(try await cache.forward(request(url))) }
        #expect(others.allSatisfy { status(of: $0).contains("collapsed") })
        let leaving = Task { try await first.bytes() }
        leaving.cancel()
        _ = try? await leaving.value
        gate.open()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for other in others {
                group.addTask { try await other.bytes() == representation.content.bytes() }
            }
            for try await isRight in group { #expect(isRight) }
        }
        #expect(origin.requests.count == 1)
    }

    @Test func `a transfer that the origin cuts is resumed by range while a client reads it`() async throws {
        let origin = try origin { behaviour, request in
            behaviour.cutAfter = request["range"] == nil ? 1_200_000 : request.number < 3 ? 600_000 : nil
        }
        let answer = try await cache.forward(request(origin.url()))
        #expect(try await answer.bytes() == representation.content.bytes())
        #expect(origin.requests.count == 3)
        #expect(origin.bodyBytesSent < 3_000_000 + 2 * 262_144 + 100_000)
    }

    @Test func `a version change during a transfer ends its content with an error`()
        async throws
    {
        let other = Representation(seed: 92, size: 2_000_000)
        let gate = Gate()
        let origin = try origin { behaviour, request in
            if request.number == 1 {
                behaviour.cutAfter = 1_200_000
            } else {
                behaviour = Behaviour(other)
                behaviour.bodyGate = (500_000, gate)
            }
        }
        let answer = try await cache.forward(request(origin.url()))
        await #expect(throws: ImageCacheError.self) { _ = try await answer.bytes() }
        gate.open()
        #expect(try await cache.forward(request(origin.url())).bytes() == other.content.bytes())
    }

    @Test(arguments: [200, 503])
    func `a cut transfer ends its content with an error if the rest may not be stored`(code: Int) async throws {
        let origin = try ScriptedOrigin { [representation] request in
            guard request.number > 1 else { return Behaviour(representation).with { $0.cutAfter = 1_200_000 } }
            if code == 503 { return .status(code) }
            return Behaviour(Representation(seed: 92, size: 3_000_000, cacheControl: "no-store"))
        }
        let answer = try await cache.forward(request(origin.url()))
        let error = await #expect(throws: ImageCacheError.self) { _ = try await answer.bytes() }
        #expect(error?.code == .unreachable)
        #expect(origin.requests.count == 2)
    }

    @Test func `a range of an unstored file is answered as soon as its bytes arrive`() async throws {
        let gate = Gate()
        let origin = try origin { behaviour, _ in behaviour.bodyGate = (1_000_000, gate) }
        let answer = try await cache.forward(request(origin.url(), .get, [.range: "bytes=100-600000"]))
        #expect(answer.head.status == .partialContent)
        #expect(answer.head.headerFields[.contentRange] == "bytes 100-600000/3000000")
        #expect(try await answer.bytes() == representation.content.bytes(100..<600_001))
        gate.open()
        #expect(origin.requests.first?["range"] == "bytes=0-786431")
    }

    @Test func `a client's own condition is answered as soon as the head is there`() async throws {
        let origin = try origin()
        let answer = try await cache.forward(request(origin.url(), .get, [.ifNoneMatch: "\"v91\""]))
        #expect(answer.head.status == .notModified)
        #expect(answer.body == nil)
        #expect(origin.requests.first?["if-none-match"] == nil)
    }

    @Test func `variants of one URL are kept apart, even while the first one arrives`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { request in
            var representation = Representation(seed: request["accept"] == "image/webp" ? 1 : 2, size: 600_000)
            representation.fields = [("Vary", "Accept")]
            return Behaviour(representation).with { if request.number == 1 { $0.bodyGate = (300_000, gate) } }
        }
        let webp = try await cache.forward(request(origin.url(), .get, [.accept: "image/webp"]))
        let other = try await cache.forward(request(origin.url(), .get, [.accept: "*/*"]))
        #expect(try await other.bytes() == Content(seed: 2, size: 600_000).bytes())
        gate.open()
        #expect(try await webp.bytes() == Content(seed: 1, size: 600_000).bytes())
        #expect(origin.requests.count == 2)
    }

    @Test func `a stale file is revalidated, and served stale if the origin fails and stale-if-error allows it`()
        async throws
    {
        let mode = Locked(0)
        let origin = try origin(Representation(seed: 5, size: 10_000, cacheControl: "max-age=60, stale-if-error=600")) {
            behaviour, _ in if mode.withLock({ $0 }) == 1 { behaviour.status = 503 }
        }
        #expect(try await cache.forward(request(origin.url())).bytes().count == 10_000)
        clock.withLock { $0 += 100 }
        let confirmed = try await cache.forward(request(origin.url()))
        #expect(status(of: confirmed).contains("fwd=stale; fwd-status=304"))
        clock.withLock { $0 += 100 }
        mode.withLock { $0 = 1 }
        let stale = try await cache.forward(request(origin.url()))
        #expect(stale.head.status == .ok)
        #expect(status(of: stale).contains("fwd-status=503"))
        #expect(status(of: stale).contains("stale-if-error"))
        #expect(try await stale.bytes() == Content(seed: 5, size: 10_000).bytes())
    }

    @Test func `stale-while-revalidate serves at once and revalidates in the background`() async throws {
        let origin = try origin(
            Representation(seed: 5, size: 10_000, cacheControl: "max-age=60, stale-while-revalidate=600"))
        _ = try await cache.forward(request(origin.url())).bytes()
        clock.withLock { $0 += 100 }
        let stale = try await cache.forward(request(origin.url()))
        #expect(status(of: stale).contains("stale-while-revalidate"))
        #expect(await origin.waits { $0.count == 2 })
        #expect(origin.requests.last?["if-none-match"] == "\"v5\"")
    }

    /// Neither the stored response nor the pace of a reader ends the transfer of a response that is not stored.
    @Test(arguments: ["no-store", "private"])
    func `a revalidation in the background ends even if its response is large and not stored`(
        cacheControl: String
    ) async throws {
        let origin = try ScriptedOrigin { request in
            guard request.number > 1 else {
                return Behaviour(
                    Representation(seed: 7, size: 10_000, cacheControl: "max-age=60, stale-while-revalidate=600"))
            }
            return Behaviour(Representation(seed: 8, size: 8_000_000, cacheControl: cacheControl))
        }
        _ = try await cache.forward(request(origin.url())).bytes()
        clock.withLock { $0 += 100 }
        let stale = try await cache.forward(request(origin.url()))
        #expect(status(of: stale).contains("stale-while-revalidate"))
        #expect(await origin.waits { $0.count >= 2 })
        #expect(await eventually { cache.running.isEmpty }, "\(cache.running)")
    }

    // MARK: From memory

    @Test func `a small file that was asked for twice is answered from memory, also its parts and conditions`()
        async throws
    {
        let small = Representation(seed: 6, size: 20_000)
        let origin = try origin(small)
        let url = origin.url("/small")
        _ = try await cache.forward(request(url)).bytes()
        #expect(cache.hotResponse(for: request(url)) == nil)
        _ = try await cache.forward(request(url))
        clock.withLock { $0 += 5 }
        let ready = try #require(cache.hotResponse(for: request(url)))
        #expect(try ready.bytes() == small.content.bytes())
        #expect(ready.head.headerFields[.age] == "5")
        #expect(ready.head.headerFields[.cacheStatus] == "imgcache; hit; ttl=3595; detail=memory")
        let part = try #require(cache.hotResponse(for: request(url, .get, [.range: "bytes=5-9"])))
        #expect(part.head.status == .partialContent)
        #expect(try part.bytes() == small.content.bytes(5..<10))
        let same = try #require(cache.hotResponse(for: request(url, .get, [.ifNoneMatch: "\"v6\""])))
        #expect(same.head.status == .notModified)
        #expect(cache.hotResponse(for: request(url, .get, [.authorization: "Basic eDp5"])) == nil)
        #expect(cache.hotResponse(for: request(url, .get, [.cacheControl: "no-cache"])) == nil)
        #expect(cache.hotResponse(for: request(url, .post)) == nil)
        clock.withLock { $0 += 3600 }
        #expect(cache.hotResponse(for: request(url)) == nil)
        #expect(origin.requests.count == 1)
    }

    @Test(arguments: [true, false])
    func `a removed or replaced response is forgotten in memory at once`(byPost: Bool) async throws {
        let origin = try origin(Representation(seed: 6, size: 20_000))
        let url = origin.url("/small")
        _ = try await cache.forward(request(url)).bytes()
        _ = try await cache.forward(request(url))
        #expect(cache.hotResponse(for: request(url)) != nil)
        if byPost {
            _ = try await cache.forward(request(url, .post, body: [1])).bytes()
        } else {
            try await cache.remove(request(url))
        }
        #expect(cache.hotResponse(for: request(url)) == nil)
    }

    @Test func `a variant in memory answers only requests that match its Vary fields`() async throws {
        var representation = Representation(seed: 6, size: 20_000)
        representation.fields = [("Vary", "Accept")]
        let origin = try origin(representation)
        let webp = request(origin.url("/a"), .get, [.accept: "image/webp"])
        _ = try await cache.forward(webp).bytes()
        _ = try await cache.forward(webp)
        #expect(cache.hotResponse(for: webp) != nil)
        #expect(cache.hotResponse(for: request(origin.url("/a"))) == nil)
    }

    // MARK: What is not stored

    @Test func `a response that must not be stored is passed on to each client separately`() async throws {
        let origin = try origin(Representation(seed: 9, size: 2_000_000, cacheControl: "no-store"))
        for _ in 0..<2 {
            let answer = try await cache.forward(request(origin.url()))
            #expect(status(of: answer).contains("fwd-status=200"))
            #expect(!status(of: answer).contains("stored"))
            #expect(try await answer.bytes() == Content(seed: 9, size: 2_000_000).bytes())
        }
        #expect(origin.requests.count == 2)
        #expect(try await cache.statistics().entries == 0)
    }

    @Test func `a client that stops reading ends only its own transfer of an unstored response`() async throws {
        let origin = try origin(Representation(seed: 9, size: 8_000_000, cacheControl: "private"))
        let answer = try await cache.forward(request(origin.url()))
        var iterator = try #require(answer.body).makeAsyncIterator()
        let first = try #require(try await iterator.next()).bytes()
        #expect(first == Array(Content(seed: 9, size: 8_000_000).bytes(0..<Int64(first.count))))
        let other = try await cache.forward(request(origin.url()))
        #expect(try await other.bytes().count == 8_000_000)
        // A few buffers on the way, and no more.
        #expect(origin.requests[0].bodyBytesSent < 7_000_000)
    }

    @Test func `a body that is larger than the store is passed on`() async throws {
        let origin = try origin(Representation(seed: 4, size: 20 << 20))
        let answer = try await cache.forward(request(origin.url()))
        #expect(try await answer.bytes() == Content(seed: 4, size: 20 << 20).bytes())
        let range = try await cache.forward(request(origin.url(), .get, [.range: "bytes=50-59"]))
        #expect(range.head.status == .partialContent)
        #expect(try await range.bytes() == Content(seed: 4, size: 20 << 20).bytes(50..<60))
    }

    @Test(arguments: [404, 410, 500, 503, 418])
    func `an error status is passed on with its page`(code: Int) async throws {
        let origin = try ScriptedOrigin { _ in .status(code) }
        let answer = try await cache.forward(request(origin.url()))
        #expect(answer.head.status.code == code)
        #expect(try await !answer.bytes().isEmpty)
        #expect(origin.requests.count == 1)
    }

    @Test func `an error page with a lifetime is stored, and never taken for the file`() async throws {
        let origin = try ScriptedOrigin { _ in .status(404, fields: [("Cache-Control", "max-age=60")]) }
        let page = try await cache.forward(request(origin.url())).bytes()
        let again = try await cache.forward(request(origin.url()))
        #expect(again.head.status == .notFound)
        #expect(status(of: again).contains("hit"))
        #expect(try await again.bytes() == page)
        #expect(origin.requests.count == 1)
        await #expect(throws: ImageCacheError.self) { _ = try await cache.file(for: request(origin.url())) }
    }

    @Test func `an error status does not affect a partial, which is resumed later`() async throws {
        let origin = try origin { behaviour, request in
            switch request.number {
            case 1, 2, 3: behaviour.cutAfter = request.number == 1 ? 1_500_000 : 0
            case 4: behaviour = .status(500)
            default: break
            }
        }
        let cut = try await cache.forward(request(origin.url()))
        await #expect(throws: ImageCacheError.self) { _ = try await cut.bytes() }
        let number = origin.requests.count
        #expect(number == 3)
        #expect(try await cache.forward(request(origin.url())).head.status.code == 500)
        #expect(try await cache.forward(request(origin.url())).bytes() == representation.content.bytes())
        #expect(origin.requests.last?["range"] != nil)
    }

    @Test func `a redirect is passed on, and stored if that is allowed`() async throws {
        let origin = try ScriptedOrigin { _ in .redirect(to: "/other", status: 301, cacheControl: "max-age=60") }
        for _ in 0..<2 {
            let answer = try await cache.forward(request(origin.url()))
            #expect(answer.head.status == .movedPermanently)
            #expect(answer.head.headerFields[.location] == "/other")
        }
        #expect(origin.requests.count == 1)
    }

    @Test func `other methods are passed on with their content, and a successful one invalidates the stored response`()
        async throws
    {
        let origin = try origin()
        _ = try await cache.forward(request(origin.url())).bytes()
        for method in [HTTPRequest.Method.post, .put, .patch, .delete, .options] {
            let answer = try await cache.forward(request(origin.url(), method, body: Array("hello".utf8)))
            #expect(answer.head.status == .ok)
            #expect(origin.requests.last?.request.method == method.rawValue)
            #expect(origin.requests.last?.request.body == Array("hello".utf8))
            _ = try await answer.bytes()
        }
        let count = origin.requests.count
        #expect(status(of: try await cache.forward(request(origin.url()))).contains("fwd=uri-miss"))
        #expect(origin.requests.count == count + 1)
    }

    @Test func `HEAD is answered from the store, or by the origin's head`() async throws {
        let origin = try origin()
        let asked = try await cache.forward(request(origin.url(), .head))
        #expect(asked.head.headerFields[.contentLength] == "3000000")
        #expect(asked.body == nil)
        #expect(origin.requests.last?.request.method == "HEAD")
        _ = try await cache.forward(request(origin.url())).bytes()
        let stored = try await cache.forward(request(origin.url(), .head))
        #expect(status(of: stored).contains("hit"))
        #expect(origin.requests.count == 2)
        let gone = try ScriptedOrigin { _ in .status(404) }
        #expect(try await cache.forward(request(gone.url(), .head)).head.status == .notFound)
    }

    @Test func `hop-by-hop fields of a response are removed, and the others are passed on`() async throws {
        let fields = [("Connection", "X-Hop"), ("X-Hop", "1"), ("Keep-Alive", "timeout=5"), ("X-End", "2")]
        for cacheControl in ["max-age=60", "no-store"] {
            var representation = Representation(seed: 1, size: 10, cacheControl: cacheControl)
            representation.fields = fields.map { (name: $0.0, value: $0.1) }
            let origin = try origin(representation)
            let head = try await cache.forward(request(origin.url())).head
            #expect(head.headerFields[HTTPField.Name("X-End")!] == "2")
            for name in ["Connection", "X-Hop", "Keep-Alive"] {
                #expect(head.headerFields[HTTPField.Name(name)!] == nil, "\(name), \(cacheControl)")
            }
        }
    }

    @Test func `interim responses are passed on to the client that asked`() async throws {
        let origin = try ScriptedOrigin(script: { [representation] request in
            [.raw("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")]
                + Behaviour(representation).script(for: request)
        })
        let heard = Locked<[String]>([])
        var request = ForwardRequest(request(origin.url()))
        request.interim = { head in heard.withLock { $0.append("\(head.status.code) \(head.headerFields.count)") } }
        _ = try await cache.forward(request).bytes()
        #expect(heard.withLock { $0 } == ["103 1"])
    }

    @Test func `only-if-cached is answered with 504, and nothing is asked`() async throws {
        let origin = try origin()
        let answer = try await cache.forward(request(origin.url(), .get, [.cacheControl: "only-if-cached"]))
        #expect(answer.head.status == .gatewayTimeout)
        #expect(origin.requests.isEmpty)
    }

    @Test func `without an origin there is no answer`() async throws {
        let origin = try origin()
        let url = origin.url()
        origin.stop()
        for method in [HTTPRequest.Method.get, .head, .post] {
            await #expect(throws: ImageCacheError.self) { _ = try await cache.forward(request(url, method)) }
        }
    }
}
