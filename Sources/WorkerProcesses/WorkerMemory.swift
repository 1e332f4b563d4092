import CLinux

/// Memory that can be handed to another process. A worker requests it from its program. For worker processes, which are single-threaded.
package enum WorkerMemory {
    /// The connection of this worker.
    nonisolated(unsafe) private static var socket: MessageSocket?
    /// The program's file numbers, by this process's descriptors.
    nonisolated(unsafe) private static var numbers: [Int32: Int64] = [:]

    static func begin(on socket: MessageSocket) { self.socket = socket }

    /// Allocates an in-memory file of the given size, filled with 0.
    ///
    /// - Returns: The descriptor, or -1 if there is no more memory.
    package static func allocate(_ byteCount: Int) -> Int32 {
        guard let socket else { return clinux_memory_file(byteCount) }
        guard socket.send(WorkerMessage(purpose: .memory, Numbers.bytes(of: Int64(byteCount)))),
            let answer = try? socket.receive(), answer.purpose == .memory, let file = answer.descriptors.first
        else { return -1 }
        var words = Numbers(answer.bytes[...])
        guard let number = words.next(), number > 0 else { return -1 }
        let descriptor = file.keepOpen()
        numbers[descriptor] = number
        return descriptor
    }

    /// Releases a file. It must be called before the descriptor is closed.
    package static func free(_ descriptor: Int32) {
        guard let socket, let number = numbers.removeValue(forKey: descriptor) else { return }
        _ = socket.send(WorkerMessage(purpose: .freed, Numbers.bytes(of: number)))
    }

    /// Records files that are sent. The program owns them from then on.
    static func handOver(_ descriptors: [OpenDescriptor]) {
        guard socket != nil else { return }
        for descriptor in descriptors { numbers[descriptor.number] = nil }
    }
}
