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

/// A clock that shows what the test sets.
final class TestClock: Sendable {
    private let seconds = Locked(1_700_000_000.0)

    func set(_ seconds: Double) { self.seconds.withLock { $0 = seconds } }
    func date() -> Date { Date(timeIntervalSince1970: seconds.withLock { $0 }) }
}

final class Picture: Sendable {
    let name: String
    init(_ name: String) { self.name = name }
}

typealias TestCache<Value: Sendable> = MemoryCache<TestKey, Value>

extension MemoryCache where Key == TestKey {
    /// The originals of the entries, the next to be removed first.
    var order: [String] { snapshot.entries.map(\.key.original) }
}
