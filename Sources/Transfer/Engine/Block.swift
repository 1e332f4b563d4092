import ConcurrencyPrimitives

/// Bytes of a body between the engine's thread and the sink.
///
/// `@unchecked Sendable`: the engine's thread fills the block, and the transfer's task reads and returns it. Only one of them has it at a time,
/// and it changes hands under the lock of ``SinkCalls``.
final class Block: @unchecked Sendable {
    /// The bytes of a full block.
    static let size: Int64 = 256 << 10

    private let memory: UnsafeMutableRawBufferPointer
    private let capacity: Int
    private(set) var count = 0

    init(capacity: Int) {
        self.capacity = capacity
        memory = BlockMemory.take(capacity)
    }

    deinit { BlockMemory.give(memory) }

    var isFull: Bool { count == capacity }
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

    /// Appends bytes up to the capacity, and returns the number of appended bytes.
    func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        let added = min(bytes.count, capacity - count)
        UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(
            from: UnsafeRawBufferPointer(rebasing: bytes[..<added]))
        count += added
        return added
    }
}
