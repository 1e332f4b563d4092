internal import Glibc

/// The memory of an image, allocated once, initially zero, and freed with its last reference.
///
/// `@unchecked Sendable`: the code that allocates a buffer has exclusive access until it is wrapped in a
/// ``DecodedImage``, after which it is never written.
package final class PixelBuffer: @unchecked Sendable {
    package let bytes: UnsafeMutablePointer<UInt8>
    package let byteCount: Int
    /// The memory that can be handed to another process; nil: it is the heap's.
    let shared: SharedMemory?

    package init(byteCount: Int) throws(ImageCodecError) {
        self.byteCount = byteCount
        if byteCount >= SharedMemory.smallest, SharedMemory.isPreferred {
            guard let memory = SharedMemory(byteCount: byteCount) else { throw .outOfMemory }
            shared = memory
            bytes = memory.bytes
            return
        }
        // calloc obtains large blocks zeroed from the system, without touching them.
        guard let memory = calloc(max(byteCount, 1), 1) else { throw .outOfMemory }
        shared = nil
        bytes = memory.assumingMemoryBound(to: UInt8.self)
    }

    /// The pixels that another process has written, which only are read.
    init(_ memory: SharedMemory) {
        shared = memory
        bytes = memory.bytes
        byteCount = memory.byteCount
    }

    deinit { if shared == nil { free(bytes) } }
}
