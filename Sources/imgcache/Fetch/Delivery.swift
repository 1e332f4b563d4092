import Glibc
import ImageCache

/// Where a fetched file goes: nowhere (its cached path is printed), a file, a folder, or standard output.
enum Delivery: Sendable {
    case cachedPath
    case file(String)
    case folder(String, overwrite: Bool)
    case standardOutput

    init(_ options: OutputOptions) throws {
        if let file = options.file {
            guard file != "-" else {
                self = .standardOutput
                return
            }
            try Self.check(file: file)
            self = .file(file)
        } else if let directory = options.directory {
            try Self.check(folder: directory)
            self = .folder(directory, overwrite: options.force)
        } else {
            self = options.remoteName ? .folder(".", overwrite: options.force) : .cachedPath
        }
    }

    var isStandardOutput: Bool { if case .standardOutput = self { true } else { false } }

    /// Whether the file must enter the store, because its path there is all that the user gets.
    var needsStoredFile: Bool { if case .cachedPath = self { true } else { false } }

    /// A store for when the cache directory cannot be written: a hidden folder beside the output, whose name is the same in
    /// the next run, so that such a download resumes too; for standard output a temporary one.
    var directoryForEphemeralStore: String? {
        switch self {
        case .cachedPath: nil
        case .file(let path):
            path.lastIndex(of: "/").map { slash in
                "\(path[...slash]).\(path[path.index(after: slash)...]).imgcache"
            } ?? ".\(path).imgcache"
        case .folder(let directory, _): "\(directory)/.imgcache"
        case .standardOutput: Self.temporaryDirectory()
        }
    }

    /// A fresh folder that only this user can enter.
    private static func temporaryDirectory() -> String? {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(base)/imgcache-XXXXXX".utf8CString)
        return template.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress, mkdtemp(start) != nil else { return nil }
            return String(cString: start)
        }
    }

    /// Hands the file over and gives the path to print, if any.
    func deliver(_ file: CachedFile) throws -> String? {
        switch self {
        case .cachedPath: return file.path
        case .file(let path):
            try file.export(to: path, overwrite: true)
            return path
        case .standardOutput:
            try file.copy(toDescriptor: STDOUT_FILENO)
            return nil
        case .folder(let directory, let overwrite):
            try Self.makeFolder(directory)
            let name = OutputName.suggested(
                contentDisposition: file.response.fields[.contentDisposition], url: file.finalURL)
            let path = directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)"
            do throws(ImageCacheError) {
                try file.export(to: path, overwrite: overwrite)
            } catch {
                guard error.code == .store(.exists) else { throw error }
                throw Failure.exists(path)
            }
            return path
        }
    }

    /// Throws what would be in the way of writing the file, before anything is fetched for it.
    static func check(file: String) throws {
        var status = stat()
        if stat(file, &status) == 0 {
            if status.st_mode & S_IFMT == S_IFDIR {
                throw Failure(.usage, "\(file): is a folder; use -d \(file)")
            }
            // A device or a pipe is written into.
            if status.st_mode & S_IFMT != S_IFREG { return }
        }
        guard let slash = file.lastIndex(of: "/") else { return try check(folder: ".", for: file) }
        try check(folder: slash == file.startIndex ? "/" : String(file[..<slash]), for: file)
    }

    private static func check(folder: String, for path: String) throws {
        guard access(folder, W_OK | X_OK) != 0 else { return }
        let name = folder == "." ? "this folder" : "the folder \(folder)"
        let reason =
            switch errno {
            case ENOENT: "\(name) does not exist"
            case ENOTDIR: "\(folder) is not a folder"
            case EROFS: "\(name) is on a read-only file system"
            case EACCES: "\(name) may not be written"
            default: errorText(errno)
            }
        throw Failure(.store, "\(path): \(reason)")
    }

    /// Throws what would be in the way of writing files into the folder, which may be made for them.
    static func check(folder path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else {
            var name = Substring(path)
            while name.count > 1, name.last == "/" { name.removeLast() }
            return try check(file: String(name))
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw Failure(.usage, "\(path): is a file; use -o \(path)")
        }
        try check(folder: path, for: path)
    }

    static func makeFolder(_ path: String) throws {
        guard mkdir(path, 0o777) != 0, errno != EEXIST else { return }
        throw Failure(.store, "\(path): \(errorText(errno))")
    }
}
