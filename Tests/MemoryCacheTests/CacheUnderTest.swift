import ConcurrencyPrimitives
import Foundation

@testable import MemoryCache

/// A key with a number for the original and one for the variant.
struct TestKey: MemoryCacheKey, CustomStringConvertible {
    var original: String
    var variant = 0

    init(_ original: String, _ variant: Int = 0) {
        self.original = original
        self.variant = variant
    }

    var description: String { "\(original)/\(variant)" }
}

/// Both times, which go where the test puts them.
final class TestTime: Sendable {
    private let times = Locked((date: Date(timeIntervalSince1970: 1_700_000_000), elapsed: Duration.zero))

    var clock: MemoryCacheClock {
        MemoryCacheClock(
            date: { self.times.withLock { $0.date } }, elapsed: { self.times.withLock { $0.elapsed } })
    }

    func setDate(_ seconds: Double) { times.withLock { $0.date = Date(timeIntervalSince1970: seconds) } }
    func advance(_ duration: Duration) { times.withLock { $0.elapsed += duration } }
}

final class Picture: Sendable {
    let name: String
    init(_ name: String) { self.name = name }
}

typealias TestCache<Value: Sendable> = MemoryCache<TestKey, Value>

extension MemoryCache where Key == TestKey {
    /// The entries, the next to be removed first.
    var order: [String] { snapshot.entries.map(\.key.original) }
}
