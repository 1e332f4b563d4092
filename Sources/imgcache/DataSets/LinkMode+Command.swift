public import ArgumentParser
import Glibc
public import ImageCache

extension LinkMode: ExpressibleByArgument {
    static let variable = "IMGCACHE_LINK_MODE"

    /// The text in `$IMGCACHE_LINK_MODE`; `nil` if it is unset or empty.
    static var environmentText: String? {
        getenv(variable).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The mode where no option names one: `$IMGCACHE_LINK_MODE`, else clone. `nil` if the variable names none.
    static var preset: LinkMode? { environmentText.map { LinkMode(rawValue: $0) } ?? .clone }

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
        var (status, own) = (stat(), stat())
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) == file.size else {
            return false
        }
        // The store's file itself.
        if stat(file.path, &own) == 0, own.st_ino == status.st_ino, own.st_dev == status.st_dev { return true }
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
}
