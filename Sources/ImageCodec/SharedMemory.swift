internal import CLinux
internal import Glibc

/// Memory that a process can hand to another one by a descriptor, without a copy.
///
/// `@unchecked Sendable`: only the first owner writes it, and ``init(adopting:byteCount:)`` ensures that no process writes it afterwards.
package final class SharedMemory: @unchecked Sendable {
    /// True in a process that decodes for another one, and therefore allocates pixels in such memory. Set before any image is decoded,
    /// while the process has one thread.
    nonisolated(unsafe) package static var isPreferred = false
    /// Like ``isPreferred``, for the kept rows of a decode.
    nonisolated(unsafe) package static var isPreferredForRows = false
    /// Allocates and frees the files of such memory, by their descriptors.
    package typealias Source = (allocate: @Sendable (Int) -> Int32, free: @Sendable (Int32) -> Void)

    package static let ownSource: Source = ({ clinux_memory_file($0) }, { _ in })
    /// A process that may not make files sets another one, before any image is decoded, while it has one thread.
    nonisolated(unsafe) package static var source = ownSource
    /// Less is copied.
    static let smallest = 16 << 10

    let bytes: UnsafeMutablePointer<UInt8>
    let byteCount: Int
    /// Negative if it is not kept.
    private var descriptor: Int32
    private var isMapped = true

    /// Memory of zeros; nil if memory is short.
    init?(byteCount: Int) {
        descriptor = Self.source.allocate(byteCount)
        self.byteCount = byteCount
        guard descriptor >= 0 else { return nil }
        guard let memory = clinux_map_file(descriptor, byteCount, true) else {
            Self.source.free(descriptor)
            close(descriptor)
            return nil
        }
        bytes = memory.assumingMemoryBound(to: UInt8.self)
    }

    /// Takes ownership of memory from another process, and ensures that it no longer changes.
    ///
    /// - Parameters:
    ///   - descriptor: The memory. The result is nil if it is not memory of this size, or if a process can still write it.
    ///   - isSentOn: True for memory that is handed to another process again (``duplicate()``). A copy of the descriptor is then kept.
    package init?(adopting descriptor: Int32, byteCount: Int, isSentOn: Bool) {
        var status = stat()
        // Sealed, it is not cut off either: a read beyond its end would be a signal.
        guard byteCount > 0, clinux_seal(descriptor) == 0, fstat(descriptor, &status) == 0,
            status.st_size >= off_t(byteCount)
        else { return nil }
        let copy = isSentOn ? fcntl(descriptor, F_DUPFD_CLOEXEC, 0) : -1
        guard copy >= 0 || !isSentOn, let memory = clinux_map_file(descriptor, byteCount, false) else {
            if copy >= 0 { close(copy) }
            return nil
        }
        self.descriptor = copy
        self.byteCount = byteCount
        bytes = memory.assumingMemoryBound(to: UInt8.self)
    }

    /// Memory of the process that this one works for, to be read.
    ///
    /// - Parameter descriptor: Is not needed any more afterwards.
    package init?(trusting descriptor: Int32, byteCount: Int) {
        self.descriptor = -1
        self.byteCount = byteCount
        guard let memory = clinux_map_file(descriptor, byteCount, false) else { return nil }
        bytes = memory.assumingMemoryBound(to: UInt8.self)
    }

    deinit {
        if isMapped { munmap(bytes, byteCount) }
        guard descriptor >= 0 else { return }
        Self.source.free(descriptor)
        close(descriptor)
    }

    /// A descriptor to send along. The memory can be read by this process as long as this value lives.
    package func duplicate() -> Int32 { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }

    /// Ends this process's access, so that another process can adopt the memory. Its pixels must not be used afterwards.
    ///
    /// - Returns: The descriptor, which the caller owns.
    package func surrender() -> Int32 {
        if isMapped { munmap(bytes, byteCount) }
        isMapped = false
        defer { descriptor = -1 }
        return descriptor
    }
}
