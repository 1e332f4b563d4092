import Glibc

/// At most one block of a body, in raw memory: bytes go from the network's buffer to here and from here to the file.
final class BlockBuffer {
    private var storage: UnsafeMutableRawBufferPointer?
    /// Where in the body the first byte stands: the start of a block.
    private(set) var start: Int64 = 0
    private(set) var count = 0

    var end: Int64 { start + Int64(count) }
    var range: Range<Int64> { start..<end }

    var bytes: UnsafeRawBufferPointer {
        storage.map { UnsafeRawBufferPointer(rebasing: $0[..<count]) } ?? UnsafeRawBufferPointer(start: nil, count: 0)
    }

    deinit { storage?.deallocate() }

    /// Memory for at least `capacity` bytes; what is held stays.
    func memory(capacity: Int) -> UnsafeMutableRawBufferPointer {
        if let storage, storage.count >= capacity { return storage }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 64)
        if let storage {
            memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[..<count]))
            storage.deallocate()
        }
        storage = memory
        return memory
    }

    /// - Parameter capacity: how many bytes are expected; a small body takes no whole block of memory.
    func append(_ bytes: UnsafeRawBufferPointer, capacity: Int) {
        let memory = memory(capacity: max(capacity, count + bytes.count))
        UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
        count += bytes.count
    }

    func empty(at offset: Int64) {
        start = offset
        count = 0
    }

    /// Says what the memory holds already.
    func adopt(start: Int64, count: Int) {
        self.start = start
        self.count = count
    }
}
