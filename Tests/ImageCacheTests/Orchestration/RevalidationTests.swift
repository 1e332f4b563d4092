import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import HTTPTypes
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// Conditional requests, and what becomes of their responses.
@Suite(.timeLimit) struct RevalidationTests {
    private let representation = ScriptedRepresentation(ScriptedRepresentation.bytes(800))

    @Test(arguments: Bench.Consumer.allCases)
    func `a stale response that the origin confirms is fresh again`(_ consumer: Bench.Consumer) async throws {
        let bench = try Bench(representation)
        _ = try await bench.get(consumer)
        for round in 2...3 {
            bench.advance(seconds: 61)
            for _ in 0..<2 { #expect(try await bench.get(consumer).body == representation.content) }
            #expect(bench.sent.count == round)
        }
        #expect(bench.cache.transferTotals.bytesReceived == representation.bytes.count)
    }

    @Test(arguments: Bench.Consumer.allCases)
    func `a stale response that changed is replaced`(_ consumer: Bench.Consumer) async throws {
        let newer = ScriptedRepresentation(ScriptedRepresentation.bytes(900, seed: 2), etag: "\"2\"")
        let bench = try Bench { [representation] request in
            (request.number == 1 ? representation : newer).response(to: request)
        }
        _ = try await bench.get(consumer)
        bench.advance(seconds: 61)
        for _ in 0..<2 { #expect(try await bench.get(consumer).body == newer.content) }
        #expect(bench.transport.requests.map { $0.fields[.ifNoneMatch] } == [nil, "\"1\""])
        #expect(try await bench.cache.entries().count == 1)
    }

    @Test func `a 304's fields take the place of the stored ones`() async throws {
        let bench = try Bench { [representation] request in
            var response = representation.response(to: request)
            response.fields[.cacheControl] = "max-age=\(request.number * 100)"
            response.fields[.contentLanguage] = "\(request.number)"
            return response
        }
        _ = try await bench.get(.file)
        bench.advance(seconds: 150)
        let file = try await bench.cache.file(for: bench.request())
        #expect(file.source == .revalidated && file.response.fields[.contentLanguage] == "2")
        #expect(file.bytesTransferred == 0)
        bench.advance(seconds: 150)
        #expect(try await bench.cache.file(for: bench.request()).source == .disk)
    }

    @Test(arguments: Bench.Consumer.allCases)
    func `a 304 for a body that was removed is requested again without a condition`(_ consumer: Bench.Consumer)
        async throws
    {
        let gate = AsyncGate()
        let bench = try Bench { [representation] request in
            let response = representation.response(to: request)
            return request.number == 2 ? response.after(gate) : response
        }
        let reader = try await bench.cache.file(for: bench.request())
        bench.advance(seconds: 61)
        async let outcome = bench.get(consumer)
        await bench.transport.requests { $0.count == 2 }
        _ = try await bench.cache.remove(bench.request())
        gate.open()
        #expect(try await outcome.body == representation.content)
        #expect(try Bench.body(of: reader) == representation.content)
        #expect(bench.transport.requests.map { $0.fields[.ifNoneMatch] != nil } == [false, true, false])
    }

    @Test(arguments: Bench.Consumer.allCases)
    func `a 304 to an unconditional request is an error`(_ consumer: Bench.Consumer) async throws {
        let bench = try Bench { _ in ScriptedResponse(.notModified, steps: [], length: nil) }
        #expect(await bench.failure(consumer) == .wrongBytes)
    }

    @Test(arguments: [Bench.Consumer.file, .proxied])
    func `stale-while-revalidate serves the stale response at once and refreshes it once in the background`(
        _ consumer: Bench.Consumer
    ) async throws {
        let gate = AsyncGate()
        let newer = ScriptedRepresentation([9, 9], etag: "\"2\"", [.cacheControl: "max-age=60"])
        let older = ScriptedRepresentation([1], [.cacheControl: "max-age=60, stale-while-revalidate=600"])
        let bench = try Bench { request in
            request.number == 1 ? older.response(to: request) : newer.response(to: request).after(gate)
        }
        _ = try await bench.get(consumer)
        bench.advance(seconds: 100)
        for _ in 0..<3 { #expect(try await bench.get(consumer).body == [1]) }
        await bench.transport.requests { $0.count == 2 }
        gate.open()
        await bench.transport.requests { $0.last?.ending != nil }
        // The commit follows the transfer's end.
        #expect(try await eventually { try await bench.get(consumer).body == [9, 9] })
        #expect(bench.sent.count == 2)
    }

    @Test(arguments: [404, 410, 403], [Bench.Consumer.file, .proxied])
    func `stale-while-revalidate ends when the origin says that the resource is gone`(
        _ status: Int, _ consumer: Bench.Consumer
    ) async throws {
        let isChanged = Locked(false)
        let etag = status == 410 ? nil : "\"1\""
        let stored = ScriptedRepresentation(
            [1], etag: etag, [.cacheControl: "max-age=60, stale-while-revalidate=600"])
        let bench = try Bench { request in
            guard isChanged.withLock({ $0 }) else { return stored.response(to: request) }
            return ScriptedResponse(.init(code: status), [.cacheControl: "no-store"], body: [4])
        }
        _ = try await bench.get(consumer)
        isChanged.withLock { $0 = true }
        bench.advance(seconds: 100)
        #expect(try await bench.get(consumer).body == [1])
        await bench.transport.requests { $0.count >= 2 && $0[1].ending != nil }
        func answer() async throws -> Int {
            do { return try await bench.get(consumer).code } catch let error as ImageCacheError {
                return error.code.statusCode ?? 0
            }
        }
        // The removal follows the transfer's end.
        if status != 403 { #expect(try await eventually { try await answer() == status }) }
        #expect(await eventually { bench.cache.running.isEmpty })
        #expect(try await answer() == (status == 403 ? 200 : status))
    }

    /// The relation of a stored response to a later request, which the origin answers with 404 or 410.
    enum Relation: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case same, sameOfEquivalentURLs, equivalentURL, otherVariant, everybody, pinned, changedMeanwhile

        var testDescription: String { rawValue }
        var mode: CacheMode { self == .everybody ? .shared : .private }
        var stays: Bool { self != .same && self != .sameOfEquivalentURLs }

        var fields: HTTPFields {
            var fields: HTTPFields = [.cacheControl: "public, max-age=60"]
            if self == .otherVariant { fields[.vary] = "Accept-Language" }
            let isOfEquivalentURLs = self == .equivalentURL || self == .sameOfEquivalentURLs
            if isOfEquivalentURLs, let name = HTTPField.Name("No-Vary-Search") { fields[name] = "params=(\"utm\")" }
            return fields
        }

        func request(isLater: Bool) -> FileRequest {
            var request = FileRequest(Bench.url + "?id=1&utm=\(self == .equivalentURL && isLater ? 1 : 0)")
            if self == .otherVariant { request.fields[.acceptLanguage] = isLater ? "fr" : "de" }
            if self == .everybody, isLater { request.fields[.authorization] = "Bearer 1" }
            if isLater { request.policy = .reloadRevalidatingCacheData }
            return request
        }
    }

    @Test(arguments: Relation.allCases, [404, 410])
    func `what is gone is removed, but not what is pinned, has changed since, or answers other requests`(
        _ relation: Relation, _ status: Int
    ) async throws {
        let isGone = Locked(false)
        let gate = AsyncGate()
        let bench = try Bench(relation.mode, { $0.keepsPins = false }) { request in
            let stored = ScriptedRepresentation([1], relation.fields)
            guard isGone.withLock({ $0 }), request.method == .get else { return stored.response(to: request) }
            return ScriptedResponse(.init(code: status)).after(gate)
        }
        let first = relation.request(isLater: false)
        if relation == .pinned { try await bench.cache.pin([first], as: "trip") }
        _ = try await bench.cache.file(for: first)
        isGone.withLock { $0 = true }
        bench.advance(seconds: 100)
        let asking = Task { try? await bench.cache.file(for: relation.request(isLater: true)) }
        await bench.transport.requests { $0.count == 2 }
        if relation == .changedMeanwhile {
            var head = first
            head.method = .head
            // It confirms the stored response.
            _ = try await bench.cache.response(for: head)
        }
        gate.open()
        _ = await asking.value
        #expect(await eventually { bench.cache.running.isEmpty })
        #expect(try await bench.cache.entries().isEmpty == !relation.stays)
    }

    @Test func `the stored file and its replacement are both delivered`() async throws {
        let version = Locked(1)
        let bench = try Bench { request in
            let version = version.withLock { UInt8($0) }
            return ScriptedRepresentation([version], etag: "\"\(version)\"", [.cacheControl: "max-age=60"])
                .response(to: request)
        }
        func delivered() async throws -> [Body] {
            var bodies: [Body] = []
            for try await file in bench.cache.cachedThenFresh(for: bench.request()) {
                bodies.append(try Bench.body(of: file))
            }
            return bodies
        }
        #expect(try await delivered() == [[1]])
        bench.advance(seconds: 100)
        #expect(try await delivered() == [[1]])
        version.withLock { $0 = 2 }
        bench.advance(seconds: 100)
        #expect(try await delivered() == [[1], [2]])
    }

    @Test(arguments: [("fr", 2), ("de", 1), ("fr, de", 2)])
    func `a variant answers the requests whose fields select it`(_ language: String, _ requests: Int) async throws {
        let bench = try Bench { request in
            let language = request.fields[.acceptLanguage] ?? ""
            return ScriptedRepresentation(
                Array(language.utf8), etag: "\"\(language)\"",
                [.cacheControl: "max-age=60", .vary: "Accept-Language"]
            ).response(to: request)
        }
        _ = try await bench.get(.file) { $0.fields[.acceptLanguage] = "de" }
        for consumer in Bench.Consumer.allCases {
            let outcome = try await bench.get(consumer) { $0.fields[.acceptLanguage] = language }
            #expect(outcome.body == Body(Array(language.utf8)))
        }
        #expect(bench.sent.count == requests)
    }
}
