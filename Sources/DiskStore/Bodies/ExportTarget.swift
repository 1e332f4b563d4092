import CLinux
import Glibc
import TextIdentity

/// The target of an export: a file, which appears complete or not at all, or a stream that receives the bytes as they
/// are written.
package enum ExportTarget: Sendable, Equatable {
    /// A regular file, or an unused name.
    case file(String)
    /// A device or a pipe.
    case stream(String)
    /// A descriptor of this process, given by a name such as `/dev/stdout` or `/dev/fd/3`.
    case descriptor(Int32)

    /// The number of links to follow before they count as a loop, as in the kernel.
    private static let mostLinks = 40

    /// The target of a path. Symbolic links are followed, including those to a file that does not exist yet. A link to a body of a store is not: it
    /// is replaced, because a body never changes.
    package init(_ path: String) throws(StoreError) {
        var target = path
        for _ in 0..<Self.mostLinks {
            if let descriptor = Self.descriptor(named: target) {
                self = .descriptor(descriptor)
                return
            }
            guard let next = Self.link(at: target), !Self.isBody(next) else {
                self = try Self.target(target, named: path)
                return
            }
            target = next
        }
        throw .system("cannot write the file", path: path, errno: ELOOP)
    }

    private static func target(_ target: String, named path: String) throws(StoreError) -> ExportTarget {
        var status = stat()
        guard stat(target, &status) == 0 else { return .file(target) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return .file(target)
        case S_IFDIR: throw .system("cannot write the file", path: path, errno: EISDIR)
        default: return .stream(target)
        }
    }

    private static func descriptor(named path: String) -> Int32? {
        switch path {
        case "/dev/stdout": return STDOUT_FILENO
        case "/dev/stderr": return STDERR_FILENO
        default: break
        }
        for folder in ["/dev/fd/", "/proc/self/fd/"] where path.hasPrefix(folder) {
            return Int32(path.dropFirst(folder.count)).flatMap { $0 < 0 ? nil : $0 }
        }
        return nil
    }

    /// The target of a symbolic link, relative to its folder; nil for everything else.
    private static func link(at path: String) -> String? {
        var text = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &text, text.count)
        guard count > 0 else { return nil }
        let link = String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard link.utf8.first != UInt8(ascii: "/"), let folder = path.splitAtLastSlash?.folder else { return link }
        return "\(folder)/\(link)"
    }

    /// Returns true for the path of a body of a store, whether the body exists or not.
    private static func isBody(_ path: String) -> Bool {
        guard let folder = path.splitAtLastSlash?.folder, let absolute = realpath(String(folder), nil) else {
            return false
        }
        defer { free(absolute) }
        return Paths.store(ofBodiesIn: String(cString: absolute)) != nil
    }

    // MARK: Writing

    /// Writes the output of `contents`, which receives a descriptor.
    ///
    /// A file gets its name when it is complete, and atomically replaces an existing one.
    ///
    /// - Parameters:
    ///   - overwrite: True to replace an existing file; otherwise throws ``StoreError/Code/exists``.
    ///   - mode: The mode of a file, before the umask; `nil` for the permissions of the file that it replaces, otherwise 0666.
    package func write(
        overwrite: Bool, mode: UInt32? = nil, _ contents: (Int32) throws(StoreError) -> Void
    ) throws(StoreError) {
        switch self {
        case .descriptor(let descriptor): try contents(descriptor)
        case .stream(let path):
            let descriptor = clinux_open(path, O_WRONLY, 0)
            if descriptor < 0 { throw .system("cannot open", path: path) }
            defer { close(descriptor) }
            try contents(descriptor)
        case .file(let path):
            if !overwrite, FileStatus(at: path) != nil { throw .naming(path, EEXIST) }
            try Self.writeFile(path, overwrite: overwrite, mode, contents)
        }
    }

    /// The permissions of a regular file, which its replacement gets; `nil` for everything else. A symbolic link is not followed.
    static func permissions(of path: String) -> mode_t? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        // Not setuid, setgid and sticky, which were given to the old content.
        return status.st_mode & 0o777
    }

    private static func writeFile(
        _ target: String, overwrite: Bool, _ mode: UInt32?, _ contents: (Int32) throws(StoreError) -> Void
    ) throws(StoreError) {
        let kept = overwrite && mode == nil ? permissions(of: target) : nil
        let mode = kept ?? mode ?? 0o666
        let unnamed = clinux_open_unnamed(split(target).folder, mode)
        if unnamed >= 0 {
            defer { close(unnamed) }
            // The umask may have taken some away. A file system without permissions refuses.
            if let kept { _ = fchmod(unnamed, kept) }
            try contents(unnamed)
            return try make(target, overwrite: overwrite) { clinux_link_unnamed(unnamed, $0) }
        }
        let temporary = temporaryName(beside: target)
        let descriptor = clinux_open(temporary, O_RDWR | O_CREAT | O_EXCL, mode)
        if descriptor < 0 { throw .naming(target, errno) }
        defer { close(descriptor) }
        if let kept { _ = fchmod(descriptor, kept) }
        do throws(StoreError) {
            try contents(descriptor)
        } catch {
            unlink(temporary)
            throw error
        }
        try move(temporary, to: target, overwrite: overwrite)
    }

    /// Gives a file a further name; an existing one is replaced, if that is allowed.
    static func link(_ file: String, at target: String, overwrite: Bool) throws(StoreError) {
        try make(target, overwrite: overwrite) { Glibc.link(file, $0) }
    }

    /// Makes a symbolic link to a file, with its absolute path.
    static func makeSymbolicLink(to file: String, at path: String, overwrite: Bool) throws(StoreError) {
        guard let absolute = realpath(file, nil) else { throw .naming(path, errno) }
        defer { free(absolute) }
        try make(path, overwrite: overwrite) { symlink(absolute, $0) }
    }

    /// Creates a name by a system call that never replaces one. If the name exists, it creates a temporary name next to it, and renames
    /// that.
    private static func make(
        _ target: String, overwrite: Bool, by call: (String) -> Int32
    ) throws(StoreError) {
        if call(target) == 0 { return }
        let number = errno
        guard number == EEXIST && overwrite else { throw .naming(target, number) }
        let temporary = temporaryName(beside: target)
        if call(temporary) != 0 { throw .naming(target, errno) }
        try move(temporary, to: target, overwrite: true)
        // Where both are names of one file already, a rename does nothing.
        unlink(temporary)
    }

    private static func split(_ path: String) -> (folder: String, name: String) {
        guard let (folder, name) = path.splitAtLastSlash else { return (".", path) }
        return (folder.isEmpty ? "/" : String(folder), String(name))
    }

    private static func temporaryName(beside target: String) -> String {
        let (folder, name) = split(target)
        // The name is truncated, because file systems limit names to 255 bytes.
        return "\(folder)/.\(String(decoding: name.utf8.prefix(200), as: UTF8.self)).\(Paths.hex(Claim.new()))"
    }

    private static func move(_ temporary: String, to target: String, overwrite: Bool) throws(StoreError) {
        do throws(StoreError) {
            try rename(temporary, to: target, overwrite: overwrite)
        } catch {
            unlink(temporary)
            throw error
        }
    }

    /// Renames a file within its file system.
    static func rename(_ from: String, to target: String, overwrite: Bool) throws(StoreError) {
        if overwrite {
            if Glibc.rename(from, target) == 0 { return }
        } else if clinux_rename_exclusive(from, target) == 0 {
            return
        } else if errno == EINVAL || errno == ENOSYS, Glibc.link(from, target) == 0 {
            unlink(from)
            return
        }
        throw .naming(target, errno)
    }
}

extension StoreError {
    /// The error for a failed rename or link; must be created directly after the call.
    fileprivate static func naming(_ path: String, _ number: Int32) -> StoreError {
        let folder = path.splitAtLastSlash.map { "the folder \($0.folder.isEmpty ? "/" : $0.folder)" } ?? "this folder"
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
