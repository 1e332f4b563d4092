import ConcurrencyPrimitives
import Foundation
import ImageCacheTesting
import TestSupport
import Testing

@testable import DiskStore
@testable import ImageCache

/// The sweeps of a process that runs for long. No time passes.
@Suite(.timeLimit) struct SweeperTests {
    /// The sleeps of a sweeper. Each of so many advances the clock, and the next one lasts until the sweeper is cancelled.
    private final class Sleeps: Sendable {
        private struct State {
            var now = Date(timeIntervalSince1970: 1_700_000_000)
            var left: Int
        }

        private let state: Locked<State>
        let last = AsyncGate()

        init(_ count: Int) { state = Locked(State(left: count)) }

        var now: Date { state.withLock { $0.now } }

        func sleep(_ duration: Duration) async throws {
            let isLast = state.withLock { state in
                if state.left == 0 { return true }
                state.left -= 1
                state.now += Double(duration.components.seconds)
                return false
            }
            if isLast { await last.wait() }
            try Task.checkCancellation()
        }
    }

    private let directory: TestDirectory
    private let executor = BlockingExecutor(width: 1)

    init() throws { directory = try TestDirectory() }

    private func store(_ sleeps: Sleeps) throws -> DiskStore {
        var configuration = StoreConfiguration(capacity: 8 << 20)
        configuration.minimumFreeSpace = 0
        configuration.clock = { sleeps.now }
        configuration.uptime = { .seconds(1 << 30) }
        return try DiskStore(directory: directory.path("cache"), configuration: configuration)
    }

    @Test func `a store is swept once a day, as long as its process runs`() async throws {
        let sleeps = Sleeps(80)
        let store = try store(sleeps)
        let start = Int64(sleeps.now.timeIntervalSince1970 * 1000)
        let dates = Locked<[Int64]>([])
        let sweeper = Sweeper(store: store, executor: executor) { duration in
            let swept = try store.withIndex { (index) throws(StoreError) in try index.readTotals().swept }
            dates.withLock { if $0.last != swept { $0.append(swept) } }
            try await sleeps.sleep(duration)
        }
        for _ in 0..<2 { sweeper.startOnce() }
        await sleeps.last.reached()
        #expect(dates.withLock { $0 } == (Int64(0)..<4).map { start + $0 * 86_400_000 })
        await sweeper.stop()
        store.close()
        executor.close()
    }

    @Test func `a sweeper that sleeps keeps neither its store nor its process`() async throws {
        let sleeps = Sleeps(0)
        let end = AsyncGate()
        weak var released: DiskStore?
        do {
            let store = try store(sleeps)
            released = store
            let sweeper = Sweeper(store: store, executor: executor) { duration in
                defer { end.open() }
                try await sleeps.sleep(duration)
            }
            sweeper.startOnce()
            await sleeps.last.reached()
            #expect(released != nil)
            withExtendedLifetime(sweeper) {}
        }
        // The sweeper has cancelled its task.
        await end.wait()
        #expect(released == nil)
        executor.close()
    }
}
