import Glibc

/// Dedicated threads for work that may block: index look-ups, file writes, commits, checksums.
///
/// Tasks that prefer this executor never block the cooperative pool, whose few threads belong to the application.
/// Threads are started on demand, up to `width`, and kept.
package final class BlockingExecutor: TaskExecutor, Sendable {
    private struct State {
        var jobs: [UnownedJob] = []
        var head = 0
        var idle = 0
        var threads = 0
        var closed = false
    }

    private let width: Int
    private let state: Locked<State>
    private let wake = Semaphore()

    package init(width: Int) {
        self.width = width
        state = Locked(State())
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        // The caller's reference belongs to the task: a thread that takes the job may end it, and with it the last
        // reference, before this returns.
        let own = Unmanaged.passRetained(self)
        defer { own.release() }
        let startThread = state.withLock { state in
            state.jobs.append(unowned)
            guard state.idle < state.jobs.count - state.head, state.threads < width else { return false }
            state.threads += 1
            return true
        }
        if startThread { spawn() }
        wake.signal()
    }

    /// Lets the threads end as soon as the queue is empty.
    package func close() {
        let threads = state.withLock { state in
            state.closed = true
            return state.threads
        }
        for _ in 0..<threads { wake.signal() }
    }

    /// A thread inherits the niceness of the one that starts it, for good. Hence no task outside of an executor has a low priority: on
    /// Linux, the runtime's threads for those are nicer than the process.
    private func spawn() {
        do throws(SystemThread.Failure) {
            try SystemThread { self.work() }.detach()
        } catch {
            // No thread is available (EAGAIN): the job waits for an existing one. The first thread is required, so the
            // job runs here.
            let only = state.withLock { state in
                state.threads -= 1
                return state.threads == 0
            }
            if only { runOne() }
        }
    }

    private func work() {
        // A load may outlive its cache and continue after `close`: a thread that ends must no longer be counted, or
        // none remains for the rest of it.
        while !endsNow() {
            wake.wait()
            state.withLock { $0.idle -= 1 }
            runOne()
        }
    }

    /// Returns true if there is no more work to come; otherwise the calling thread counts as idle.
    private func endsNow() -> Bool {
        state.withLock { state in
            let isOver = state.closed && state.head == state.jobs.count
            if isOver { state.threads -= 1 } else { state.idle += 1 }
            return isOver
        }
    }

    @discardableResult
    private func runOne() -> Bool {
        let job = state.withLock { state -> UnownedJob? in
            guard state.head < state.jobs.count else { return nil }
            let job = state.jobs[state.head]
            state.head += 1
            if state.head == state.jobs.count || state.head > 1024 {
                state.jobs.removeFirst(state.head)
                state.head = 0
            }
            return job
        }
        guard let job else { return false }
        job.runSynchronously(on: asUnownedTaskExecutor())
        return true
    }
}

extension BlockingExecutor {
    /// Runs `work` on one of the threads, and waits for it.
    package func run<Value: Sendable, Failure: Error>(
        _ work: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await Task(executorPreference: self) { () -> Result<Value, Failure> in
            do throws(Failure) { return .success(try work()) } catch { return .failure(error) }
        }.value.get()
    }
}

/// A POSIX semaphore.
///
/// `@unchecked Sendable`: `sem_t` is safe for concurrent use and has a stable address.
private final class Semaphore: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func signal() { sem_post(semaphore) }

    func wait() {
        while sem_wait(semaphore) != 0 && errno == EINTR {}
    }
}
