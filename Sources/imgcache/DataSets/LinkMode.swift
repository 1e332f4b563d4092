import ArgumentParser
import DiskStore
import Glibc
import ImageCache

/// The method by which a stored file is placed at its destination.
enum LinkMode: String, ExpressibleByArgument, CaseIterable {
    case clone, copy, symlink
}

extension LinkMode {
    /// Puts a stored file at a path, whole or not at all.
    func put(_ file: CachedFile, at path: String, overwrite: Bool) throws(ImageCacheError) {
        switch self {
        case .clone: try file.blocking.export(to: path, overwrite: overwrite)
        case .copy: try copy(file, to: path, overwrite: overwrite)
        case .symlink: try link(file, at: path, overwrite: overwrite)
        }
    }

    /// Byte by byte: nothing is shared with the store's file.
    private func copy(_ file: CachedFile, to path: String, overwrite: Bool) throws(ImageCacheError) {
        do throws(StoreError) {
            try ExportTarget(path).write(overwrite: overwrite) { (descriptor) throws(StoreError) in
                do throws(ImageCacheError) { try file.blocking.copy(toDescriptor: descriptor) } catch {
                    throw error.cause as? StoreError ?? StoreError(.io, "\(error)", path: path)
                }
            }
        } catch {
            throw Self.failure(error, path)
        }
    }

    private func link(_ file: CachedFile, at path: String, overwrite: Bool) throws(ImageCacheError) {
        guard let target = realpath(file.path, nil) else { throw Self.failure(errno, path) }
        defer { free(target) }
        if Glibc.symlink(target, path) == 0 { return }
        guard errno == EEXIST, overwrite else { throw Self.failure(errno, path) }
        let temporary = "\(path).\(getpid()).\(UInt32.random(in: .min ... .max))"
        guard Glibc.symlink(target, temporary) == 0 else { throw Self.failure(errno, path) }
        guard rename(temporary, path) != 0 else { return }
        let number = errno
        unlink(temporary)
        throw Self.failure(number, path)
    }

    /// Returns true if the path already has the file's content, in this mode.
    func isAt(_ path: String, _ file: CachedFile) -> Bool {
        if self == .symlink {
            guard let target = realpath(path, nil), let own = realpath(file.path, nil) else { return false }
            defer {
                free(target)
                free(own)
            }
            return strcmp(target, own) == 0
        }
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) == file.size else {
            return false
        }
        return hasEqualBytes(path, file)
    }

    private func hasEqualBytes(_ path: String, _ file: CachedFile) -> Bool {
        let one = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        let other = open(file.path, O_RDONLY | O_CLOEXEC)
        defer { for descriptor in [one, other] where descriptor >= 0 { close(descriptor) } }
        guard one >= 0, other >= 0 else { return false }
        let size = 1 << 18
        var (left, right) = ([UInt8](repeating: 0, count: size), [UInt8](repeating: 0, count: size))
        var offset: Int64 = 0
        while offset < file.size {
            let wanted = Int(min(Int64(size), file.size - offset))
            guard pread(one, &left, wanted, off_t(offset)) == wanted,
                pread(other, &right, wanted, off_t(offset)) == wanted,
                memcmp(left, right, wanted) == 0
            else { return false }
            offset += Int64(wanted)
        }
        return true
    }

    private static func failure(_ number: Int32, _ path: String) -> ImageCacheError {
        failure(StoreError(number == EEXIST ? .exists : .io, "cannot make the link", path: path, errno: number), path)
    }

    private static func failure(_ error: StoreError, _ path: String) -> ImageCacheError {
        ImageCacheError(
            .store(error.code == .exists ? .exists : .io), path: path, message: error.description, cause: error)
    }
}
