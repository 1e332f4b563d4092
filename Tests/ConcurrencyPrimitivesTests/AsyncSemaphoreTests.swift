import ConcurrencyPrimitives
import Testing

@Suite("Limits of tasks at a time", .timeLimit(.minutes(5)))
struct AsyncSemaphoreTests {
    @Test func `no more tasks than places run at a time, and all get one`() async {
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

    @Test func `one that is cancelled while it waits has no place, and leaves none behind`() async {
        let semaphore = AsyncSemaphore(1)
        #expect(semaphore.tryAcquire())
        let waiting = (0..<10).map { _ in Task { await semaphore.acquire() } }
        for task in waiting { task.cancel() }
        for task in waiting { #expect(await !task.value) }
        semaphore.release()
        #expect(semaphore.tryAcquire() && !semaphore.tryAcquire())
    }

    @Test func `whoever is cancelled in its turn passes the place on`() async {
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
