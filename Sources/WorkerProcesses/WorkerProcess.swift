import CLinux
import ConcurrencyPrimitives
import Glibc

/// A worker process, as its program sees it.
final class WorkerProcess: Sendable {
    private let number: pid_t
    private let process: OpenDescriptor
    let socket: MessageSocket
    private let helper: WorkerHelper
    private let life = Locked(Life())

    private struct Life {
        var isEnded = false
        /// Pieces of work that were begun.
        var requests = 0
    }

    init(number: pid_t, process: OpenDescriptor, socket: MessageSocket, helper: WorkerHelper) {
        self.number = number
        self.process = process
        self.socket = socket
        self.helper = helper
    }

    deinit { end() }

    /// Waits until the worker is confined.
    func greet() throws(WorkerFailure) {
        guard socket.isReadable(from: number), let greeting = try socket.receive() else {
            throw .unavailable("a worker does not answer")
        }
        guard greeting.bytes.isEmpty else {
            throw .unavailable("seccomp: " + String(decoding: greeting.bytes, as: UTF8.self))
        }
    }

    /// Notes a piece of work.
    func begin() { life.withLock { $0.requests += 1 } }

    /// Seconds of CPU time so far.
    var seconds: Double { clinux_cpu_seconds_of(number) }

    /// True once the process is gone.
    var isGone: Bool { clinux_wait_readable(process.number, 0) != 0 }

    /// True if it has done enough, has lost its helper, or says what it was not asked: another is to take its place.
    func isWornOut(_ limits: WorkerLimits) -> Bool {
        life.withLock { $0.requests } >= limits.requests || !helper.isAlive || seconds > Double(limits.seconds) / 2
            || isGone || socket.isReadable(within: 0)
    }

    /// The end of a process that has closed its connection: the signal, nil if it ended by itself, or had to be killed.
    func signalOfEnd() -> Int32? {
        let endsByItself = clinux_wait_readable(process.number, 1_000) != 0
        let signal = end()
        // Nobody knows the signal without the helper, which was killed: probably the worker was, too.
        return endsByItself ? signal ?? (helper.isAlive ? nil : SIGKILL) : nil
    }

    /// Kills the process, and leaves nothing of it.
    @discardableResult
    func end() -> Int32? {
        let wasEnded = life.withLock { life in
            defer { life.isEnded = true }
            return life.isEnded
        }
        guard !wasEnded else { return nil }
        _ = clinux_kill_process(process.number)
        return helper.wait(for: number)
    }
}
