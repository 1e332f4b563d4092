import CacheTestSupport
import ConcurrencyPrimitives
import DiskStore
import ImageCacheTesting
import TestSupport
import Testing

@testable import ImageCache

/// The calls that a cache makes to a tier that has nothing.
@Suite("A store between the disk and the origin", .timeLimit)
struct SharedTierTests {
    private let representation = ScriptedRepresentation(ScriptedRepresentation.bytes(5000))

    private func bench(_ tier: EmptyTier) throws -> Bench {
        try Bench(.private) {
            $0.tier = tier
        } script: { [representation] in
            representation.response(to: $0)
        }
    }

    @Test(arguments: Bench.Consumer.allCases)
    func `the tier is asked between the disk and the origin, and gets the outcome`(
        _ consumer: Bench.Consumer
    ) async throws {
        let tier = EmptyTier()
        let bench = try bench(tier)
        #expect(try await bench.get(consumer).body == representation.content)
        #expect(await eventually { tier.calls == ["join", "find", "missed", "origin", "end network"] })
        await bench.cache.close()
        #expect(tier.calls.last == "close")
    }

    @Test func `the tier may forbid its use for a request`() async throws {
        let tier = EmptyTier(isUsed: false)
        let bench = try bench(tier)
        _ = try await bench.cache.file(for: Bench.url)
        #expect(tier.calls == ["join", "origin", "end network"])
    }

    @Test(arguments: [RemovalTarget.url(Bench.url), .prefix("http://origin.example/"), .everything])
    func `a removal is an invalidation in the tier first`(_ target: RemovalTarget) async throws {
        let tier = EmptyTier()
        let bench = try bench(tier)
        _ = try await bench.cache.file(for: Bench.url)
        #expect(try await bench.cache.remove(target).entries == 1)
        #expect(tier.calls.first { $0.hasPrefix("invalidate") } == "invalidate before removing 1")
    }
}

/// A tier that has nothing, and records what it is asked.
private final class EmptyTier: SharedTier, SharedTierConfiguration, TierFetch {
    private let isUsed: Bool
    private let recorded = Locked<[String]>([])
    private let store = Locked<DiskStore?>(nil)

    init(isUsed: Bool = true) { self.isUsed = isUsed }

    var calls: [String] { recorded.withLock { $0 } }

    private func record(_ call: String) { recorded.withLock { $0.append(call) } }

    func opened(
        over store: DiskStore, for cache: DownloadCache.Configuration, on executor: BlockingExecutor
    ) -> any SharedTier {
        self.store.withLock { $0 = store }
        return self
    }

    func join(_ fetch: FetchAccess) -> any TierFetch {
        record("join")
        return self
    }

    func invalidate(_ keys: [EntryKey], url: String, allOwners: Bool) { recordInvalidation() }

    func invalidate(_ target: RemovalTarget) { recordInvalidation() }

    private func recordInvalidation() {
        let count = try? store.withLock { $0 }?.statistics().entries
        record("invalidate before removing \(count ?? 0)")
    }

    func mayShareImages(of file: CachedFile, _ resolved: ResolvedRequest) -> Bool { false }

    func image(
        of key: EntryKey, original: [UInt8], recipe: String
    ) async -> (record: DerivedImageRecord, bytes: [UInt8])? { nil }

    func share(
        _ image: (record: DerivedImageRecord, bytes: [UInt8]), of key: EntryKey, original: [UInt8], recipe: String,
        in generation: Generation
    ) {}

    func close(within time: Duration) async { record("close") }

    // MARK: A fetch

    var mayFind: Bool { isUsed }

    func find(in generation: Generation) async throws(ImageCacheError) -> TierFinding {
        record("find")
        var finding = TierFinding()
        finding.wasAsked = true
        return finding
    }

    func noteLookUp(_ isHit: Bool) { record(isHit ? "hit" : "missed") }

    func beginOrigin() { record("origin") }

    func sharing(under key: EntryKey, _ epoch: Generation.Epoch) -> (any TierBody)? { nil }

    func end(with file: CachedFile?, _ failure: ImageCacheError?) {
        record("end \(file?.source.rawValue ?? "failure")")
    }
}
