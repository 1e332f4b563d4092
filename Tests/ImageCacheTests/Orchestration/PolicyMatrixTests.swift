import CacheTestSupport
import Foundation
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// The requests to the origin under each policy, for each kind of consumer.
@Suite(.timeLimit) struct PolicyMatrixTests {
    /// The request to the origin.
    enum Asked: Sendable {
        case nothing, plain, conditional
        /// The request fails: nothing is stored, and nothing may be asked.
        case fails
    }

    struct Policy: Sendable, CustomTestStringConvertible {
        let policy: CachePolicy
        /// Expectations by the state of the store: no response, a fresh one, a stale one.
        let asked: [Stored: Asked]

        var testDescription: String { "\(policy)" }

        init(_ policy: CachePolicy, none: Asked = .plain, fresh: Asked, stale: Asked) {
            self.policy = policy
            asked = [.none: none, .fresh: fresh, .stale: stale]
        }
    }

    enum Stored: Sendable, CaseIterable {
        case none, fresh, stale
    }

    static let policies = [
        Policy(.useProtocolCachePolicy, fresh: .nothing, stale: .conditional),
        Policy(.reloadIgnoringLocalCacheData, fresh: .plain, stale: .plain),
        Policy(.reloadIgnoringLocalAndRemoteCacheData, fresh: .plain, stale: .plain),
        Policy(.returnCacheDataElseLoad, fresh: .nothing, stale: .nothing),
        Policy(.returnCacheDataDontLoad, none: .fails, fresh: .nothing, stale: .nothing),
        Policy(.reloadRevalidatingCacheData, fresh: .conditional, stale: .conditional),
        Policy(.maxStale(seconds: nil), fresh: .nothing, stale: .nothing),
        Policy(.maxStale(seconds: 20), fresh: .nothing, stale: .conditional),
    ]
    static let cases = policies.flatMap { policy in Stored.allCases.map { (policy, $0) } }

    private let representation = ScriptedRepresentation(ScriptedRepresentation.bytes(500))

    @Test(arguments: cases, Bench.Consumer.allCases)
    func `a cache policy decides which request the origin gets`(_ example: (Policy, Stored), _ consumer: Bench.Consumer)
        async throws
    {
        let (policy, stored) = example
        let bench = try Bench(representation)
        if stored != .none { _ = try await bench.get(.file) }
        if stored == .stale { bench.advance(seconds: 100) }
        let before = bench.sent.count
        let asked = policy.asked[stored] ?? .plain
        if asked == .fails {
            #expect(await bench.failure(consumer) { $0.policy = policy.policy } == .notCached)
        } else {
            let outcome = try await bench.get(consumer) { $0.policy = policy.policy }
            #expect(outcome.body == representation.content && outcome.code == 200)
        }
        let conditions = bench.transport.requests.dropFirst(before).map { $0.fields[.ifNoneMatch] }
        switch asked {
        case .nothing, .fails: #expect(conditions.isEmpty)
        case .plain: #expect(conditions == [nil])
        case .conditional: #expect(conditions == ["\"1\""])
        }
    }

    @Test(arguments: Bench.Consumer.allCases)
    func `a reload that ignores remote caches sends no-cache`(_ consumer: Bench.Consumer) async throws {
        let bench = try Bench(representation)
        _ = try await bench.get(consumer) { $0.policy = .reloadIgnoringLocalAndRemoteCacheData }
        #expect(bench.transport.requests.first?.fields[.cacheControl] == "no-cache")
    }

    @Test(arguments: Bench.Consumer.allCases)
    func `a lifetime of the application's own replaces the server's`(_ consumer: Bench.Consumer) async throws {
        let bench = try Bench(ScriptedRepresentation([1, 2, 3], [.cacheControl: "no-cache"]))
        for _ in 0..<3 { _ = try await bench.get(consumer) { $0.freshnessOverride = FreshnessOverride(seconds: 30) } }
        #expect(bench.sent.count == 1)
        bench.advance(seconds: 31)
        _ = try await bench.get(consumer) { $0.freshnessOverride = FreshnessOverride(seconds: 30) }
        #expect(bench.sent.count == 2)
    }
}
