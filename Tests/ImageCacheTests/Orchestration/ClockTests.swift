import CacheTestSupport
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// A clock that is set back: the age of a response is unknown then, wherever a copy of it is.
@Suite(.timeLimit) struct ClockTests {
    @Test(arguments: ImageIntegrityTests.Consumer.allCases)
    func `a clock that goes back in small steps is noticed despite uses in between`(
        _ consumer: ImageIntegrityTests.Consumer
    ) async throws {
        let picture = ScriptedRepresentation(try Bench.picture())
        let first = try Bench(picture)
        try await consumer.get(FileRequest(Bench.url), from: first.cache)
        // Another process, whose memory is empty, begins a second before the response was received.
        let bench = try Bench(in: first.directory) { picture.response(to: $0) }
        func use() async throws -> [String] {
            for _ in 0..<3 {
                _ = bench.cache.hotResponse(for: FileRequest(Bench.url))
                try await consumer.get(FileRequest(Bench.url), from: bench.cache)
            }
            return bench.sent
        }
        bench.advance(seconds: -1)
        #expect(try await use() == [], "the times of HTTP are whole seconds")
        bench.advance(seconds: -1)
        #expect(try await use() != [])
    }
}
