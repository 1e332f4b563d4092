import CLinux
import Glibc

extension StoredBody {
    /// Makes a copy of the body at `path`: it appears there whole or not at all.
    ///
    /// A reflink where the file system can, else `copy_file_range`, else read and write, into a file without a name in
    /// the same folder, which then gets its name. Never a hard link: whoever wrote into it would change the cache. The
    /// copy's mode follows the umask. What is not a regular file (a device, a pipe) is written into instead; a symbolic
    /// link is followed.
    ///
    /// - Parameter overwrite: replace a file that is there; else ``StoreError/Code/exists``.
    public func export(to path: String, overwrite: Bool) throws(StoreError) {
        var status = stat()
        var target = path
        if stat(path, &status) == 0 {
            switch status.st_mode & S_IFMT {
            case S_IFREG:
                if !overwrite { throw StoreError(.exists, "the file exists", path: path, errno: EEXIST) }
                if let real = realpath(path, nil) {
                    target = String(cString: real)
                    free(real)
                }
            case S_IFDIR: throw StoreError(.io, "cannot write the file", path: path, errno: EISDIR)
            default:
                let device = clinux_open(path, O_WRONLY, 0)
                if device < 0 { throw .system("cannot open", path: path) }
                return try copy(to: File(descriptor: device, path: path))
            }
        }
        let slash = target.lastIndex(of: "/")
        let folder = slash.map { $0 == target.startIndex ? "/" : String(target[..<$0]) } ?? "."
        let name = slash.map { String(target[target.index(after: $0)...]) } ?? target
        let unnamed = clinux_open_unnamed(folder, 0o666)
        if unnamed >= 0 {
            let file = File(descriptor: unnamed, path: target)
            defer { withExtendedLifetime(file) {} }
            try copy(to: file)
            if clinux_link_unnamed(unnamed, target) == 0 { return }
            let number = errno
            guard number == EEXIST && overwrite else { throw .naming(target, number) }
            // A link cannot replace: the file gets a name beside the target, and that is renamed.
            let temporary = Self.temporaryName(for: name, in: folder)
            if clinux_link_unnamed(unnamed, temporary) != 0 { throw .naming(target, errno) }
            return try Self.move(temporary, to: target, overwrite: true)
        }
        let temporary = Self.temporaryName(for: name, in: folder)
        let descriptor = clinux_open(temporary, O_RDWR | O_CREAT | O_EXCL, 0o666)
        if descriptor < 0 { throw .naming(target, errno) }
        do throws(StoreError) {
            try copy(to: File(descriptor: descriptor, path: target))
        } catch {
            unlink(temporary)
            throw error
        }
        try Self.move(temporary, to: target, overwrite: overwrite)
    }

    private static func temporaryName(for name: String, in folder: String) -> String {
        // Short names may be longer with it than a file system takes (255 bytes), so the end goes.
        "\(folder)/.\(String(decoding: name.utf8.prefix(200), as: UTF8.self)).\(Paths.hex(Index.newClaim()))"
    }

    private static func move(_ temporary: String, to target: String, overwrite: Bool) throws(StoreError) {
        if overwrite {
            if rename(temporary, target) == 0 { return }
        } else if clinux_rename_exclusive(temporary, target) == 0 {
            return
        } else if errno == EINVAL || errno == ENOSYS, link(temporary, target) == 0 {
            unlink(temporary)
            return
        }
        let number = errno
        unlink(temporary)
        throw .naming(target, number)
    }

    /// Writes the whole body to another open file, at that file's offset.
    ///
    /// - Parameter descriptor: a file, pipe, socket or terminal; stays open.
    public func copy(toDescriptor descriptor: Int32) throws(StoreError) {
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

    private func copy(to target: File) throws(StoreError) {
        if clinux_clone(file.descriptor, target.descriptor) == 0 { return }
        // copy_file_range moves the source's offset, which every user of this descriptor shares: take one of our own.
        let source = try File(path, O_RDONLY)
        var left = size
        while left > 0 {
            let count = clinux_copy_range(source.descriptor, target.descriptor, Int(min(left, 1 << 30)))
            if count > 0 {
                left -= Int64(count)
                continue
            }
            if count < 0 && errno == EINTR { continue }
            if count < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO) {
                throw .system("cannot write", path: target.path)
            }
            // Another file system, a device, or one that cannot: from the start, by hand.
            if left != size { throw .system("cannot copy", path: target.path) }
            do throws(StoreError) {
                return try copy(toDescriptor: target.descriptor)
            } catch {
                throw StoreError(error.code, error.message, path: target.path, errno: error.errno)
            }
        }
    }
}

extension StoreError {
    fileprivate static func naming(_ path: String, _ number: Int32) -> StoreError {
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { $0 == path.startIndex ? "the folder /" : "the folder \(path[..<$0])" } ?? "this folder"
        return switch number {
        case EEXIST: StoreError(.exists, "the file exists", path: path, errno: number)
        case ENOENT: StoreError(.io, "\(path): \(folder) does not exist", path: path, errno: number)
        case ENOTDIR: StoreError(.io, "\(path): what should be \(folder) is none", path: path, errno: number)
        case EACCES: StoreError(.notWritable, "\(path): \(folder) may not be written", path: path, errno: number)
        case EROFS:
            StoreError(.notWritable, "\(path): \(folder) is on a read-only file system", path: path, errno: number)
        default: .system("cannot make the file", path: path, errno: number)
        }
    }
}
