import ConcurrencyPrimitives
import TestSupport
import Testing

@testable import ImageCache

@Suite(.timeLimit) struct BlockingExecutorTests {
    /// The thread that enqueues a task races with the thread that runs it to the end. A use after free shows under AddressSanitizer, or as
    /// a crash.
    @Test func `an executor may be released with its last task, even while that task is being enqueued`() async {
        for _ in 0..<2000 {
            let waiting = Locked<UnsafeContinuation<Void, Never>?>(nil)
            let isClosed = Locked(false)
            var executor: BlockingExecutor? = BlockingExecutor(width: 1)
            let last = Task(executorPreference: executor) {
                await withUnsafeContinuation { continuation in
                    waiting.withLock { $0 = continuation }
                    // Still at work when the executor is closed: its thread ends without having waited for the signal.
                    while !isClosed.withLock({ $0 }) {}
                }
            }
            // Ends: the task above runs at once. A sleep would let its thread end before it is closed.
            while waiting.withLock({ $0 == nil }) { await Task.yield() }
            executor?.close()
            executor = nil
            isClosed.withLock { $0 = true }
            for _ in 0..<Int.random(in: 0..<50) { await Task.yield() }
            waiting.withLock { $0 }?.resume()
            await last.value
        }
    }

    @Test func `work that comes after the end of all threads is run all the same`() async {
        let executor = BlockingExecutor(width: 1)
        await Task(executorPreference: executor) {}.value
        executor.close()
        #expect(await Task(executorPreference: executor) { 7 }.value == 7)
    }
}
