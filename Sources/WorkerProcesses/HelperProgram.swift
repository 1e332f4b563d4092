import CLinux
import Glibc

/// The program of a helper: a single-threaded process that forks workers. It has the same code as its parent program but none of the
/// parent's secrets, and it ends with the parent.
package enum HelperProgram {
    /// The argument that starts a process as a helper.
    package static let argument = "worker-helper"

    /// The version of the messages. A helper and its program may come from different installations.
    static let version: UInt8 = 3

    /// Messages to a helper.
    enum Command: UInt8 {
        /// Forks a worker for the attached socket. The limits of memory and seconds follow. The answer is the process's number, and its
        /// descriptor (pidfd_open(2)).
        case fork = 1
        /// Kills a worker unless it has ended, and waits for it. The answer is the signal that ended it, or 0 for none.
        case wait
    }

    /// Runs as a helper if the process was started as one, and then does not return.
    ///
    /// - Parameters:
    ///   - prepare: Opens everything that workers can no longer open.
    ///   - handle: The work of a worker: answers a message.
    package static func runIfAsked(
        _ arguments: [String], prepare: () -> Void, handle: (WorkerMessage, _ answer: (WorkerMessage) -> Bool) -> Void
    ) {
        guard arguments.count == 2, arguments[1] == argument, fcntl(helperSocket, F_GETFD) >= 0 else {
            return
        }
        let socket = MessageSocket(descriptor: OpenDescriptor(owning: helperSocket))
        guard clinux_begin_helper() else {
            _ = socket.send(WorkerMessage(Array("it has several threads".utf8)))
            clinux_exit(1)
        }
        prepare()
        guard socket.send(WorkerMessage([version])) else { clinux_exit(1) }
        var helper = HelperState()
        while let message = try? socket.receive() { helper.answer(message, on: socket, handle) }
        helper.killWorkers()
        clinux_exit(0)
    }
}

private let helperSocket = Int32(clinux_helper_socket)

/// The workers of a helper.
private struct HelperState {
    /// The workers by process number. A number is not reused before ``HelperProgram/Command/wait``.
    private var workers: [Int32: OpenDescriptor] = [:]

    mutating func answer(
        _ message: WorkerMessage, on socket: MessageSocket,
        _ handle: (WorkerMessage, _ answer: (WorkerMessage) -> Bool) -> Void
    ) {
        var numbers = Numbers(message.bytes.dropFirst())
        switch message.bytes.first.flatMap(HelperProgram.Command.init(rawValue:)) {
        case .fork:
            guard let connection = message.descriptors.first, let memory = numbers.next(), let seconds = numbers.next()
            else { return }
            fork(socket, connection, memory, seconds, handle)
        case .wait:
            guard let number = numbers.next().flatMap({ Int32(exactly: $0) }), let worker = workers[number] else {
                _ = socket.send(WorkerMessage(Numbers.bytes(of: 0)))
                return
            }
            _ = clinux_kill_process(worker.number)
            workers[number] = nil
            var status: Int32 = 0
            let isKnown = clinux_wait_for(number, &status) == 0
            _ = socket.send(WorkerMessage(Numbers.bytes(of: isKnown ? Int64(clinux_ending_signal(status)) : 0)))
        case nil: return
        }
    }

    private mutating func fork(
        _ socket: MessageSocket, _ connection: OpenDescriptor, _ memory: Int64, _ seconds: Int64,
        _ handle: (WorkerMessage, _ answer: (WorkerMessage) -> Bool) -> Void
    ) {
        let number = clinux_fork()
        if number == 0 {
            // A worker keeps only its own connection, and none of the helper's other descriptors.
            close(socket.descriptor.number)
            for worker in workers.values { close(worker.number) }
            WorkerProgram.run(
                on: MessageSocket(descriptor: connection), memory: UInt64(clamping: memory),
                seconds: UInt64(clamping: seconds), handle)
        }
        let process = number > 0 ? clinux_open_process(number) : -1
        guard process >= 0 else {
            let reason = Array(String(cString: strerror(errno)).utf8)
            if number > 0 {
                kill(number, SIGKILL)
                var status: Int32 = 0
                _ = clinux_wait_for(number, &status)
            }
            _ = socket.send(WorkerMessage(Numbers.bytes(of: -1) + reason))
            return
        }
        let worker = OpenDescriptor(owning: process)
        workers[number] = worker
        _ = socket.send(WorkerMessage(Numbers.bytes(of: Int64(number)), descriptors: [worker]))
    }

    func killWorkers() {
        for worker in workers.values { _ = clinux_kill_process(worker.number) }
    }
}
