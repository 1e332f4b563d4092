import ImageCache
import Testing

@testable import ImageProxy

@Suite struct CacheOutcomeTests {
    /// The sources of an original that the origin was asked about, or that is stale.
    static let sources: [(CachedFile.Source, CacheOutcome)] = [
        (.revalidated, .revalidated), (.stale, .stale),
    ]

    @Test(arguments: sources)
    func `stored and rendered images have the cache outcome of their original`(
        source: CachedFile.Source, outcome: CacheOutcome
    ) {
        #expect(CacheOutcome(ImageSourceKind.thumbnail(source)) == outcome)
        #expect(CacheOutcome(ImageSourceKind.original(source)) == outcome)
    }

    @Test func `an image for which the origin was not asked is a hit, or rendered`() {
        #expect(CacheOutcome(ImageSourceKind.thumbnail(.disk)) == .hit)
        #expect(CacheOutcome(ImageSourceKind.original(.disk)) == .rendered)
        #expect(CacheOutcome(ImageSourceKind.memory) == .memory)
        #expect(CacheOutcome(ImageSourceKind.remote) == .hit)
    }
}
