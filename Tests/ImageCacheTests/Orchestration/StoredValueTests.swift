import CacheTestSupport
import Foundation
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// Values that the application makes itself.
@Suite(.timeLimit)
struct StoredValueTests {
    private func bench(in directory: TestDirectory? = nil) throws -> Bench {
        try Bench(in: directory, script: { _ in .failure() })
    }

    @Test func `a value is found in memory, on disk, and by another process`() async throws {
        let bench = try bench()
        try await bench.cache.store([1, 2, 3], for: "numbers")
        #expect(try await bench.cache.value(forKey: "numbers", as: [Int].self).value == [1, 2, 3])
        let other = try self.bench(in: bench.directory)
        #expect(try await other.cache.value(forKey: "numbers", as: [Int].self).value == [1, 2, 3])
        try await other.cache.store([4], for: "numbers")
        #expect(try await bench.cache.value(forKey: "numbers", as: [Int].self).value == [4])
        #expect(try await bench.cache.entries().map(\.url) == ["value:numbers"])
    }

    @Test func `keys are compared byte for byte`() async throws {
        let bench = try bench()
        for (index, key) in ["http://a", "HTTP://A", "\u{E9}", "e\u{301}", "", " "].enumerated() {
            try await bench.cache.store(index, for: key)
        }
        for (index, key) in ["http://a", "HTTP://A", "\u{E9}", "e\u{301}", "", " "].enumerated() {
            #expect(try await bench.cache.value(forKey: key, as: Int.self).value == index)
        }
    }

    @Test func `an expired value is reported as stale, and one from the future as a clock error`() async throws {
        let bench = try bench()
        try await bench.cache.store("x", for: "k", lifetime: .seconds(60))
        bench.advance(seconds: 59)
        #expect(try await bench.cache.value(forKey: "k", as: String.self).value == "x")
        bench.advance(seconds: 2)
        #expect(try await bench.cache.value(forKey: "k", as: String.self).unusedReason == .stale)
        bench.advance(seconds: -1000)
        #expect(try await bench.cache.value(forKey: "k", as: String.self).unusedReason == .clock)
    }

    @Test func `a value of another version is not found, and is removed`() async throws {
        let bench = try bench()
        try await bench.cache.store("x", for: "k", version: "1")
        #expect(try await bench.cache.value(forKey: "k", as: String.self, version: "2").unusedReason == .version)
        #expect(try await bench.cache.value(forKey: "k", as: String.self, version: "1").unusedReason == nil)
        let other = try self.bench(in: bench.directory)
        #expect(try await other.cache.value(forKey: "k", as: String.self, version: "1").unusedReason == .missing)
    }

    @Test func `an owner's values are separate, and are removed with the owner`() async throws {
        let bench = try bench()
        try await bench.cache.store("all", for: "k")
        #expect(try await bench.cache.value(forKey: "k", as: String.self, owner: "ann").unusedReason == .owner)
        try await bench.cache.store("ann", for: "k", owner: "ann")
        try await bench.cache.store("bob", for: "k", owner: "bob")
        #expect(try await bench.cache.value(forKey: "k", as: String.self, owner: "ann").value == "ann")
        try await bench.cache.remove(.owner("ann"))
        #expect(try await bench.cache.value(forKey: "k", as: String.self, owner: "ann").value == nil)
        #expect(try await bench.cache.value(forKey: "k", as: String.self, owner: "bob").value == "bob")
        #expect(try await bench.cache.value(forKey: "k", as: String.self).value == "all")
    }

    @Test func `a value of another type is reported as damaged, and is removed`() async throws {
        let bench = try bench()
        try await bench.cache.store("text", for: "k")
        #expect(try await bench.cache.value(forKey: "k", as: Int.self).unusedReason == .damaged)
        #expect(try await bench.cache.value(forKey: "k", as: Int.self).unusedReason == .missing)
    }

    @Test func `a removed value is gone in every process`() async throws {
        let bench = try bench()
        try await bench.cache.store("x", for: "k")
        let other = try self.bench(in: bench.directory)
        #expect(try await other.cache.value(forKey: "k", as: String.self).value == "x")
        #expect(try await bench.cache.removeValue(forKey: "k"))
        #expect(try await other.cache.value(forKey: "k", as: String.self).unusedReason == .missing)
        #expect(try await !bench.cache.removeValue(forKey: "k"))
    }
}
