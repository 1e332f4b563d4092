import CLinux
import ConcurrencyPrimitives
import Glibc

/// A worker process, from the program's side.
final class WorkerProcess: Sendable {
    private let number: pid_t
    private let process: OpenDescriptor
    let socket: MessageSocket
    private let helper: WorkerHelper
    private let life: Locked<Life>

    private struct Life {
        var isEnded = false
        /// The number of pieces of work begun.
        var requests = 0
        var granted: GrantedMemory
        /// A descriptor for the worker's memory figures, and its initial memory in bytes.
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
    func handshake() throws(WorkerFailure) {
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

    /// Answers a worker's request for memory.
    ///
    /// - Returns: nil if the message is not about memory; false if it is invalid, which only a broken worker sends.
    func answer(_ message: WorkerMessage) -> Bool? {
        guard message.purpose != .work else { return nil }
        var numbers = Numbers(message.bytes[...])
        guard let number = numbers.next() else { return false }
        if message.purpose == .freed { return life.withLock { $0.granted.free(number) } }
        let grant = life.withLock { $0.granted.grant(number) }
        guard let parcel = try? MessageSocket.Parcel(grant) else { return false }
        return socket.send(parcel, waits: false)
    }

    /// Takes ownership of the files that arrived with an answer. Returns false if this process did not create one of them.
    func adopt(_ answer: WorkerMessage) -> Bool {
        let files = answer.descriptors + (answer.carrier.map { [$0] } ?? [])
        return life.withLock { life in files.allSatisfy { life.granted.adopt($0) } }
    }

    /// Releases all memory of a worker that has no state to keep.
    func takeBackMemory() { life.withLock { $0.granted.freeAll() } }

    /// True if the worker has far more memory than initially.
    var keepsTooMuch: Bool {
        guard let (figures, idle) = life.withLock({ $0.figures }) else { return true }
        return clinux_resident_bytes(figures.number) > WorkerLimits.mostKept(by: idle)
    }

    /// True if an idle worker has sent anything else than a release of memory.
    private var speaksUnasked: Bool {
        while socket.isReadable(within: 0) {
            guard let message = try? socket.receive(), message.purpose == .freed, answer(message) == true else {
                return true
            }
        }
        return false
    }

    /// Counts a piece of work.
    func begin() { life.withLock { $0.requests += 1 } }

    /// The CPU time used so far, in seconds.
    var seconds: Double { clinux_cpu_seconds_of(number) }

    /// True once the process has ended.
    var isGone: Bool { clinux_wait_readable(process.number, 0) != 0 }

    /// True if the worker must be replaced: it has reached a limit, lost its helper, or sent an unexpected message.
    func exceedsLimits(_ limits: WorkerLimits) -> Bool {
        life.withLock { $0.requests } >= limits.requests || !helper.isAlive || seconds > Double(limits.seconds) / 2
            || isGone || speaksUnasked
    }

    /// Ends a process that has closed its connection during its work, and returns the reason of its end.
    func reasonOfEnd() -> WorkerFailure {
        let endsByItself = clinux_wait_readable(process.number, 1_000) != 0
        let signal = end()
        // A helper that ends kills its workers.
        if endsByItself, !helper.isAlive { return .interrupted }
        return .ended(signal: endsByItself ? signal : nil)
    }

    /// Kills the process, and reaps it.
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
