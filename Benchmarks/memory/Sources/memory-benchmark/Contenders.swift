import Foundation
import MemoryCache
import Synchronization

/// A key as the image cache has it.
struct ImageKey: MemoryCacheKey {
    var original: String
    var width: Int
    var height: Int
    var format: UInt8
}

final class Image: Sendable {}

/// The operations of every contender.
protocol Contender: Sendable {
    init(capacity: Int)
    func find(_ key: Int) -> Bool
    func insert(_ image: Image, _ key: Int)
    func remove(_ key: Int)
    /// Makes room by so many entries of `entryCost` each.
    func purge(leaving entries: Int)
}

let entryCost = 1000
let keys = (0..<1_000_000).map { number in
    ImageKey(
        original: "https://images.example.org/library/\(number / 4)/original.jpg", width: 64 << (number % 4), height: 256,
        format: 1)
}

struct Ours: Contender {
    let cache: MemoryCache<ImageKey, Image>

    init(capacity: Int) {
        let limits = try? MemoryCacheLimits(capacity: capacity * entryCost)
        cache = MemoryCache(limits: limits ?? .default, weakValues: .objects)
        _ = keys.count
    }

    func find(_ key: Int) -> Bool { cache.value(for: keys[key]) != nil }
    func insert(_ image: Image, _ key: Int) { cache.insert(image, for: keys[key], cost: entryCost) }
    func remove(_ key: Int) { cache.remove(keys[key]) }
    func purge(leaving entries: Int) {
        guard let limits = try? MemoryCacheLimits(capacity: entries * entryCost, preferredUsage: entries * entryCost)
        else { return }
        cache.setLimits(limits)
    }
}

/// Foundation's on Linux.
///
/// `@unchecked Sendable`: NSCache is documented as safe for several threads, and the keys do not change.
final class Foundations: Contender, @unchecked Sendable {
    /// `@unchecked Sendable`: nothing in it changes, and NSObject has no state on Linux.
    final class Key: NSObject, @unchecked Sendable {
        let key: ImageKey
        init(_ key: ImageKey) { self.key = key }
        override var hash: Int { key.hashValue }
        override func isEqual(_ object: Any?) -> Bool { (object as? Key)?.key == key }
    }

    private let cache = NSCache<Key, Image>()
    private static let keys = memory_benchmark.keys.map(Key.init)

    init(capacity: Int) {
        cache.totalCostLimit = capacity * entryCost
        _ = Self.keys
    }

    func find(_ key: Int) -> Bool { cache.object(forKey: Self.keys[key]) != nil }
    func insert(_ image: Image, _ key: Int) { cache.setObject(image, forKey: Self.keys[key], cost: entryCost) }
    func remove(_ key: Int) { cache.removeObject(forKey: Self.keys[key]) }
    func purge(leaving entries: Int) {
        cache.totalCostLimit = entries * entryCost
        insert(Image(), 0)  // It purges when something enters.
    }
}

/// A hand-written cache: a dictionary behind a mutex, with the date of each access, sorted when room is needed.
final class Dictionaries: Contender {
    private struct Item {
        var image: Image
        var cost: Int
        var date: ContinuousClock.Instant
    }

    private let items = Mutex<[ImageKey: Item]>([:])

    init(capacity: Int) { _ = keys.count }

    func find(_ key: Int) -> Bool { image(key) != nil }

    /// Hands the image out of the lock, as a cache must.
    private func image(_ key: Int) -> Image? {
        items.withLock { items in
            guard let place = items.index(forKey: keys[key]) else { return nil }
            items.values[place].date = .now
            return items.values[place].image
        }
    }

    func insert(_ image: Image, _ key: Int) {
        items.withLock { $0[keys[key]] = Item(image: image, cost: entryCost, date: .now) }
    }

    func remove(_ key: Int) { items.withLock { _ = $0.removeValue(forKey: keys[key]) } }

    func purge(leaving entries: Int) {
        items.withLock { items in
            let oldest = items.sorted { $0.value.date < $1.value.date }.prefix(items.count - entries)
            for (key, _) in oldest { items.removeValue(forKey: key) }
        }
    }
}

/// The same without dates and without an order: the floor.
final class Bare: Contender {
    private let items = Mutex<[ImageKey: Image]>([:])

    init(capacity: Int) { _ = keys.count }

    func find(_ key: Int) -> Bool { items.withLock { $0[keys[key]] } != nil }
    func insert(_ image: Image, _ key: Int) { items.withLock { $0[keys[key]] = image } }
    func remove(_ key: Int) { items.withLock { _ = $0.removeValue(forKey: keys[key]) } }
    func purge(leaving entries: Int) {
        items.withLock { items in
            for key in items.keys.prefix(items.count - entries) { items.removeValue(forKey: key) }
        }
    }
}
