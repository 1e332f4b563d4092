import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// Requests that share one transfer, and those that must not.
@Suite(.timeLimit) struct CoalescingTests {
    static let consumers = [Bench.Consumer.file, .proxied]
    static let pairs = consumers.flatMap { first in consumers.map { (first, $0) } }
    private static let bytes = ScriptedRepresentation.bytes(400_000)
    private let representation = ScriptedRepresentation(bytes)

    /// The first response's body stops until the gate opens.
    private func bench(_ gate: AsyncGate) throws -> Bench {
        try Bench { [representation] request in
            let response = representation.response(to: request)
            return request.number == 1 ? response.pausing(after: 300_000, for: gate) : response
        }
    }

    @Test(arguments: pairs)
    func `two consumers of one URL share one transfer`(_ pair: (Bench.Consumer, Bench.Consumer)) async throws {
        let gate = AsyncGate()
        let bench = try bench(gate)
        async let first = bench.get(pair.0)
        await bench.transport.requests { !$0.isEmpty }
        async let second = bench.get(pair.1)
        gate.open()
        #expect(try await first.body == representation.content)
        #expect(try await second.body == representation.content)
        #expect(bench.sent.count == 1)
    }

    @Test(arguments: consumers)
    func `a proxied request gets the head and the first bytes while the body is still arriving`(_ first: Bench.Consumer)
        async throws
    {
        let gate = AsyncGate()
        let bench = try bench(gate)
        async let outcome = bench.get(first)
        await gate.reached()
        let answer = try await bench.cache.forward(bench.request())
        #expect(answer.cacheStatus.collapsed && answer.cacheStatus.stored)
        var received: [UInt8] = []
        for try await piece in try #require(answer.body) {
            received += try piece.bytes()
            gate.open()
        }
        #expect(Body(received) == representation.content)
        #expect(try await outcome.body == representation.content)
        #expect(bench.sent.count == 1)
    }

    @Test(arguments: [2, 5, 20], consumers)
    func `any number of equal requests share one transfer`(_ count: Int, _ consumer: Bench.Consumer) async throws {
        let gate = AsyncGate()
        let bench = try bench(gate)
        let outcomes = Locked<[Bench.Outcome]>([])
        try await withThrowingTaskGroup { group in
            for _ in 0..<count {
                group.addTask {
                    let outcome = try await bench.get(consumer)
                    outcomes.withLock { $0.append(outcome) }
                }
            }
            await gate.reached()
            gate.open()
            try await group.waitForAll()
        }
        #expect(outcomes.withLock { $0.allSatisfy { $0.body == representation.content } })
        // One of them began it; a late one may have found it stored.
        #expect(outcomes.withLock { $0.count { !$0.status.collapsed && !$0.status.hit } } == 1)
        #expect(bench.sent.count == 1)
    }

    /// A difference between two requests that keeps them from sharing a response.
    struct Difference: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (inout FileRequest) -> Void

        init(_ name: String, _ change: @escaping @Sendable (inout FileRequest) -> Void) {
            testDescription = name
            self.change = change
        }
    }

    static let differences = [
        Difference("another query") { $0.url += "?2" },
        Difference("an owner") { $0.owner = "somebody" },
        Difference("credentials") { $0.fields[.authorization] = "Bearer 1" },
        Difference("a user and password") { $0.transfer.credentials = .init(user: "a", password: "b") },
    ]

    @Test(arguments: differences, consumers)
    func `requests of different resources or owners have separate transfers`(
        _ difference: Difference, _ consumer: Bench.Consumer
    ) async throws {
        let gate = AsyncGate()
        let bench = try bench(gate)
        async let first = bench.get(consumer)
        await gate.reached()
        #expect(try await bench.get(consumer, difference.change).body == representation.content)
        gate.open()
        #expect(try await first.body == representation.content)
        #expect(bench.sent.count == 2)
    }

    static let terms = [
        Difference("no-cache") { $0.fields[.cacheControl] = "no-cache" },
        Difference("max-age") { $0.fields[.cacheControl] = "max-age=0" },
        Difference("another policy") { $0.policy = .reloadIgnoringLocalCacheData },
        Difference("a lifetime of its own") { $0.freshnessOverride = FreshnessOverride(seconds: 5) },
        Difference("a digest") { $0.sha256 = String(repeating: "0", count: 64) },
        Difference("a rate") { $0.transfer.rateLimit = 1 << 30 },
    ]

    @Test(arguments: terms)
    func `a proxied request with other terms does not wait for an earlier one`(_ terms: Difference)
        async throws
    {
        let gate = AsyncGate()
        let bench = try bench(gate)
        let first = try await bench.cache.forward(bench.request())
        await gate.reached()
        let second = try await bench.cache.forward(bench.request(terms.change))
        #expect(!second.cacheStatus.collapsed && bench.sent.count == 2)
        gate.open()
        #expect(try await Bench.body(of: first) == representation.content)
        _ = try? await Bench.body(of: second)
    }

    @Test func `a proxied request does not share a transfer that followed a redirect`() async throws {
        let gate = AsyncGate()
        let bench = try Bench { [representation] request in
            request.path == "/a"
                ? .redirect(to: "/b") : representation.response(to: request).pausing(after: 300_000, for: gate)
        }
        async let file = bench.get(.file)
        await gate.reached()
        #expect(try await bench.get(.proxied).code == 302)
        gate.open()
        #expect(try await file.body == representation.content)
    }

    @Test func `variants that Vary distinguishes have separate transfers once the head has arrived`() async throws {
        let gate = AsyncGate()
        let bench = try Bench { request in
            let language = request.fields[.acceptLanguage] ?? ""
            let response = ScriptedRepresentation(
                Array(language.utf8), etag: "\"\(language)\"",
                [.cacheControl: "max-age=60", .vary: "Accept-Language"]
            ).response(to: request)
            return request.number == 1 ? response.after(gate) : response
        }
        async let german = bench.get(.proxied) { $0.fields[.acceptLanguage] = "de" }
        await bench.transport.requests { !$0.isEmpty }
        async let french = bench.get(.proxied) { $0.fields[.acceptLanguage] = "fr" }
        gate.open()
        #expect(try await german.body == Body(Array("de".utf8)))
        #expect(try await french.body == Body(Array("fr".utf8)))
    }

    @Test func `a replacing request ends the running one for all its waiters`() async throws {
        let gate = AsyncGate()
        let bench = try bench(gate)
        let first = Task { await bench.failure(.file) }
        await gate.reached()
        #expect(try await bench.get(.file) { $0.duplicates = .replace }.body == representation.content)
        #expect(await first.value == .cancelled)
        #expect(bench.transport.requests.first?.ending == .failed(.cancelled))
    }

    @Test func `an image and a proxied response of one URL share one transfer`() async throws {
        let gate = AsyncGate()
        let picture = try Bench.picture()
        let bench = try Bench { request in
            ScriptedRepresentation(picture).response(to: request).pausing(after: 10, for: gate)
        }
        async let thumbnail = bench.cache.thumbnail(for: Bench.url, resizedTo: .fit(8, 8))
        await gate.reached()
        let answer = try await bench.cache.forward(bench.request())
        gate.open()
        #expect(try await Bench.body(of: answer) == Body(picture))
        #expect(try await thumbnail.width == 8)
        #expect(bench.sent.count == 1)
    }

    @Test func `several sizes of one original share one transfer`() async throws {
        let gate = AsyncGate()
        let picture = try Bench.picture()
        let bench = try Bench { ScriptedRepresentation(picture).response(to: $0).after(gate) }
        async let small = bench.cache.thumbnail(for: Bench.url, resizedTo: .fit(4, 4))
        async let large = bench.cache.thumbnail(for: Bench.url, resizedTo: .fit(16, 16))
        await bench.transport.requests { !$0.isEmpty }
        gate.open()
        #expect(try await [small.width, large.width] == [4, 16])
        #expect(bench.sent.count == 1)
    }

    @Test func `a response that must not be shared is fetched for each request`() async throws {
        let bench = try Bench { _ in ScriptedResponse(.ok, [.cacheControl: "no-store"], body: [1]) }
        for _ in 0..<3 { _ = try await bench.get(.proxied) }
        #expect(bench.sent.count == 3)
    }
}

extension Bench {
    /// A PNG of 32 by 32 pixels.
    static func picture() throws -> [UInt8] {
        let image = try DecodedImage(width: 32, height: 32) { memory in
            for index in 0..<32 * 32 * 4 { memory[index] = index % 4 == 3 ? 255 : UInt8(truncatingIfNeeded: index) }
        }
        return try ImageEncoder.png().encode(image)
    }
}
