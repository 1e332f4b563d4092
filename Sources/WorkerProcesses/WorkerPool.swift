import ConcurrencyPrimitives
import Glibc

/// Worker processes of a program, each of which does one piece of work at a time. One that crashes, or has to be stopped, is replaced
/// at once, and so is their helper.
///
/// Program and workers agree between themselves what the work is: messages of bytes and descriptors.
package final class WorkerPool: Sendable {
    /// Counts since the pool was opened.
    package struct Statistics: Sendable {
        /// Workers that ended in the middle of their work.
        package var crashes = 0
        /// Workers that were stopped: at a limit, or because nobody wanted the result any more.
        package var stops = 0
        /// Workers that took the place of another, for whatever reason.
        package var replacements = 0
        /// Helpers that took the place of another.
        package var helperReplacements = 0

        package init() {}
    }

    /// The bounds of one piece of work.
    package struct Bounds: Sendable {
        /// Seconds of CPU time.
        let seconds: Double
        /// Seconds in which the worker gets no further, however busy the machine is.
        let wait: Double
        /// Bytes of an answer, without what its descriptors lead to.
        let answer: Int

        /// The bounds that are left of a request's.
        ///
        /// - Parameters:
        ///   - limit: Seconds of CPU time for all pieces of work of the request together. One second more is for work that does not look at
        ///     the time.
        ///   - earlier: The pieces of work before.
        package init(limit: Double, after earlier: WorkerUse, answer: Int) {
            seconds = max(0, limit - earlier.seconds) + 1
            wait = max(0, limit * 4 + 60 - earlier.waited)
            self.answer = answer
        }
    }

    private struct State {
        var workers: WorkerLine<WorkerProcess>
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
    /// A place for each worker.
    private let places: CountingSemaphore

    /// Starts the helper and a first worker.
    ///
    /// - Parameters:
    ///   - program: The path of the helper's executable.
    ///   - width: The most workers.
    /// - Throws: `unavailable`.
    package init(program: String, width: Int, limits: WorkerLimits) throws(WorkerFailure) {
        self.program = program
        self.limits = limits
        places = CountingSemaphore(max(1, width))
        state = Locked(State(workers: WorkerLine(width: max(1, width))))
        let first = try fork()
        state.withLock { $0.workers.add(first) }
    }

    package var statistics: Statistics { state.withLock { $0.statistics } }

    /// Begins a session, for work in several pieces.
    ///
    /// - Parameter farewell: Tells a worker that the session is over; it does not answer.
    package func session(endingWith farewell: WorkerMessage) -> WorkerSession {
        let number = state.withLock { state in
            state.sessions += 1
            return state.sessions
        }
        return WorkerSession(number: number, pool: self, farewell: farewell)
    }

    /// Frees the worker that a session has left.
    func end(_ session: Int, _ farewell: WorkerMessage) {
        // Without a place all others are at work: this one has been taken, too, or forgets with the work that takes it.
        guard places.tryWait() else { return }
        defer { places.signal() }
        guard let worker = state.withLock({ $0.workers.leave(session) }) else { return }
        // A worker waits for its next message; one that does not gets none.
        if let parcel = try? MessageSocket.Parcel(farewell) { _ = worker.socket.send(parcel, waits: false) }
        state.withLock { $0.workers.release(worker) }
    }

    /// Has a piece of work done. Blocks the thread.
    ///
    /// - Parameters:
    ///   - session: The session that the work belongs to: its worker does it, if it has not been taken for other work.
    ///   - use: What the work has taken is added to it, also when it fails.
    ///   - isCancelled: Asked every few milliseconds.
    ///   - receive: Takes an answer; true if it is the last one. Nil: it makes no sense, as only a broken worker's can.
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
        // A session keeps what it needs. Its worker is looked at when other work takes it.
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
            // One that is being killed has no connection any more, one that was taken over may not read: neither has begun.
            throw .ended(signal: worker.signalOfEnd() ?? SIGKILL)
        }
        while true {
            if worker.socket.isReadable(within: 10) {
                guard let answer = try worker.socket.receive(most: bounds.answer) else {
                    throw .ended(signal: worker.signalOfEnd())
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
                // The worker waited while its answer was used.
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
            if !worker.isWornOut(limits) { return worker }
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

    /// Counts the end of a worker, and puts another in its place.
    ///
    /// - Parameter failure: Nil for a worker that was ended for what it keeps.
    private func replace(after failure: WorkerFailure?) {
        state.withLock { state in
            switch failure {
            case .ended: state.statistics.crashes += 1
            case .timedOut, .stoodStill, .cancelled: state.statistics.stops += 1
            case .unavailable, nil: break
            }
            state.statistics.replacements += 1
        }
        // Without one now, the next piece of work tries again.
        let worker = try? fork()
        state.withLock { state in
            if let worker { state.workers.release(worker) } else { state.workers.lose() }
        }
    }

    private func fork() throws(WorkerFailure) -> WorkerProcess {
        var failed: WorkerHelper?
        // Somebody may kill what has just been started.
        for _ in 0..<3 {
            guard let helper = try? helper(after: failed) else { continue }
            if let worker = try? fork(helper) { return worker }
            if !helper.isAlive { failed = helper }
        }
        return try fork(try helper(after: failed))
    }

    private func fork(_ helper: WorkerHelper) throws(WorkerFailure) -> WorkerProcess {
        let worker = try helper.fork(limits)
        try worker.greet()
        return worker
    }

    /// The helper, started if there is none, or only the one that has failed.
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
