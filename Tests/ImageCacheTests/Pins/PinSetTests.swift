import CacheTestSupport
import ConcurrencyPrimitives
import DiskStore
import Foundation
import HTTPCaching
import HTTPTypes
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing
import Transfer

/// Sets of pins over a scripted transport.
@Suite(.timeLimit) struct PinSetTests {
    private let gate = AsyncGate(isOpen: true)
    private let representation = Locked(ScriptedRepresentation([1, 2, 3], [.cacheControl: "max-age=60"]))
    private let bench: Bench

    init() throws {
        bench = try Bench(.private, { $0.keepsPins = false }) { [gate, representation] request in
            representation.withLock { $0 }.response(to: request).after(gate)
        }
    }

    private func requests(_ count: Int) -> [FileRequest] {
        (0..<count).map { FileRequest("http://origin.example/\($0)") }
    }

    @Test func `members are loaded at background priority until a foreground request asks for one`() async throws {
        gate.close()
        let pinning = Task { try await bench.cache.pin(requests(2), as: "trip") }
        await bench.transport.requests { $0.count == 2 }
        #expect(bench.transport.requests.allSatisfy { $0.priority == .background })
        let asking = Task { try await bench.cache.file(for: "http://origin.example/1") }
        await bench.transport.requests { $0.contains { $0.path == "/1" && $0.priority == .normal } }
        #expect(bench.transport.requests.first { $0.path == "/0" }?.priority == .background)
        gate.open()
        #expect(try await pinning.value.isComplete)
        #expect(try await asking.value.size == 3)
        #expect(bench.transport.requests.count == 2)
    }

    @Test func `refreshing revalidates present members and fetches changed ones`() async throws {
        try await bench.cache.pin(requests(2), as: "trip")
        try await bench.cache.pin(nil, as: "trip")
        #expect(bench.transport.requests.count == 2)
        try await bench.cache.pin(nil, as: "trip", refreshing: true)
        #expect(bench.transport.requests.suffix(2).allSatisfy { $0.fields[.ifNoneMatch] == "\"1\"" })
        representation.withLock { $0 = ScriptedRepresentation([4, 5, 6, 7], etag: "\"2\"") }
        let set = try await bench.cache.pin(nil, as: "trip", refreshing: true)
        #expect(set.isComplete && set.bytes == 8)
    }

    @Test func `resuming refreshes a set when its interval has passed`() async throws {
        try await bench.cache.pin(requests(2), as: "trip", options: PinOptions(refreshInterval: .seconds(600)))
        bench.advance(seconds: 599)
        try await bench.cache.resumePins()
        #expect(bench.transport.requests.count == 2)
        bench.advance(seconds: 2)
        try await bench.cache.resumePins()
        #expect(bench.transport.requests.count == 4)
        try await bench.cache.resumePins()
        #expect(bench.transport.requests.count == 4)
    }

    @Test func `a set with the longest interval is kept and never refreshed`() async throws {
        let options = PinOptions(maxStale: .seconds(Int64.max), refreshInterval: .seconds(Int64.max))
        let set = try await bench.cache.pin(requests(2), as: "trip", options: options)
        #expect(set.isComplete)
        bench.advance(seconds: 1e9)
        try await bench.cache.resumePins()
        #expect(bench.transport.requests.count == 2)
    }

    @Test func `the next cache on the directory resumes the missing members`() async throws {
        gate.close()
        let pinning = Task { try await bench.cache.pin(requests(6), as: "trip") }
        await bench.transport.requests { $0.count == 4 }
        pinning.cancel()
        _ = await pinning.result
        await bench.cache.close()
        let next = try Bench(in: bench.directory) { [representation] request in
            representation.withLock { $0 }.response(to: request)
        }
        await next.transport.requests { $0.count == 6 && $0.allSatisfy { $0.ending != nil } }
        let file = try await next.cache.file(for: "http://origin.example/5")
        #expect(file.size == 3)
        await next.cache.close()
    }

    @Test func `a set with known sizes that does not fit is refused before the first request`() async throws {
        let bench = try Bench(.private, { $0.store.capacity = 4 << 20 }) { _ in ScriptedResponse(body: [1]) }
        let requests = requests(3).map { request in
            var request = request
            request.integrity.size = 2 << 20
            return request
        }
        let error = await #expect(throws: ImageCacheError.self) { try await bench.cache.pin(requests, as: "trip") }
        #expect(error?.code == .store(.full))
        #expect(error?.message.contains("it takes 6.00 MiB, nothing else is pinned") == true, "\(error?.message ?? "")")
        #expect(bench.transport.requests.isEmpty)
        #expect(try await bench.cache.pins().isEmpty)
    }

