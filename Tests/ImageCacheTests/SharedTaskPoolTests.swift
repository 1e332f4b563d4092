import ConcurrencyPrimitives
import ImageCacheTesting
import TestSupport
import Testing

@testable import ImageCache

@Suite(.timeLimit) struct SharedTaskPoolTests {
    private typealias Pool = SharedTaskPool<String, Int, String>

    private let pool = Pool()
    private let gate = AsyncGate()

    /// Work that ends when the gate opens, or when it is cancelled.
    private func subscribe(to key: String?, _ context: Int = 0, on executor: BlockingExecutor? = nil)
        -> Pool.Subscription
    {
        pool.subscribe(to: key, context, on: executor) { [gate] (task) async throws(ImageCacheError) in
            await gate.wait()
            if Task.isCancelled { throw ImageCacheError(.cancelled, message: "stopped") }
            return "\(task.context)"
        }
    }

    private func code(_ outcome: Pool.Outcome) -> ImageCacheError.Code? {
        if case .failure(let error) = outcome { error.code } else { nil }
    }

    @Test func `subscribers to one key share one task`() async throws {
        let first = subscribe(to: "a", 1)
        let second = subscribe(to: "a", 2)
        #expect(first.isFirst && !second.isFirst && second.context == 1)
        gate.open()
        #expect(try await first.value() == "1")
        #expect(try await second.value() == "1")
        // Also when it has ended.
        #expect(try await first.value() == "1")
    }

    @Test func `a key is free again when its task has ended`() async throws {
        gate.open()
        _ = try await subscribe(to: "a", 1).value()
        #expect(try await subscribe(to: "a", 2).value() == "2")
        #expect(pool.contexts.isEmpty)
    }

    @Test func `subscribers to other keys, or to none, have separate tasks`() async throws {
        let subscriptions = ["a", "b", nil, nil].enumerated().map { subscribe(to: $1, $0) }
        #expect(subscriptions.allSatisfy { $0.isFirst })
        #expect(pool.contexts.sorted() == [0, 1, 2, 3])
        gate.open()
        for (index, subscription) in subscriptions.enumerated() {
            #expect(try await subscription.value() == "\(index)")
        }
    }

    @Test func `a cancelled wait ends at once, and the task continues for the others`() async throws {
        let patient = subscribe(to: "a")
        let other = subscribe(to: "a")
        let impatient = Task { await other.outcome() }
        impatient.cancel()
        #expect(code(await impatient.value) == .cancelled)
        gate.open()
        #expect(try await patient.value() == "0")
    }

    @Test func `the last subscriber to leave cancels the task, and no later one joins it`() async throws {
        var first: Pool.Subscription? = subscribe(to: "a", 1)
        var second: Pool.Subscription? = subscribe(to: "a")
        let task = try #require(first?.task)
        await gate.reached()
        first = nil
        #expect(second?.isFirst == false && pool.contexts == [1])
        second = nil
        #expect(pool.contexts.isEmpty && pool.join(task) == nil)
        let next = subscribe(to: "a", 2)
        #expect(next.isFirst)
        gate.open()
        #expect(try await next.value() == "2")
    }

    @Test func `a task can be cancelled for all its subscribers`() async throws {
        let subscriptions = (0..<3).map { subscribe(to: $0 == 2 ? "b" : "a", $0) }
        await gate.reached()
        pool.cancel { $0 == 0 }
        #expect(code(await subscriptions[0].outcome()) == .cancelled)
        #expect(code(await subscriptions[1].outcome()) == .cancelled)
        #expect(pool.contexts == [2])
        subscriptions[2].cancelTask()
        #expect(code(await subscriptions[2].outcome()) == .cancelled)
    }

    @Test func `a withdrawn task is joined directly, but not by its key`() async throws {
        let first = subscribe(to: "a", 1)
        pool.withdraw(first.task)
        let second = subscribe(to: "a", 2)
        let third = try #require(pool.join(first.task))
        #expect(second.isFirst && !third.isFirst && third.context == 1)
        gate.open()
        #expect(try await [first.value(), second.value(), third.value()] == ["1", "2", "1"])
    }

    @Test func `a task is joined under the key that it is published under, unless the key is taken`()
        async throws
    {
        let own = subscribe(to: nil, 1)
        pool.publish(own.task, under: "a")
        #expect(subscribe(to: "a", 2).context == 1)
        let other = subscribe(to: nil, 3)
        pool.publish(other.task, under: "a")
        #expect(subscribe(to: "a", 4).context == 1)
        gate.open()
        #expect(try await own.value() == "1")
        #expect(try await other.value() == "3")
        #expect(subscribe(to: "a", 5).isFirst)
    }

    @Test func `a task continues after the threads of its executor have ended`() async throws {
        let executor = BlockingExecutor(width: 1)
        for round in 1...3 {
            let gate = AsyncGate()
            let subscription = pool.subscribe(to: nil, round, on: executor) { (task) async throws(ImageCacheError) in
                await gate.wait()
                return "\(task.context)"
            }
            executor.close()
            gate.open()
            #expect(try await subscription.value() == "\(round)")
        }
    }

    @Test func `a slow watcher of a fetch sees the newest progress only, and its watch ends with the fetch`() async {
        let fetch = Fetch("http://origin.example/", for: "http://origin.example/")
        let progress = fetch.watch()
        for count in 1...100 { fetch.report { $0.received = Int64(count) } }
        fetch.end()
        var seen: [Int64] = []
        for await value in progress { seen.append(value.received) }
        #expect(seen == [100])
    }
}
