import CLinux
import ConcurrencyPrimitives
import Glibc

/// A worker process, as its program sees it.
final class WorkerProcess: Sendable {
    private let number: pid_t
    private let process: OpenDescriptor
    let socket: MessageSocket
    private let helper: WorkerHelper
    private let life: Locked<Life>

    private struct Life {
        var isEnded = false
        /// Pieces of work that were begun.
        var requests = 0
        var granted: GrantedMemory
        /// The worker's figures of memory, and the bytes that it had when it began.
        var figures: (descriptor: OpenDescriptor, idle: Int64)?
    }

    init(
        number: pid_t, process: OpenDescriptor, socket: MessageSocket, helper: WorkerHelper, _ limits: WorkerLimits
    ) {
        life = Locked(Life(granted: GrantedMemory(limit: limits.memory)))
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
        guard let figures = greeting.descriptors.first else { throw .unavailable("a worker has no figures of memory") }
        let idle = clinux_resident_bytes(figures.number)
        life.withLock { $0.figures = (figures, idle) }
    }

    /// Answers what a worker says about its memory.
    ///
    /// - Returns: Nil for something else; false if it makes no sense, as only a broken worker's can.
    func answer(_ message: WorkerMessage) -> Bool? {
        guard message.purpose != .work else { return nil }
        var numbers = Numbers(message.bytes[...])
        guard let number = numbers.next() else { return false }
        if message.purpose == .freed { return life.withLock { $0.granted.free(number) } }
        let grant = life.withLock { $0.granted.grant(number) }
        guard let parcel = try? MessageSocket.Parcel(grant) else { return false }
        return socket.send(parcel, waits: false)
    }

    /// Takes over the files that came with an answer; false if this process has not made one of them.
    func adopt(_ answer: WorkerMessage) -> Bool {
        let files = answer.descriptors + (answer.carrier.map { [$0] } ?? [])
        return life.withLock { life in files.allSatisfy { life.granted.adopt($0) } }
    }

    /// Takes back all memory of a worker that has nothing to keep.
    func takeBackMemory() { life.withLock { $0.granted.freeAll() } }

    /// True if the worker has far more memory than it began with.
    var keepsTooMuch: Bool {
        guard let (figures, idle) = life.withLock({ $0.figures }) else { return true }
        return clinux_resident_bytes(figures.number) > WorkerLimits.mostKept(by: idle)
    }

    /// True if a worker that was asked nothing says something else than that it needs some memory no more.
    private var speaksUnasked: Bool {
        while socket.isReadable(within: 0) {
            guard let message = try? socket.receive(), message.purpose == .freed, answer(message) == true else {
                return true
            }
        }
        return false
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
            || isGone || speaksUnasked
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
