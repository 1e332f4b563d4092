import CLinux
import Glibc

/// One end of a connection between two processes, on which messages arrive whole.
struct MessageSocket: Sendable {
    let descriptor: OpenDescriptor

    /// Longer messages travel as a file in memory.
    private static let mostInline = 48 << 10
    /// The most bytes of a message that are believed.
    private static let most = 1 << 30

    private enum Kind: UInt8 {
        case inline, inFile
    }

    /// Two ends.
    static func pair() throws(WorkerFailure) -> (MessageSocket, MessageSocket) {
        var sockets: [Int32] = [0, 0]
        guard clinux_socket_pair(&sockets) == 0 else { throw .unavailable(String(cString: strerror(errno))) }
        return (
            MessageSocket(descriptor: OpenDescriptor(owning: sockets[0])),
            MessageSocket(descriptor: OpenDescriptor(owning: sockets[1]))
        )
    }

    /// Sends a message. False if the peer is gone, or there is no memory.
    func send(_ message: WorkerMessage) -> Bool {
        if message.bytes.count <= Self.mostInline {
            return send([Kind.inline.rawValue] + message.bytes, message.descriptors)
        }
        let number = clinux_memory_file(message.bytes.count)
        guard number >= 0 else { return false }
        let file = OpenDescriptor(owning: number)
        guard let memory = clinux_map_file(number, message.bytes.count, true) else { return false }
        message.bytes.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { memcpy(memory, start, bytes.count) }
        }
        munmap(memory, message.bytes.count)
        let length = withUnsafeBytes(of: UInt64(message.bytes.count).littleEndian) { Array($0) }
        return send([Kind.inFile.rawValue] + length, message.descriptors + [file])
    }

    private func send(_ bytes: [UInt8], _ descriptors: [OpenDescriptor]) -> Bool {
        let numbers = descriptors.map(\.number)
        return withExtendedLifetime(descriptors) {
            clinux_send(descriptor.number, bytes, bytes.count, numbers, Int32(numbers.count)) == 0
        }
    }

    /// Waits for a message; nil: the peer is gone, or says what cannot be understood.
    func receive() -> WorkerMessage? {
        var numbers = [Int32](repeating: -1, count: Int(clinux_most_descriptors))
        var count: Int32 = 0
        let bytes = withUnsafeTemporaryAllocation(byteCount: Self.mostInline + 1, alignment: 1) { buffer -> [UInt8] in
            let received = clinux_receive(descriptor.number, buffer.baseAddress, buffer.count, &numbers, &count)
            return received > 0 ? Array(buffer.prefix(received)) : []
        }
        var descriptors = numbers.prefix(Int(count)).map { OpenDescriptor(owning: $0) }
        switch bytes.first.flatMap(Kind.init(rawValue:)) {
        case .inline: return WorkerMessage(Array(bytes.dropFirst()), descriptors: descriptors)
        case .inFile:
            guard bytes.count == 9, let file = descriptors.popLast() else { return nil }
            let length = bytes.dropFirst().reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            guard length <= UInt64(Self.most), let content = Self.read(file, count: Int(length)) else { return nil }
            return WorkerMessage(content, descriptors: descriptors)
        case nil: return nil
        }
    }

    /// Reads a file: mapped, its sender could cut it off while it is read.
    private static func read(_ file: OpenDescriptor, count: Int) -> [UInt8]? {
        var filled = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while filled < count, let start = buffer.baseAddress {
                let got = pread(file.number, start + filled, count - filled, off_t(filled))
                if got < 0, errno == EINTR { continue }
                guard got > 0 else { break }
                filled += got
            }
            initialized = filled
        }
        return filled == count ? bytes : nil
    }

    /// Waits until a message can be received, or the peer is gone; false after so many milliseconds.
    func isReadable(within milliseconds: Int32) -> Bool {
        clinux_wait_readable(descriptor.number, milliseconds) != 0
    }
}
