import CLinux

/// Memory that can be handed to another process, as a worker gets it: from the program that it works for. For a worker process, which has
/// one thread.
package enum WorkerMemory {
    /// The connection of this worker.
    nonisolated(unsafe) private static var socket: MessageSocket?
    /// The program's numbers of the files, by this process's descriptors.
    nonisolated(unsafe) private static var numbers: [Int32: Int64] = [:]

    static func begin(on socket: MessageSocket) { self.socket = socket }

    /// A file of so many bytes in memory, initially 0.
    ///
    /// - Returns: The descriptor; -1 if there is no more memory.
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

    /// Gives a file back. To be called before its descriptor is closed.
    package static func free(_ descriptor: Int32) {
        guard let socket, let number = numbers.removeValue(forKey: descriptor) else { return }
        _ = socket.send(WorkerMessage(purpose: .freed, Numbers.bytes(of: number)))
    }

    /// Notes files that are sent: they are the program's from then on.
    static func handOver(_ descriptors: [OpenDescriptor]) {
        guard socket != nil else { return }
        for descriptor in descriptors { numbers[descriptor.number] = nil }
    }
}
