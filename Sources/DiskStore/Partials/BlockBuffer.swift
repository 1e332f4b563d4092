import ConcurrencyPrimitives
import Glibc

/// At most one block of a body in memory, on the way from the network's buffer to the file.
final class BlockBuffer {
    private var storage: UnsafeMutableRawBufferPointer?
    /// The offset of the first byte in the body: the start of a block.
    private(set) var start: Int64 = 0
    private(set) var count = 0

    var end: Int64 { start + Int64(count) }
    var range: Range<Int64> { start..<end }

    var bytes: UnsafeRawBufferPointer {
        storage.map { UnsafeRawBufferPointer(rebasing: $0[..<count]) } ?? UnsafeRawBufferPointer(start: nil, count: 0)
    }

    deinit { storage.map(BlockMemory.give) }

    /// Memory for at least `capacity` bytes; existing bytes are kept.
    func memory(capacity: Int) -> UnsafeMutableRawBufferPointer {
        if let storage, storage.count >= capacity { return storage }
        let memory = BlockMemory.take(capacity)
        if let storage {
            memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[..<count]))
            BlockMemory.give(storage)
        }
        storage = memory
        return memory
    }

    /// Memory for a whole block.
    var blockMemory: UnsafeMutableRawBufferPointer { memory(capacity: Int(BlockMap.blockSize)) }

    /// - Parameter capacity: The number of bytes expected; a small body need not allocate a whole block.
    func append(_ bytes: UnsafeRawBufferPointer, capacity: Int) {
        let memory = memory(capacity: max(capacity, count + bytes.count))
        UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
        count += bytes.count
    }

    func empty(at offset: Int64) {
        start = offset
        count = 0
    }

    /// Declares the present content of the memory.
    func adopt(start: Int64, count: Int) {
        self.start = start
        self.count = count
    }
}
