import DiskStore
import Glibc
import ImageCache

/// Writes small files atomically. Devices and pipes are written directly.
enum AtomicFile {
    /// - Parameter mode: The file's mode, before the umask; `nil` for the permissions of the file that it replaces, otherwise 0666.
    /// - Throws: ``Failure`` with exit code 6.
    static func write(_ bytes: [UInt8], to path: String, overwrite: Bool, mode: UInt32? = nil) throws {
        // Opening a FIFO waits for a reader.
        BlockingSection.enter()
        defer { BlockingSection.leave() }
        do throws(StoreError) {
            try ExportTarget(path).write(overwrite: overwrite, mode: mode) { (descriptor) throws(StoreError) in
                guard !Output.write(bytes, to: descriptor) else { return }
                throw StoreError(.io, "cannot write", path: path, errno: errno)
            }
        } catch {
            throw error.code == .exists ? Failure.exists(path) : Failure(.store, "\(error)")
        }
    }
}
