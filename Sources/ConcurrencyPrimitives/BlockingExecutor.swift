import Glibc

/// Dedicated threads for work that may block: index look-ups, file writes, commits, checksums.
///
/// Tasks that prefer this executor never block the cooperative pool, whose few threads belong to the application.
/// Threads are started on demand, up to `width`, and kept.
package final class BlockingExecutor: TaskExecutor, Sendable {
    private enum Item {
        case job(UnownedJob)
        case work(@Sendable () -> Void)
    }

    private struct State {
        var jobs: [Item] = []
        var head = 0
        /// The number of threads that wait and have not been woken.
        var idle = 0
        var threads = 0
        var closed = false

        mutating func take() -> Step {
            guard head < jobs.count else { return .wait }
            let item = jobs[head]
            head += 1
            if head == jobs.count || head > 1024 {
                jobs.removeFirst(head)
                head = 0
            }
            return .run(item)
        }

        /// The next step of a thread.
        mutating func next() -> Step {
            let step = take()
            guard case .wait = step else { return step }
            // A load may outlive its cache and continue after `close`: a thread that ends must no longer be counted, or
            // none remains for the rest of it.
            if closed { threads -= 1 } else { idle += 1 }
            return closed ? .end : .wait
        }
    }

    private enum Step {
        case run(Item)
        case wait
        case end
    }

    private let width: Int
    private let state: Locked<State>
    private let wake = CountingSemaphore(0)

    package init(width: Int) {
        self.width = width
        state = Locked(State())
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        enqueue(.job(UnownedJob(job)))
    }

    private func enqueue(_ item: Item) {
        // The caller's reference belongs to the task: a thread that takes the job may end it, and with it the last
        // reference, before this returns.
        let own = Unmanaged.passRetained(self)
        defer { own.release() }
        let (wakes, starts) = state.withLock { state in
            state.jobs.append(item)
            if state.idle > 0 {
                state.idle -= 1
                return (true, false)
            }
            guard state.threads < width else { return (false, false) }
            state.threads += 1
            return (false, true)
        }
        if wakes { wake.signal() }
        if starts { spawn() }
    }

    /// Lets the threads end as soon as the queue is empty.
    package func close() {
        let idle = state.withLock { state in
            state.closed = true
            defer { state.idle = 0 }
            return state.idle
        }
        for _ in 0..<idle { wake.signal() }
    }

    /// A thread inherits the niceness of the one that starts it, for good. Hence no task outside of an executor has a low priority: on
    /// Linux, the runtime's threads for those are nicer than the process.
    private func spawn() {
        do throws(SystemThread.Failure) {
            try SystemThread { self.work() }.detach()
        } catch {
            // No thread is available (EAGAIN): the job waits for an existing one. If there is none, also because others could not be started at the
            // same time, all waiting jobs run here.
            state.withLock { $0.threads -= 1 }
            while case .run(let item) = state.withLock({ $0.threads == 0 ? $0.take() : .wait }) { run(item) }
        }
    }

    private func work() {
        while true {
            switch state.withLock({ $0.next() }) {
            case .run(let item): run(item)
            case .wait: wake.wait()
            case .end: return
            }
        }
    }

    private func run(_ item: Item) {
        switch item {
        case .job(let job): job.runSynchronously(on: asUnownedTaskExecutor())
        case .work(let work): work()
        }
    }
}

extension BlockingExecutor {
    /// Runs `work` when everything that waits now has begun; at once, on the calling thread, if nothing waits.
    package func runBehindWaitingWork(_ work: @escaping @Sendable () -> Void) {
        if state.withLock({ $0.jobs.count == $0.head }) { work() } else { enqueue(.work(work)) }
    }

    /// Runs `work` on one of the threads, and waits for it.
    ///
    /// The work runs in a task of its own, which nobody cancels: it does not see a cancellation of the caller in `Task.isCancelled`.
    package func run<Value: Sendable, Failure: Error>(
        _ work: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await Task(executorPreference: self) { () -> Result<Value, Failure> in
            do throws(Failure) { return .success(try work()) } catch { return .failure(error) }
        }.value.get()
    }
}
