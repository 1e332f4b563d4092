import ConcurrencyPrimitives
import FoundationEssentials
import TestSupport
import Testing

@testable import MemoryCache

/// A value whose release calls the cache.
private final class Caller: Sendable {
    let call: @Sendable () -> Void

    init(_ call: @escaping @Sendable () -> Void) { self.call = call }

    deinit { call() }
}

@Suite struct ReentrancyTests {
    private let calls = Locked(0)

    /// Runs `remove` with a cache in which the value of key `x` calls the cache when it is released.
    private func check(weakValues: WeakValues<Caller>?, _ remove: (TestCache<Caller>) -> Void) throws {
        let cache = TestCache<Caller>(
            limits: try MemoryCacheLimits(capacity: 100, preferredUsage: 60), weakValues: weakValues)
        let calls = calls
        calls.withLock { $0 = 0 }
        let call: @Sendable () -> Void = { [weak cache] in
            guard let cache else { return }
            _ = cache.value(for: TestKey("x"))
            cache.insert(Caller {}, for: TestKey("other"), cost: 1)
            cache.remove(TestKey("other"))
            calls.withLock { $0 += 1 }
        }
        cache.insert(Caller(call), for: TestKey("x"), cost: 10)
        remove(cache)
        #expect(calls.withLock { $0 } == 1)
    }

    @Test func `the deinit of a value may call the cache, however the value is removed`() throws {
        for weakValues in [nil, WeakValues<Caller>.objects] {
            try check(weakValues: weakValues) { $0.remove(TestKey("x")) }
            try check(weakValues: weakValues) { $0.removeVariants(of: "x") }
            try check(weakValues: weakValues) { $0.removeAll() }
            try check(weakValues: weakValues) { $0.insert(Caller {}, for: TestKey("x"), cost: 1) }
            try check(weakValues: weakValues) { $0.insert(Caller {}, for: TestKey("x"), cost: 101) }
            try check(weakValues: weakValues) { $0.insert(Caller {}, for: TestKey("y"), cost: 95) }
            try check(weakValues: weakValues) { $0.respond(to: .critical) }
            try check(weakValues: weakValues) { $0.setLimits(.zero) }
        }
    }

    @Test func `the clock and the conversions of values may call the cache`() {
        let cache = Locked<TestCache<Picture>?>(nil)
        let look: @Sendable () -> Void = { cache.withLock { $0 }?.remove(TestKey("none")) }
        let weakValues = WeakValues<Picture>(
            object: { picture in
                look()
                return picture
            },
            value: { object in
                look()
                return object as? Picture
            })
        let made = TestCache<Picture>(weakValues: weakValues) {
            look()
            return .now
        }
        cache.withLock { $0 = made }
        let picture = Picture("a")
        made.insert(picture, for: TestKey("a"), cost: 1)
        made.respond(to: .critical)
        #expect(made.value(for: TestKey("a")) === picture)
        cache.withLock { $0 = nil }
    }

    @Test(arguments: [true, false])
    func `a cache without a limit of its own may grow by any number of bytes`(hasSources: Bool) throws {
        var configuration = MemoryPressureMonitor.Configuration()
        if !hasSources { configuration.sources = [] }
        let monitor = MemoryPressureMonitor(configuration: configuration)
        let cache = TestCache<Picture>(monitor: monitor)
        for _ in 0..<3 { #expect(!cache.insert(Picture("a"), for: TestKey("a"), cost: .max)) }
        for bytes in [Int.min, -1, 0, .max, .max] { monitor.grew(by: bytes) }
    }

    @Test func `an observer of memory pressure may call the cache and the monitor`() throws {
        let monitor = MemoryPressureMonitor()
        let cache = TestCache<Picture>(monitor: monitor)
        monitor.observe(by: cache) { [weak monitor] cache, _ in
            cache.insert(Picture("b"), for: TestKey("b"), cost: 1)
            monitor?.grew(by: .max / 2)
        }
        cache.insert(Picture("a"), for: TestKey("a"), cost: 1)
        monitor.report(.critical)
        #expect(cache.order == ["b"])
    }
}
