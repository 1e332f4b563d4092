import Digests
import DiskStore
import DownloadLists
import FoundationEssentials
import Glibc
import HTTPSemantics
import ImageCache
import TextIdentity

/// The way in which files are written.
struct FileWriting: Sendable {
    let linkMode: LinkMode
    /// True to give a new file the time of `Last-Modified`.
    let keepsDate: Bool

    init(_ linkMode: LinkMode, keepsDate: Bool) {
        self.linkMode = linkMode
        self.keepsDate = keepsDate
    }

    /// - Parameter moving: True to move the file out of a cache that is not used any longer.
    func write(_ file: CachedFile, to path: String, moving: Bool, overwrite: Bool) throws(ImageCacheError) {
        let date = keepsDate ? file.response.fields[.lastModified] : nil
        let modified = date.flatMap { HTTPDate.parse($0, now: Date()) }
        if moving {
            try file.blocking.move(to: path, overwrite: overwrite, modified: modified)
        } else {
            try file.blocking.export(to: path, overwrite: overwrite, linkMode: linkMode, modified: modified)
        }
    }
}

/// The destination of fetched files: none (the cached path is printed), a file, a folder, or standard output.
enum OutputDestination: Sendable {
    case cachedPath
    case file(String, FileWriting)
    case folder(FolderTargets)
    case standardOutput

    /// - Throws: ``Failure`` if something prevents writing the files, before anything is fetched.
    init(_ options: OutputOptions, _ dataSet: DataSetOptions, for downloads: [ListedDownload]) throws {
        func folder(_ directory: String, _ naming: FileNaming) throws -> OutputDestination {
            .folder(
                try FolderTargets(
                    directory, naming, overwrite: options.force || dataSet.adopt,
                    FileWriting(dataSet.effectiveLinkMode, keepsDate: options.remoteTime ?? true),
                    downloads: downloads))
        }
        if let file = options.file {
            if file != "-" { try Self.check(file: file) }
            guard file != "-", try ExportTarget(file) != .descriptor(STDOUT_FILENO) else {
                self = .standardOutput
                return
            }
            self = .file(file, FileWriting(dataSet.effectiveLinkMode, keepsDate: options.remoteTime ?? false))
        } else if let directory = options.directory {
            try Self.check(folder: directory)
            self = try folder(directory, .listed)
        } else if let directory = dataSet.tree {
            try Self.check(folder: directory)
            self = try folder(directory, .tree)
        } else if options.remoteName {
            try Self.check(folder: ".")
            self = try folder(".", .listed)
        } else {
            self = .cachedPath
        }
    }

    var isStandardOutput: Bool { if case .standardOutput = self { true } else { false } }

    /// True if writing may wait for a reader.
    var mayBlock: Bool {
        switch self {
        case .cachedPath, .folder: return false
        case .standardOutput: return true
        case .file(let path, _): if case .file? = try? ExportTarget(path) { return false } else { return true }
        }
    }

    /// True if the file must enter the store, because the user receives only its path there.
    var needsStoredFile: Bool { if case .cachedPath = self { true } else { linkMode == .symlink } }

    /// The way in which files get there; `nil` without files.
    private var linkMode: LinkMode? {
        switch self {
        case .cachedPath, .standardOutput: nil
        case .file(_, let writing): writing.linkMode
        case .folder(let targets): targets.writing.linkMode
        }
    }

    /// The hidden folder next to the output for the fallback cache, or nil for a temporary one.
    var fallbackDirectory: String? {
        switch self {
        case .cachedPath, .standardOutput: return nil
        case .file(let path, _):
            guard case .file(let target)? = try? ExportTarget(path) else { return nil }
            guard let (folder, name) = target.splitAtLastSlash else { return Self.hiddenName(of: target) }
            return "\(folder)/\(Self.hiddenName(of: String(name)))"
        case .folder(let targets): return "\(targets.directory)/.imgcache"
        }
    }

    /// The name of the hidden folder next to a file. File systems limit names to 255 bytes.
    private static func hiddenName(of name: String) -> String {
        guard name.utf8.count > 240 else { return ".\(name).imgcache" }
        let start = String(decoding: name.utf8.prefix(200), as: UTF8.self)
        return ".\(start)-\(ShortSHA256.digest(of: name.utf8).hexadecimal.prefix(16)).imgcache"
    }

