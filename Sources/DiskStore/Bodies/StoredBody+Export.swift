import CLinux
package import FoundationEssentials
import Glibc

extension StoredBody {
    /// Puts the body at `path`, where it appears complete or not at all.
    ///
    /// A copy is written into an unnamed file in the same folder, which then gets its name; it has the permissions of the file that it
    /// replaces, otherwise its mode follows the umask. A target that is not a regular file (a device, a pipe) is written into in each mode; a
    /// symbolic link is followed, including one to a file that does not exist yet, except by ``LinkMode/symlink``, which replaces it.
    ///
    /// - Parameters:
    ///   - overwrite: True to replace an existing file; otherwise throws ``StoreError/Code/exists``.
    ///   - modified: The modification time of a new file; `nil` for now. A link has the time of the stored file.
    package func export(
        to path: String, overwrite: Bool, mode: LinkMode = .clone, modified: Date? = nil
    ) throws(StoreError) {
        let present = overwrite ? nil : FileStatus(at: path)
        let target: ExportTarget = present?.isRegular == true ? .file(path) : try ExportTarget(path)
        guard case .file(let name) = target else { return try write(to: target, path, mode, overwrite: true, nil) }
        // Without permission to replace, an existing link counts as an existing file.
        if present != nil { throw StoreError(.exists, "the file exists", path: path, errno: EEXIST) }
        switch mode {
        case .hardlink: if try store.link(self, at: name, overwrite: overwrite) { return }
        case .symlink: return try ExportTarget.makeSymbolicLink(to: self.path, at: path, overwrite: overwrite)
        case .clone, .copy: break
        }
        try write(to: target, path, mode, overwrite: overwrite, modified)
    }

    private func write(
        to target: ExportTarget, _ path: String, _ mode: LinkMode, overwrite: Bool, _ modified: Date?
    ) throws(StoreError) {
        // A further name of the body's own file is read-only, as all files of the store are. A copy in its place need not be.
        let isOwnName = if case .file(let name) = target { isNamed(name) } else { false }
        try target.write(overwrite: overwrite, mode: isOwnName ? 0o666 : nil) { (descriptor) throws(StoreError) in
            // If others have begun to write to the descriptor, the bytes are appended.
            let isOwn = if case .descriptor = target { false } else { true }
            if isOwn, mode != .copy {
                try copy(to: descriptor, path: path)
            } else {
                try copy(toDescriptor: descriptor, named: path)
            }
            if let modified { modified.setModificationTime(of: descriptor) }
        }
    }

    private func isNamed(_ path: String) -> Bool { FileStatus(at: path)?.identity == file.status?.identity }

    /// Moves the body's file to `path`, out of a store that is not used again: its entry is a miss from then on.
    ///
    /// No copy on the same file system; otherwise, and if another process has moved the file away, equals ``export(to:overwrite:mode:)``.
    package func move(to path: String, overwrite: Bool, modified: Date? = nil) throws(StoreError) {
        guard case .file(let target) = try ExportTarget(path), overwrite || FileStatus(at: path) == nil else {
            return try export(to: path, overwrite: overwrite, modified: modified)
        }
        let kept = overwrite ? ExportTarget.permissions(of: target) : nil
        guard fchmod(descriptor, kept ?? 0o666 & ~Self.fileMask) == 0 else {
            return try export(to: path, overwrite: overwrite, modified: modified)
        }
        if let modified { modified.setModificationTime(of: descriptor) }
        do throws(StoreError) {
            try ExportTarget.rename(self.path, to: target, overwrite: overwrite)
        } catch  where error.errno == EXDEV {
            try export(to: path, overwrite: overwrite, modified: modified)
        } catch  where error.errno == ENOENT {
            // To the same target, or to another one; else it is the target's folder that does not exist.
            if isNamed(target) { return }
            try export(to: path, overwrite: overwrite, mode: .copy, modified: modified)
        }
    }

    /// The process's umask.
    ///
    /// umask(2) reads it only by changing it, for all threads: files that others create meanwhile would be writable for everybody. Without
    /// the file, the usual mask is assumed.
    static var fileMask: mode_t {
        let text = (try? File("/proc/self/status", O_RDONLY)).flatMap { try? $0.bytes(at: 0, count: 512) } ?? []
        return fileMask(in: String(decoding: text, as: UTF8.self)) ?? 0o022
    }

    /// The umask in a process's status (proc(5)).
    static func fileMask(in status: String) -> mode_t? {
        let lines = status.utf8.split(separator: UInt8(ascii: "\n"))
        guard let line = lines.first(where: { $0.starts(with: "Umask:".utf8) }) else { return nil }
        let number = line.dropFirst("Umask:".utf8.count).drop { $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: " ") }
        return mode_t(String(decoding: number, as: UTF8.self), radix: 8)
    }

    /// Writes the whole body to an open file, at that file's offset.
    ///
    /// - Parameter descriptor: A file, pipe, socket or terminal; remains open.
    package func copy(toDescriptor descriptor: Int32) throws(StoreError) {
        var left = size
        var offset: Int64 = 0
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(BlockMap.blockSize), alignment: 4096)
        defer { buffer.deallocate() }
        while left > 0 {
            let count = try file.read(into: buffer, at: offset)
            if count == 0 { throw StoreError(.damaged, "the body ends early", path: path) }
            var rest = UnsafeRawBufferPointer(rebasing: buffer[..<min(count, Int(min(left, Int64(Int.max))))])
            offset += Int64(rest.count)
            left -= Int64(rest.count)
            while !rest.isEmpty {
                let written = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if written < 0 {
                    if errno == EINTR { continue }
                    throw .system("cannot write", path: nil)
                }
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            }
        }
    }

    private func copy(to target: Int32, path targetPath: String) throws(StoreError) {
        if clinux_clone(file.descriptor, target) == 0 { return }
        var left = size
        while left > 0 {
            let count = clinux_copy_range(file.descriptor, size - left, target, Int(min(left, 1 << 30)))
            if count > 0 {
                left -= Int64(count)
                continue
            }
            if count < 0 && errno == EINTR { continue }
            if count < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO) {
                throw .system("cannot write", path: targetPath)
            }
            // Another file system, a device, or a file that does not support it: start over with read and write.
            if left != size {
                if count < 0 { throw .system("cannot copy", path: targetPath) }
                throw StoreError(.wrongLength, "the body ends early", path: path)
            }
            return try copy(toDescriptor: target, named: targetPath)
        }
    }

    private func copy(toDescriptor descriptor: Int32, named path: String) throws(StoreError) {
        do throws(StoreError) {
            try copy(toDescriptor: descriptor)
        } catch {
            throw StoreError(error.code, error.message, path: path, errno: error.errno)
        }
    }
}
