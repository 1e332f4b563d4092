import CLinux
import ConcurrencyPrimitives
import FoundationEssentials
import Glibc

/// The memory for bodies that the store has no room for.
package final class UnstoredBodyMemory: Sendable {
    private let limit: Int64
    private let used = Locked<Int64>(0)

    /// - Parameter limit: In bytes, of all bodies together.
    package init(limit: Int64) { self.limit = limit }

    fileprivate func take(_ count: Int64) -> Bool {
        used.withLock { used in
            guard used <= limit - count else { return false }
            used += count
            return true
        }
    }

    fileprivate func release(_ count: Int64) { used.withLock { $0 -= count } }
}

/// Receives a body that the store has no room for, as a file in memory: no look-up finds it, and it ends with its last user.
///
/// Not `Sendable`: used by one thread at a time.
package final class UnstoredBody {
    private let memory: UnstoredBodyMemory
    private var file: File?
    package private(set) var size: Int64 = 0

    package init(_ memory: UnstoredBodyMemory) { self.memory = memory }

    deinit { memory.release(size) }

    /// Removes all bytes.
    package func restart() {
        memory.release(size)
        (file, size) = (nil, 0)
    }

    /// Appends the next bytes of the body.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        guard memory.take(Int64(bytes.count)) else {
            throw StoreError(.full, "the memory for what cannot be stored is used up")
        }
        size += Int64(bytes.count)
        try open().write(bytes, at: size - Int64(bytes.count))
    }

    private func open() throws(StoreError) -> File {
        if let file { return file }
        let descriptor = clinux_memory_file(0)
        guard descriptor >= 0 else { throw .system("cannot create a file in memory", path: nil) }
        let new = File(descriptor: descriptor, path: "")
        file = new
        return new
    }

    /// The body, whose memory is released with it. This value is then empty.
    package func finish(as key: EntryKey, url: String, metadata: [UInt8], in store: DiskStore) throws(StoreError)
        -> StoredBody
    {
        let file = try open()
        // Workers that read it cannot change it.
        guard clinux_seal(file.descriptor) == 0 else { throw .system("cannot seal a file in memory", path: nil) }
        let entry = StoredEntry(
            id: .random(in: .min..<0), key: key, variant: "", url: url, size: size, allocated: 0,
            metadata: metadata, created: .now, lastAccess: nil, accessSequence: nil, checksum: .none, boot: 0)
        let body = StoredBody(entry: entry, file: file, path: "", store: store) { [memory, size] in
            memory.release(size)
        }
        (self.file, size) = (nil, 0)
        return body
    }
}