    /// Delivers the file and returns the path to print, if any.
    ///
    /// - Parameters:
    ///   - moving: True to move the file out of a cache that is not used any longer.
    ///   - present: The file at the target before the download.
    func deliver(
        _ file: CachedFile, of download: ListedDownload, moving: Bool, replacing present: PresentFile? = nil
    ) throws -> String? {
        switch self {
        case .cachedPath: return file.path
        case .file(let path, let writing):
            try writing.write(file, to: path, moving: moving, overwrite: true)
            return path
        case .standardOutput:
            try file.blocking.copy(toDescriptor: STDOUT_FILENO)
            return nil
        case .folder(let targets):
            return try targets.deliver(file, of: download, moving: moving, replacing: present)
        }
    }

    /// The path of a download's file, as far as the response's head determines it; `nil` if it is not a file.
    func path(of download: ListedDownload, contentDisposition: String? = nil) -> String? {
        switch self {
        case .cachedPath, .standardOutput: return nil
        case .file(let path, _):
            if case .file(let target)? = try? ExportTarget(path) { return target } else { return nil }
        case .folder(let targets): return targets.path(of: download, contentDisposition: contentDisposition)
        }
    }

    /// The file in the way of a download that must not be overwritten.
    ///
    /// - Parameter former: The stored body for the URL.
    func present(at download: ListedDownload, former: () -> CachedFile?) -> PresentFile? {
        guard case .folder(let targets) = self else { return nil }
        return targets.present(at: download, former: former)
    }

    /// True if a download's head may show that it cannot be delivered.
    var checksHeads: Bool {
        switch self {
        case .cachedPath, .standardOutput: return false
        case .folder: return true
        case .file(let path, _): if case .file? = try? ExportTarget(path) { return true } else { return false }
        }
    }

    /// Throws ``Failure`` if the received head shows that the download cannot be delivered.
    ///
    /// - Parameters:
    ///   - progress: The progress, with the length.
    ///   - cache: The cache that receives the download.
    ///   - moving: True if the file will be moved out of the cache.
    func check(
        _ download: ListedDownload, _ progress: DownloadProgress, from cache: DownloadCache, moving: Bool,
        _ present: PresentFile?
    ) throws {
        guard let total = progress.total,
            let path = path(of: download, contentDisposition: progress.contentDisposition), let linkMode
        else { return }
        if let present, present.path == path { try present.check(against: total) }
        let folder = OutputRoom.folder(of: path)
        let way: OutputRoom.Way =
            switch linkMode {
            case _ where moving: .moved
            case .symlink: .shared
            case .hardlink, .clone, .copy: OutputRoom.way(from: cache.directory, to: folder, linkMode)
            }
        try OutputRoom.check(total, held: progress.received, at: path, in: folder, way) {
            (try? cache.blocking.statistics())?.bodyBytes ?? .max / 2
        }
    }

    /// Throws if the file could not be written, before anything is fetched for it.
    static func check(file: String) throws {
        var status = stat()
        if stat(file, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            throw Failure(.usage, "\(file): is a directory; use -d \(file)")
        }
        try check(parentOf: file)
    }

    /// Throws if a file, which may exist, could not be made in its folder.
    static func check(parentOf file: String) throws {
        // A device, a pipe or a descriptor is written into.
        guard case .file(let target) = try ExportTarget(file) else { return }
        guard let (folder, _) = target.splitAtLastSlash else { return try check(folder: ".", for: file) }
        try check(folder: folder.isEmpty ? "/" : String(folder), for: file)
    }

    private static func check(folder: String, for path: String) throws {
        // With the slash, access(2) fails for a file, even a writable one.
        guard access(folder + "/", W_OK | X_OK) != 0 else { return }
        let name = folder == "." ? "the current directory" : "the directory \(folder)"
        let reason =
            switch errno {
            case ENOENT: "\(name) does not exist"
            case ENOTDIR: "\(folder) is not a directory"
            case EROFS: "\(name) is on a read-only file system"
            case EACCES: "\(name) is not writable"
            default: errorText(errno)
            }
        throw Failure(.store, "\(path): \(reason)")
    }

    /// Throws if files could not be written into the folder, which may be created for them.
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
