/// A complete body, open for reading.
///
/// While the value exists, the file keeps its name and its bytes even if the entry is evicted, replaced or cleared. The value holds a
/// shared `flock`, and the store deletes only unlocked files.
package final class StoredBody: Sendable {
    package let entry: StoredEntry
    /// The path of the body's file, for reading only.
    package let path: String
    /// A descriptor for reading; closed with this value. Use `pread`: the offset is shared with all other users.
    package var descriptor: Int32 { file.descriptor }
    /// The length in bytes.
    package var size: Int64 { entry.size }
    /// The resource's generation after a commit of this body; see ``NewEntry/generation``.
    package let generation: Generation?

    let file: File
    /// The time of the file's last change when it was checked; `nil`: it has not been since it was stored.
    let modified: FileTime?
    let store: DiskStore
    private let onClose: (@Sendable () -> Void)?

    /// - Parameters:
    ///   - path: The body's name; the file may have had another one, or none, when it was opened.
    ///   - modified: The time of the file's last change when it was checked.
    ///   - onClose: Called when the value is released and its lock with it.
    init(
        entry: StoredEntry, file: File, path: String, generation: Generation? = nil, modified: FileTime? = nil,
        store: DiskStore,
        onClose: (@Sendable () -> Void)? = nil
    ) {
        self.entry = entry
        self.generation = generation
        self.file = file
        self.modified = modified
        self.store = store
        self.path = path
        self.onClose = onClose
    }

    deinit {
        guard let onClose else { return }
        file.unlock()
        onClose()
    }

    /// Reads at `offset` until `buffer` is full or the body ends; returns the number of bytes.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StoreError) -> Int {
        try file.read(into: buffer, at: offset)
    }

    /// All bytes, read into memory, or `nil` if the file is too short.
    package func all() throws(StoreError) -> [UInt8]? {
        // An array without room is one that all threads share, and whose count would be set nevertheless: to the same, but it is a race.
        guard size > 0 else { return [] }
        var failure: StoreError?
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(size)) { buffer, count in
            do throws(StoreError) {
                count = try read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes.count == Int(size) ? bytes : nil
    }
}
