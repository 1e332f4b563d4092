import ConcurrencyPrimitives
import Testing

@Suite("Limits of tasks at a time", .timeLimit(.minutes(5)))
struct AsyncSemaphoreTests {
    @Test func `tasks never exceed the semaphore's limit, and every task gets its turn`() async {
        let semaphore = AsyncSemaphore(2)
        let counts = Locked((running: 0, most: 0, ended: 0))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    guard await semaphore.acquire() else { return }
                    counts.withLock { counts in
                        counts.running += 1
                        counts.most = max(counts.most, counts.running)
                    }
                    await Task.yield()
                    counts.withLock { counts in
                        counts.running -= 1
                        counts.ended += 1
                    }
                    semaphore.release()
                }
            }
        }
        #expect(counts.withLock { $0.most } <= 2 && counts.withLock { $0.ended } == 50)
        #expect(semaphore.tryAcquire() && semaphore.tryAcquire() && !semaphore.tryAcquire())
    }

    @Test func `a waiter that is cancelled gets no place and leaves none behind`() async {
        let semaphore = AsyncSemaphore(1)
        #expect(semaphore.tryAcquire())
        let waiting = (0..<10).map { _ in Task { await semaphore.acquire() } }
        for task in waiting { task.cancel() }
        for task in waiting { #expect(await !task.value) }
        semaphore.release()
        #expect(semaphore.tryAcquire() && !semaphore.tryAcquire())
    }

    @Test func `a task that is cancelled as it gets a place passes the place on`() async {
        for _ in 0..<200 {
            let semaphore = AsyncSemaphore(1)
            #expect(semaphore.tryAcquire())
            let waiting = Task { await semaphore.acquire() }
            await Task.yield()
            async let released: Void = semaphore.release()
            waiting.cancel()
            await released
            if await waiting.value { semaphore.release() }
            #expect(semaphore.tryAcquire() && !semaphore.tryAcquire())
        }
    }
}
