import ConcurrencyPrimitives
import Glibc

/// A claim on a file of the store, as a number in the file's name: the machine and process that made it, and random bits.
///
///     bits 42-61   the machine's boot and the namespace of its process numbers
///     bits 20-41   the process; 0 for a file that was released
///     bits 0-19    random
///
/// The process tells if the file is in use where locks cannot be trusted. On one machine that is certain: a process that is alive is alive.
enum Claim {
    enum State {
        /// A process of this machine has it.
        case used
        /// Its process has ended, or has released it.
        case free
        /// A process of another machine, or of an earlier boot, made it.
        case elsewhere
    }

    private static let processBits: Int64 = 22
    private static let randomBits: Int64 = 20
    private static let processMask = Int64(1) << processBits - 1

    /// The claims of this process that are in use.
    private static let own = Locked<Set<Int64>>([])

    /// The machine as far as the numbers of processes are concerned. Without /proc, each process counts as a machine.
    private static let machine: Int64 = {
        var status = stat()
        guard Boot.current != 0, stat("/proc/self/ns/pid", &status) == 0 else { return .random(in: 0..<1 << 20) }
        let hash = [Boot.current, Int64(bitPattern: UInt64(status.st_ino))].withUnsafeBytes { Checksum(of: $0).low }
        return Int64(hash >> 44)
    }()

    /// A new claim of this process.
    static func new() -> Int64 { of(process: Int64(getpid())) }

    /// A new claim that is in use, until ``note(_:isUsed:)``.
    static func used() -> Int64 {
        let claim = new()
        note(claim, isUsed: true)
        return claim
    }

    /// A claim on a file that any process may claim.
    static func released() -> Int64 { of(process: 0) }

    /// A claim of a process of this machine.
    static func of(process: Int64) -> Int64 {
        (machine << processBits | process & processMask) << randomBits | .random(in: 0..<Int64(1) << randomBits)
    }

    static func state(of claim: Int64) -> State {
        let process = claim >> randomBits & processMask
        if process == 0 { return .free }
        if claim >> (processBits + randomBits) != machine { return .elsewhere }
        if process == Int64(getpid()) { return own.withLock { $0.contains(claim) } ? .used : .free }
        return isAlive(process) ? .used : .free
    }

    /// Notes that this process uses a claim, or no longer does.
    static func note(_ claim: Int64, isUsed: Bool) {
        own.withLock { own in
            if isUsed { own.insert(claim) } else { own.remove(claim) }
        }
    }

    private static func isAlive(_ process: Int64) -> Bool { kill(pid_t(process), 0) == 0 || errno == EPERM }

    // MARK: Runs

    private static let runRandomBits: Int64 = 8
    private static let runMachineMask: Int64 = 1 << 10 - 1

    /// A number for a run, which contains its process.
    static func newRun() -> Int64 {
        let process = Int64(getpid()) & processMask
        return ((machine & runMachineMask) << processBits | process) << runRandomBits
            | .random(in: 0..<Int64(1) << runRandomBits)
    }

    /// True if a run's process is on this machine, and has not ended.
    static func isAlive(run: Int64) -> Bool {
        let process = run >> runRandomBits & processMask
        return run >> (processBits + runRandomBits) == machine & runMachineMask && process != 0 && isAlive(process)
    }
}
