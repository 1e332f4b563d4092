import CLinux
import Glibc

/// One end of a connection between two processes. It preserves message boundaries.
struct MessageSocket: Sendable {
    let descriptor: OpenDescriptor

    /// The longest inline message in bytes. Longer messages are sent as an in-memory file.
    private static let mostInline = 48 << 10
    /// The default limit of a message's length in bytes.
    private static let most = 1 << 30

    static let tooManyOpenFiles = "too many open files"

    private enum Kind: UInt8 {
        case inline, inFile
        /// Messages about memory, which are always short.
        case memory, freed

        init(_ purpose: WorkerMessage.Purpose) {
            self =
                switch purpose {
                case .work: .inline
                case .memory: .memory
                case .freed: .freed
                }
        }
    }

    /// Creates a pair of connected ends.
    static func pair() throws(WorkerFailure) -> (MessageSocket, MessageSocket) {
        var sockets: [Int32] = [0, 0]
        guard clinux_socket_pair(&sockets) == 0 else { throw .unavailable(String(cString: strerror(errno))) }
        return (
            MessageSocket(descriptor: OpenDescriptor(owning: sockets[0])),
            MessageSocket(descriptor: OpenDescriptor(owning: sockets[1]))
        )
    }

    /// A message encoded for sending.
    struct Parcel {
        fileprivate let bytes: [UInt8]
        fileprivate let descriptors: [OpenDescriptor]

        /// - Throws: `unavailable` if there is no memory or descriptor for a long message.
        init(_ message: WorkerMessage) throws(WorkerFailure) {
            let count = message.bytes.count
            guard count > MessageSocket.mostInline else {
                bytes = [Kind(message.purpose).rawValue] + message.bytes
                descriptors = message.descriptors
                return
            }
            let number = WorkerMemory.allocate(count)
            guard number >= 0 else { throw .unavailable(String(cString: strerror(errno))) }
            let file = OpenDescriptor(owning: number)
            guard let memory = clinux_map_file(number, count, true) else {
                throw .unavailable(String(cString: strerror(errno)))
            }
            message.bytes.withUnsafeBytes { bytes in
                if let start = bytes.baseAddress { memcpy(memory, start, count) }
            }
            munmap(memory, count)
            bytes = [Kind.inFile.rawValue] + withUnsafeBytes(of: UInt64(count).littleEndian) { Array($0) }
            descriptors = message.descriptors + [file]
        }
    }

    /// Sends a message. Returns false if the peer is gone, or there is no memory.
    func send(_ message: WorkerMessage) -> Bool {
        guard let parcel = try? Parcel(message) else { return false }
        return send(parcel)
    }

    /// Sends a message. Returns false if the peer is gone.
    ///
    /// - Parameter waits: False for a peer that should have read all earlier messages. The call then returns false instead of waiting if
    ///   the socket's buffer is full.
    func send(_ parcel: Parcel, waits: Bool = true) -> Bool {
        let numbers = parcel.descriptors.map(\.number)
        WorkerMemory.handOver(parcel.descriptors)
        return withExtendedLifetime(parcel.descriptors) {
            clinux_send(descriptor.number, parcel.bytes, parcel.bytes.count, numbers, Int32(numbers.count), waits) == 0
        }
    }

    /// Waits for a message. Returns nil if the peer is gone, or the message is invalid.
    ///
    /// - Parameters:
    ///   - most: The greatest length of a message in bytes; a longer one is invalid.
    ///   - requiresDescriptors: False to receive a message without its descriptors if this process has no free ones.
    /// - Throws: `unavailable` if this process has no free descriptors. The message is then lost through no fault of the peer.
    func receive(most: Int = Self.most, requiresDescriptors: Bool = true) throws(WorkerFailure) -> WorkerMessage? {
        var numbers = [Int32](repeating: -1, count: Int(clinux_most_descriptors))
        var count: Int32 = 0
        var isShort = false
        let bytes = withUnsafeTemporaryAllocation(byteCount: Self.mostInline + 1, alignment: 1) { buffer -> [UInt8] in
            let received = clinux_receive(descriptor.number, buffer.baseAddress, buffer.count, &numbers, &count)
            isShort = count < 0
            return received > 0 ? Array(buffer.prefix(received)) : []
        }
        if isShort, requiresDescriptors || bytes.first == Kind.inFile.rawValue {
            throw .unavailable(Self.tooManyOpenFiles)
        }
        var descriptors = numbers.prefix(max(0, Int(count))).map { OpenDescriptor(owning: $0) }
        switch bytes.first.flatMap(Kind.init(rawValue:)) {
        case .inline: return WorkerMessage(Array(bytes.dropFirst()), descriptors: descriptors)
        case .memory: return WorkerMessage(purpose: .memory, Array(bytes.dropFirst()), descriptors: descriptors)
        case .freed: return WorkerMessage(purpose: .freed, Array(bytes.dropFirst()), descriptors: descriptors)
        case .inFile:
            guard bytes.count == 9, let file = descriptors.popLast() else { return nil }
            let length = bytes.dropFirst().reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            guard length <= UInt64(min(most, Self.most)), let content = Self.read(file, count: Int(length)) else {
                return nil
            }
            var message = WorkerMessage(content, descriptors: descriptors)
            message.carrier = file
            return message
        case nil: return nil
        }
    }

    /// Reads a file. It is not mapped, because the sender could truncate it during the read.
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

    /// Waits until a message from a process can be received, or the process is gone. Returns false if the process stalls, or after a
    /// minute.
    func isReadable(from process: pid_t) -> Bool {
        let start = ContinuousClock.now
        var watch = StandstillWatch(clinux_cpu_seconds_of(process), at: start)
        while !isReadable(within: 100) {
            let now = ContinuousClock.now
            if watch.isOver(clinux_cpu_seconds_of(process), at: now) || now - start > .seconds(60) { return false }
        }
        return true
    }

    /// Waits until a message can be received, or the peer is gone. Returns false after the given time.
    func isReadable(within milliseconds: Int32) -> Bool {
        clinux_wait_readable(descriptor.number, milliseconds) != 0
    }
}
