/// Bytes of a body on their way from the engine's thread to the sink.
///
/// `@unchecked Sendable`: the engine's thread fills the block and hands it over; the transfer's task reads it and gives it back. Each has it
/// alone, and a lock is taken in between (``SinkCalls``).
final class Block: @unchecked Sendable {
    /// The bytes of a block that is full.
    static let size = 256 << 10

    private let memory: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init(capacity: Int) { memory = .allocate(byteCount: capacity, alignment: 64) }

    deinit { memory.deallocate() }

    var capacity: Int { memory.count }
    var isFull: Bool { count == capacity }
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

    /// Appends as many of the bytes as there is room for.
    ///
    /// - Returns: Their number.
    func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        let added = min(bytes.count, capacity - count)
        UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(
            from: UnsafeRawBufferPointer(rebasing: bytes[..<added]))
        count += added
        return added
    }

    func empty() { count = 0 }
}