    @Test func `a set without room for a file is refused with the file and the figures`() async throws {
        let body = ScriptedRepresentation.bytes(3 << 20)
        let bench = try Bench(.private, { $0.store.capacity = 8 << 20 }) { _ in
            ScriptedResponse(.ok, [.cacheControl: "max-age=60"], body: body)
        }
        try await bench.cache.pin([FileRequest("http://origin.example/first")], as: "one")
        let error = await #expect(throws: ImageCacheError.self) {
            try await bench.cache.pin(requests(3), as: "trip")
        }
        let message = error?.message ?? ""
        #expect(error?.code == .store(.full))
        #expect(message.hasPrefix("the set trip does not fit, and is not pinned: http://origin.example/"), "\(message)")
        #expect(message.contains(" needs 3.0") && message.contains("other pins take 3.00 MiB"), "\(message)")
        #expect(try await bench.cache.pins().map(\.name) == ["one"])
    }

    @Test func `a pin keeps its digest and length for the process that resumes it`() async throws {
        var request = FileRequest("http://origin.example/0")
        request.sha256 = String(repeating: "0", count: 64)
        let set = try await bench.cache.pin([request], as: "trip")
        #expect(set.present == 0 && set.failed.first?.error?.code == .wrongBytes)
        await bench.cache.close()
        let next = try Bench(in: bench.directory, { $0.keepsPins = false }) { [representation] request in
            representation.withLock { $0 }.response(to: request)
        }
        let again = try await next.cache.pin(nil, as: "trip")
        #expect(again.present == 0 && again.failed.first?.error?.code == .wrongBytes)
    }

    @Test func `a pinned file is served when its origin cannot be reached, as its set allows`() async throws {
        let isDown = Locked(false)
        let bench = try Bench { request in
            var response = ScriptedRepresentation([1, 2, 3], [.cacheControl: "max-age=60, must-revalidate"]).response(
                to: request)
            if isDown.withLock({ $0 }) { response.failure = .connect }
            return response
        }
        let set = try await bench.cache.pin(
            [bench.request()], as: "trip", options: PinOptions(maxStale: .seconds(86_400)))
        #expect(set.isComplete && set.bytes == 3)
        isDown.withLock { $0 = true }
        bench.advance(seconds: 3600)
        #expect(try await bench.cache.file(for: bench.request()).source == .stale)
        bench.advance(seconds: 100_000)
        await #expect(throws: ImageCacheError.self) { try await bench.cache.file(for: bench.request()) }
        #expect(try await bench.cache.unpin("trip"))
        #expect(try await bench.cache.pins().isEmpty)
    }

    // MARK: Responses that are stored under another key than their request's

    /// A rule by which a response is not stored under the key of its request, or by which another entry answers it.
    enum OtherKey: String, CaseIterable, CustomTestStringConvertible {
        case equivalentURL, everybody, everybodyAndEquivalentURL, equalBody

        var testDescription: String { rawValue }

        var mode: CacheMode {
            switch self {
            case .equivalentURL, .equalBody: .private
            case .everybody, .everybodyAndEquivalentURL: .shared
            }
        }

        var fields: HTTPFields {
            var fields: HTTPFields = [.cacheControl: "public, max-age=86400"]
            let isOfEquivalentURLs = self == .equivalentURL || self == .everybodyAndEquivalentURL
            if isOfEquivalentURLs, let name = HTTPField.Name("No-Vary-Search") { fields[name] = "params=(\"utm\")" }
            return fields
        }

        /// The request that is pinned, and another one that the same entry answers.
        func request(isOther: Bool) -> FileRequest {
            let number = isOther ? 1 : 0
            var request = FileRequest("http://origin.example/a")
            switch self {
            case .equivalentURL: request.url += "?id=1&utm=\(number)"
            case .everybody: request.fields[.authorization] = "Bearer \(number)"
            case .everybodyAndEquivalentURL:
                request.url += "?id=1&utm=\(number)"
                request.fields[.authorization] = "Bearer \(number)"
            case .equalBody:
                request.url += "\(number)"
                request.sha256 = "039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81"
                request.reusesEqualBodies = true
            }
            return request
        }
    }

    @Test(arguments: OtherKey.allCases, [false, true])
    func `a pinned file stays whatever key its response has otherwise, and when it was stored under that one before`(
        rule: OtherKey, isStoredBefore: Bool
    ) async throws {
        let bench = try Bench(rule.mode, { $0.keepsPins = false }) { request in
            ScriptedRepresentation([1, 2, 3], rule.fields).response(to: request)
        }
        let pinned = rule.request(isOther: false)
        if isStoredBefore {
            #expect(try await bench.cache.file(for: rule.request(isOther: true)).isStored)
            // The other one's entry answers it.
            #expect(try await bench.cache.file(for: pinned).source == .disk)
        }
        let set = try await bench.cache.pin([pinned], as: "trip")
        #expect(set.isComplete && set.failed.isEmpty && set.bytes == 3)
        let count = bench.transport.requests.count
        #expect(count == (isStoredBefore ? 2 : 1))
        _ = try bench.cache.blocking.store.prune(to: 0)
        #expect(try await bench.cache.pins().first?.isComplete == true)
        #expect(try bench.cache.blocking.store.pinnedBytes() > 0)
        #expect(try await bench.cache.file(for: pinned).source == .disk)
        // There is nothing left to do.
        try await bench.cache.resumePins()
        #expect(bench.transport.requests.count == count)
        // A confirmation keeps it as well.
        let refreshed = try await bench.cache.pin([pinned], as: "trip", refreshing: true)
        #expect(refreshed.isComplete && refreshed.failed.isEmpty)
        #expect(bench.transport.requests.last?.fields[.ifNoneMatch] == "\"1\"")
        _ = try bench.cache.blocking.store.prune(to: 0)
        #expect(try await bench.cache.file(for: pinned).source == .disk)
        #expect(try await bench.cache.unpin("trip"))
        _ = try bench.cache.blocking.store.prune(to: 0)
        #expect(try await bench.cache.entries().isEmpty)
        // Not pinned, it has the other key again.
        _ = try await bench.cache.file(for: pinned)
        let later = bench.transport.requests.count
        _ = try await bench.cache.file(for: rule.request(isOther: true))
        #expect(bench.transport.requests.count == later)
    }
}
