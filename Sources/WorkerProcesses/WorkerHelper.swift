import CLinux
import ConcurrencyPrimitives
import Glibc

/// A helper process (``HelperProgram``), which forks the workers of this program.
final class WorkerHelper: Sendable {
    private let process: ChildProcess
    /// `nil` once the helper has failed. The lock is held for a command and its answer.
    private let socket: Locked<MessageSocket?>
    private let hasFailed = Locked(false)

    /// Starts a helper.
    ///
    /// - Parameter program: The path of an executable that calls ``HelperProgram/runIfAsked(_:prepare:handle:)``.
    init(_ program: String) throws(WorkerFailure) {
        guard clinux_can_confine() else { throw .unavailable("the processor is not supported") }
        let (number, own) = try Self.spawn(program)
        guard number > 0 else { throw .unavailable("\(program): \(String(cString: strerror(-number)))") }
        process = try ChildProcess(started: number)
        socket = Locked(own)
        try handshake(own)
    }

    private func handshake(_ socket: MessageSocket) throws(WorkerFailure) {
        guard socket.isReadable(from: process.number) else { throw .unavailable("the helper does not answer") }
        guard let greeting = try socket.receive() else { throw .unavailable("the helper ended at its start") }
        guard greeting.bytes.count == 1 else {
            throw .unavailable(String(decoding: greeting.bytes, as: UTF8.self))
        }
        guard greeting.bytes == [HelperProgram.version] else { throw .unavailable("the helper is of another version") }
    }

    /// Starts the program with the other end of the returned connection.
    ///
    /// This process closes its copy of that end. Otherwise the program's exit would not end the connection, and would be noticed only after seconds
    /// without CPU time.
    private static func spawn(_ program: String) throws(WorkerFailure) -> (process: pid_t, own: MessageSocket) {
        let (own, other) = try MessageSocket.pair()
        // The environment may contain secrets, which code that decodes untrusted files must not have.
        let kept = ["LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "IMGCACHE_TEST_DECODER_FAULTS"]
        // Without a time zone, gmtime(3) reads a file, which workers cannot do.
        let environment = kept.compactMap { name in getenv(name).map { "\(name)=\(String(cString: $0))" } }
        let process = withExtendedLifetime(other) {
            withCStrings([program, HelperProgram.argument]) { arguments in
                withCStrings(environment + ["SWIFT_BACKTRACE=enable=no", "TZ=UTC0"]) { environment in
                    clinux_spawn_helper(program, arguments, environment, other.descriptor.number)
                }
            }
        }
        return (process, own)
    }

    private static func withCStrings<Result>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        return body(copies)
    }

    /// Workers retain the helper, so all of them have ended.
    deinit { process.end() }

    /// False once the helper has failed. Does not wait for a command in progress.
    var isAlive: Bool { !hasFailed.withLock { $0 } }

    /// Sends a command and returns its answer. After a failure the helper is no longer used.
    private func ask(
        _ command: HelperProgram.Command, _ bytes: [UInt8], _ descriptors: [OpenDescriptor] = []
    ) -> WorkerMessage? {
        socket.withLock { socket in
            let message = WorkerMessage([command.rawValue] + bytes, descriptors: descriptors)
            guard let connection = socket, connection.send(message), connection.isReadable(from: process.number),
                let answer = try? connection.receive(requiresDescriptors: false)
            else {
                socket = nil
                hasFailed.withLock { $0 = true }
                return nil
            }
            return answer
        }
    }

    /// Forks a worker.
    func fork(_ limits: WorkerLimits) throws(WorkerFailure) -> WorkerProcess {
        let (own, other) = try MessageSocket.pair()
        let bytes = Numbers.bytes(of: Int64(limits.memory), Int64(limits.seconds))
        guard let answer = ask(.fork, bytes, [other.descriptor]) else {
            throw .unavailable("the helper has ended")
        }
        var numbers = Numbers(answer.bytes[...])
        guard let number = numbers.next().flatMap({ Int32(exactly: $0) }), number > 0 else {
            throw .unavailable(numbers.text)
        }
        guard let process = answer.descriptors.first else {
            _ = wait(for: number)
            throw .unavailable(MessageSocket.tooManyOpenFiles)
        }
        return WorkerProcess(number: number, process: process, socket: own, helper: self, limits)
    }

    /// Kills a worker unless it has ended, and waits for it.
    ///
    /// - Returns: The signal that ended the worker, or nil if there was none or it is unknown.
    func wait(for worker: pid_t) -> Int32? {
        guard let answer = ask(.wait, Numbers.bytes(of: Int64(worker))) else { return nil }
        var numbers = Numbers(answer.bytes[...])
        return numbers.next().flatMap { $0 > 0 ? Int32(exactly: $0) : nil }
    }
}
