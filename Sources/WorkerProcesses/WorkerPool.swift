import ConcurrencyPrimitives
import Glibc

/// The worker processes of a program, each of which does one piece of work at a time. A worker that crashes or has to be stopped is
/// replaced at once, and so is the helper.
///
/// The program and its workers define the content of the work: messages of bytes and descriptors.
package final class WorkerPool: Sendable {
    /// Counts since the pool was opened.
    package struct Statistics: Sendable {
        /// Workers that ended during their work.
        package var crashes = 0
        /// Workers that were stopped at a limit, or because their result was no longer needed.
        package var stops = 0
        /// Workers that replaced another one, for any reason.
        package var replacements = 0
        /// Helpers that replaced another one.
        package var helperReplacements = 0

        package init() {}
    }

    /// The bounds of one piece of work.
    package struct Bounds: Sendable {
        /// Seconds of CPU time.
        let seconds: Double
        /// Seconds of waiting after which the worker is stopped, even on a busy machine.
        let wait: Double
        /// The largest answer in bytes, without the content of its descriptors.
        let answer: Int

        /// The remaining part of a request's limits.
        ///
        /// - Parameters:
        ///   - limit: Seconds of CPU time for all pieces of work of the request together. One more second is allowed for work that does not
        ///     check the time.
        ///   - earlier: The time used by the earlier pieces of work.
        package init(limit: Double, after earlier: WorkerUse, answer: Int) {
            seconds = max(0, limit - earlier.seconds) + 1
            wait = max(0, limit * 4 + 60 - earlier.waited)
            self.answer = answer
        }
    }

    private struct State {
        var workers: IdleWorkers<WorkerProcess>
        var statistics = Statistics()
        /// The number of the last session.
        var sessions = 0
    }

    private let program: String
    private let limits: WorkerLimits
    private let state: Locked<State>
    private let helper = Locked<WorkerHelper?>(nil)
    /// The start of a helper. Only threads that need a helper wait for it.
    private let starting = SharedWork<Result<WorkerHelper, WorkerFailure>>()
    /// One slot for each worker.
    private let places: CountingSemaphore

    /// Starts the helper and a first worker.
    ///
    /// - Parameters:
    ///   - program: The path of the helper's executable.
    ///   - width: The maximum number of workers.
    /// - Throws: `unavailable`.
    package init(program: String, width: Int, limits: WorkerLimits) throws(WorkerFailure) {
        self.program = program
        self.limits = limits
        places = CountingSemaphore(max(1, width))
        state = Locked(State(workers: IdleWorkers(width: max(1, width))))
        let first = try fork()
        state.withLock { $0.workers.add(first) }
    }

    package var statistics: Statistics { state.withLock { $0.statistics } }

    /// Begins a session of several pieces of work.
    ///
    /// - Parameter closeMessage: The message that tells a worker that the session is over. It is not answered.
    package func session(endingWith closeMessage: WorkerMessage) -> WorkerSession {
        let number = state.withLock { state in
            state.sessions += 1
            return state.sessions
        }
        return WorkerSession(number: number, pool: self, closeMessage: closeMessage)
    }

    /// Releases the worker of a session that has ended.
    func end(_ session: Int, _ closeMessage: WorkerMessage) {
        // If there is no free slot, all workers are busy. This one was then taken for other work too, or drops the session's state when it
        // is taken.
        guard places.tryWait() else { return }
        defer { places.signal() }
        guard let worker = state.withLock({ $0.workers.leave(session) }) else { return }
        // A worker waits for its next message. If it does not, it gets none.
        if let parcel = try? MessageSocket.Parcel(closeMessage) { _ = worker.socket.send(parcel, waits: false) }
        state.withLock { $0.workers.release(worker) }
    }

    /// Does a piece of work in a worker. Blocks the thread.
    ///
    /// - Parameters:
    ///   - session: The session of the work. Its worker is used unless other work has taken it.
    ///   - use: The time that the work takes is added to it, even if the work fails.
    ///   - isCancelled: Called every few milliseconds.
    ///   - receive: Handles an answer, and returns true if it is the last one. It returns nil if the answer is invalid, which only a broken
    ///     worker sends.
    package func run(
        _ message: WorkerMessage, in session: WorkerSession? = nil, within bounds: Bounds, adding use: inout WorkerUse,
        isCancelled: () -> Bool, receive: (WorkerMessage) -> Bool?
    ) throws(WorkerFailure) {
        places.wait()
        defer { places.signal() }
        let worker = try take(for: session?.number)
        worker.begin()
        do throws(WorkerFailure) {
            try Self.converse(with: worker, message, bounds, &use, isCancelled, receive)
        } catch {
            worker.end()
            replace(after: error)
            throw error
        }
        // A session keeps its memory. Its worker is checked when other work takes it.
        if session == nil {
            worker.takeBackMemory()
            if worker.keepsTooMuch {
                worker.end()
                return replace(after: nil)
            }
        }
        state.withLock { $0.workers.release(worker, session: session?.number) }
    }

    private static func converse(
        with worker: WorkerProcess, _ message: WorkerMessage, _ bounds: Bounds, _ use: inout WorkerUse,
        _ isCancelled: () -> Bool, _ receive: (WorkerMessage) -> Bool?
    ) throws(WorkerFailure) {
        let (usedBefore, start) = (worker.seconds, ContinuousClock.now)
        defer {
            use.seconds += max(0, worker.seconds - usedBefore)
            use.waited += (ContinuousClock.now - start) / .seconds(1)
        }
        var watch = StandstillWatch(usedBefore, at: start)
        guard worker.socket.send(try MessageSocket.Parcel(message), waits: false) else {
            // The worker was killed, or was taken over and does not read.
            throw .interrupted
        }
        while true {
            if worker.socket.isReadable(within: 10) {
                guard let answer = try worker.socket.receive(most: bounds.answer) else {
                    throw worker.reasonOfEnd()
                }
                let isUnderstood = worker.answer(answer)
                if isUnderstood == nil {
                    guard worker.adopt(answer), let isLast = receive(answer) else {
                        throw .ended(signal: nil)
                    }
                    if isLast { return }
                } else if isUnderstood == false {
                    throw .ended(signal: nil)
                }
                // Restart the watch: the worker was idle while its answer was handled.
                watch = StandstillWatch(worker.seconds, at: .now)
            }
            if isCancelled() { throw .cancelled }
            let (seconds, now) = (worker.seconds, ContinuousClock.now)
            if seconds - usedBefore > bounds.seconds { throw .timedOut(seconds: seconds - usedBefore) }
            let waited = (now - start) / .seconds(1)
            if waited > bounds.wait { throw .timedOut(seconds: waited) }
            if watch.isOver(seconds, at: now) { throw .stoodStill(seconds: StandstillWatch.patience / .seconds(1)) }
        }
    }

    /// A worker for one piece of work.
    private func take(for session: Int?) throws(WorkerFailure) -> WorkerProcess {
        while let worker = state.withLock({ $0.workers.take(for: session) }) {
            if !worker.exceedsLimits(limits) { return worker }
            worker.end()
            state.withLock { state in
                state.workers.lose()
                state.statistics.replacements += 1
            }
        }
        do throws(WorkerFailure) { return try fork() } catch {
            state.withLock { $0.workers.lose() }
            throw error
        }
    }

    /// Counts the end of a worker, and starts another one.
    ///
    /// - Parameter failure: The failure, or nil if the worker was ended because it kept too much memory.
    private func replace(after failure: WorkerFailure?) {
        state.withLock { state in
            switch failure {
            case .ended: state.statistics.crashes += 1
            case .timedOut, .stoodStill, .cancelled: state.statistics.stops += 1
            case .interrupted, .unavailable, nil: break
            }
            state.statistics.replacements += 1
        }
        // If the start fails, the next piece of work tries again.
        let worker = try? fork()
        state.withLock { state in
            if let worker { state.workers.release(worker) } else { state.workers.lose() }
        }
    }

    private func fork() throws(WorkerFailure) -> WorkerProcess {
        var failed: WorkerHelper?
        // The process may be killed right after its start.
        for _ in 0..<3 {
            guard let helper = try? helper(after: failed) else { continue }
            if let worker = try? fork(helper) { return worker }
            if !helper.isAlive { failed = helper }
        }
        return try fork(try helper(after: failed))
    }

    private func fork(_ helper: WorkerHelper) throws(WorkerFailure) -> WorkerProcess {
        let worker = try helper.fork(limits)
        try worker.handshake()
        return worker
    }

    /// Returns the helper. It is started if there is none, or only the failed one.
    private func helper(after failed: WorkerHelper?) throws(WorkerFailure) -> WorkerHelper {
        while true {
            if let helper = helper.withLock({ $0 }), helper !== failed { return helper }
            let helper = try starting.result { start(after: failed) }.get()
            // Another thread may have found the one that has failed.
            if helper !== failed { return helper }
        }
    }

    private func start(after failed: WorkerHelper?) -> Result<WorkerHelper, WorkerFailure> {
        let former = helper.withLock { $0 }
        // Another thread may have started one meanwhile.
        if let former, former !== failed { return .success(former) }
        do throws(WorkerFailure) {
            let new = try WorkerHelper(program)
            helper.withLock { $0 = new }
            if former != nil { state.withLock { $0.statistics.helperReplacements += 1 } }
            return .success(new)
        } catch {
            return .failure(error)
        }
    }
}
