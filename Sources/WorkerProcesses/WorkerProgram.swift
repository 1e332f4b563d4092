import CLinux
import Glibc

/// The program of a worker: enters its sandbox, then answers messages until its connection ends.
enum WorkerProgram {
    static func run(
        on socket: MessageSocket, memory: UInt64, seconds: UInt64,
        _ handle: (WorkerMessage, _ answer: (WorkerMessage) -> Bool) -> Void
    ) -> Never {
        let figures = OpenDescriptor(owning: clinux_open_memory_figures())
        guard figures.number >= 0, clinux_confine(memory, seconds) == 0 else {
            _ = socket.send(WorkerMessage(Array(String(cString: strerror(errno)).utf8)))
            clinux_exit(1)
        }
        WorkerMemory.begin(on: socket)
        // Ready. The program itself checks this process's memory, because a malicious file may control what this process reports.
        guard socket.send(WorkerMessage(descriptors: [figures])) else { clinux_exit(0) }
        while let message = try? socket.receive() {
            handle(message) { socket.send($0) }
        }
        clinux_exit(0)
    }
}
