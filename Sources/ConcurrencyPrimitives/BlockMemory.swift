/// Memory for blocks of bodies. Blocks that were returned are used again.
///
/// A block is taken on one thread and returned on another. The allocator would return its memory to the system, and the next block would need
/// new pages: in a virtual machine, that costs more than the download of a small file.
package struct BlockMemory {
    /// The sizes of blocks in bytes, and the number of blocks of each size that are kept: 6 MiB in all.
    private static let classes = [(size: 32 << 10, kept: 64), (size: 256 << 10, kept: 16)]
    private static let shared = Locked(BlockMemory())

    /// `@unchecked Sendable`: no other code has a pointer to unused memory.
    private struct Free: @unchecked Sendable {
        let memory: UnsafeMutableRawBufferPointer
    }

    private var free: [[Free]] = classes.map { _ in [] }

    /// Returns memory for at least `capacity` bytes, with unspecified content.
    package static func take(_ capacity: Int) -> UnsafeMutableRawBufferPointer {
        let place = classes.firstIndex { capacity <= $0.size }
        if let place, let free = shared.withLock({ $0.free[place].popLast() }) { return free.memory }
        return .allocate(byteCount: place.map { classes[$0].size } ?? capacity, alignment: 64)
    }

    package static func give(_ memory: UnsafeMutableRawBufferPointer) {
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
