import ConcurrencyPrimitives

/// Memory for the bytes of bodies, used again for the next ones.
///
/// It is taken on one thread and given back on another. The allocator would return it to the system, and the next body would pay for
/// each of its pages again: in a virtual machine that costs more than the download of a small file.
struct BlockMemory {
    /// The sizes that memory has, and how much of each is kept: 6 MiB in all.
    private static let classes = [(size: 32 << 10, kept: 64), (size: Int(BlockMap.blockSize), kept: 16)]
    private static let shared = Locked(BlockMemory())

    /// `@unchecked Sendable`: nobody else has a pointer to memory that is free.
    private struct Free: @unchecked Sendable {
        let memory: UnsafeMutableRawBufferPointer
    }

    private var free: [[Free]] = classes.map { _ in [] }

    /// Memory for at least `capacity` bytes, of unspecified content.
    static func take(_ capacity: Int) -> UnsafeMutableRawBufferPointer {
        let place = classes.firstIndex { capacity <= $0.size }
        if let place, let free = shared.withLock({ $0.free[place].popLast() }) { return free.memory }
        return .allocate(byteCount: place.map { classes[$0].size } ?? capacity, alignment: 64)
    }

    static func give(_ memory: UnsafeMutableRawBufferPointer) {
        let free = Free(memory: memory)
        let isKept = shared.withLock { shared in
            guard let place = classes.firstIndex(where: { free.memory.count == $0.size }),
                shared.free[place].count < classes[place].kept
            else { return false }
            shared.free[place].append(free)
            return true
        }
        if !isKept { memory.deallocate() }
    }
}
