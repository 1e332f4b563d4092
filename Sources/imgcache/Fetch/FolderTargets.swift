import ConcurrencyPrimitives
import DownloadLists
import Glibc
import ImageCache
import TextIdentity

/// The scheme by which files in a folder are named.
enum FileNaming {
    /// By the list, otherwise by Content-Disposition, otherwise by the last segment of the URL.
    case listed
    /// By the host and path of the URL.
    case tree
}

/// The files that a run writes to a folder (`-d`, `-O`, `--tree`). Two URLs never get the same name.
final class FolderTargets: Sendable {
    let directory: String
    let writing: FileWriting
    private let naming: FileNaming
    private let overwrite: Bool
    private let state = Locked(State())
    /// Held while writing the file of a URL that occurs more than once in the run.
    private let turn = Locked(())
    private let repeated: Set<ByteText>

    private struct State {
        /// The URL of each path.
        var owners: [ByteText: ByteText] = [:]
        /// True if the folder exists.
        var hasFolder = false
        /// The URLs whose files have been written.
        var delivered: Set<ByteText> = []
        /// The written files by identity, for folders where two names may refer to one file.
        var files: [FileIdentity: ByteText] = [:]
    }

    private struct FileIdentity: Hashable {
        let device: UInt64
        let inode: UInt64

        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
        }
    }

    /// - Throws: ``Failure`` if two of the downloads have the same file, or the file of one is a folder of another.
    init(
        _ directory: String, _ naming: FileNaming, overwrite: Bool, _ writing: FileWriting, downloads: [ListedDownload]
    ) throws {
        self.directory = directory
        self.naming = naming
        self.overwrite = overwrite
        self.writing = writing
        var counted: Set<ByteText> = []
        var repeated: Set<ByteText> = []
        for url in downloads.map(\.url.asBytes) where !counted.insert(url).inserted { repeated.insert(url) }
        self.repeated = repeated
        var targets: [ByteText: String] = [:]
        for download in downloads { targets[download.url.asBytes] = name(of: download) }
        // An invalid URL fails when it is fetched.
        let named = downloads.filter { $0.output != nil || naming == .tree && !name(of: $0).isEmpty }
        try Self.checkFolders(named.map { ($0.url, name(of: $0)) })
        try Self.check(named.map(\.url), allowingQueries: false) { path(targets[$0.asBytes] ?? "") }
        if naming == .listed, named.count < downloads.count {
            try Self.check(downloads.map(\.url)) { path(targets[$0.asBytes] ?? "") }
        }
    }

    /// The file's name within the folder, as far as it is known before the response arrives.
    private func name(of download: ListedDownload, _ file: CachedFile? = nil) -> String {
        name(of: download, file?.response.fields[.contentDisposition], file?.finalURL ?? download.url)
    }

    private func name(of download: ListedDownload, _ contentDisposition: String?, _ url: String) -> String {
        if naming == .tree { return (try? TreePath.path(of: download.url)) ?? "" }
        return download.output ?? OutputName.suggested(contentDisposition: contentDisposition, url: url)
    }

    /// The file's path, as far as the response's head determines it. A redirect may still change it.
    func path(of download: ListedDownload, contentDisposition: String?) -> String {
        path(name(of: download, contentDisposition, download.url))
    }

    /// The file in the way of a download that must not be overwritten.
    ///
    /// - Parameter former: The stored body for the URL.
    func present(at download: ListedDownload, former: () -> CachedFile?) -> PresentFile? {
        guard !overwrite else { return nil }
        // Usually no file exists there, and the store is not queried.
        let isNameKnown = naming == .tree || download.output != nil
        if isNameKnown, access(path(name(of: download)), F_OK) != 0 { return nil }
        let former = former()
        return PresentFile(path(name(of: download, former)), former: former)
    }

    /// Throws ``Failure`` if the name of a file is also a folder of another.
    private static func checkFolders(_ names: [(url: String, name: String)]) throws {
        var folders: [ByteText: String] = [:]
        for (url, name) in names {
            for slash in name.slashes { folders[name[..<slash].asBytes] = url }
        }
        for (url, name) in names {
            guard let below = folders[name.asBytes] else { continue }
            let (url, other) = (FileRequest(url).urlWithoutUserinfo, FileRequest(below).urlWithoutUserinfo)
            throw Failure(.usage, "\(name) is the file of \(url) and a folder of \(other); nothing was fetched")
        }
    }

    /// Throws ``Failure`` if two of the sources lead to one file.
    ///
    /// URLs that differ only in their query are skipped, because their names usually come from Content-Disposition.
    static func check(_ sources: [String], allowingQueries: Bool = true, path: (String) -> String) throws {
        var owners: [ByteText: String] = [:]
        for source in sources {
            let target = path(source)
            guard let other = owners[target.asBytes] else {
                owners[target.asBytes] = source
                continue
            }
            guard !other.hasSameBytes(as: source), !allowingQueries || !differOnlyInQuery(other, source) else {
                continue
            }
            throw Failure(.usage, "\(collision(source, other, target)); nothing was fetched")
        }
    }

    private static func differOnlyInQuery(_ one: String, _ other: String) -> Bool {
        func resource(_ url: String) -> ByteText {
            String(url.unicodeScalars.prefix { $0 != "?" && $0 != "#" }).asBytes
        }
        return one.isWebURL && resource(one) == resource(other)
    }

    private static func collision(_ source: String, _ other: String, _ path: String) -> String {
        let (source, other) = (FileRequest(source).urlWithoutUserinfo, FileRequest(other).urlWithoutUserinfo)
        return "\(source) and \(other) lead to the same file, \(path)"
    }

    private func path(_ name: String) -> String { directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)" }

    /// Writes a download's file into the folder, which is created if necessary.
    ///
    /// - Parameters:
    ///   - moving: True to move the file out of a cache that is not used any longer.
    ///   - present: The file at the target before the download.
    /// - Returns: The file's path.
    func deliver(
        _ file: CachedFile, of download: ListedDownload, moving: Bool, replacing present: PresentFile?
    ) throws -> String {
        if !state.withLock({ $0.hasFolder }) {
            try OutputDestination.makeFolder(directory)
            state.withLock { $0.hasFolder = true }
        }
        let name = name(of: download, file)
        try makeFolders(of: name)
        let (url, path) = (download.url, path(name))
        guard repeated.contains(url.asBytes) else {
            try write(file, of: url, to: path, moving, present)
            return path
        }
        try turn.withLock { _ in
            if !state.withLock({ $0.delivered.contains(url.asBytes) && $0.owners[path.asBytes] == url.asBytes }) {
                try write(file, of: url, to: path, moving, present)
            }
        }
        return path
    }

    /// Creates the folders of a name below the folder. Symbolic links are rejected, because they could lead out of it.
    private func makeFolders(of name: String) throws {
        for slash in name.slashes {
            let folder = path(String(name[..<slash]))
            var status = stat()
            if lstat(folder, &status) == 0, status.st_mode & S_IFMT != S_IFDIR {
                throw Failure(.store, "\(folder): is in the way of a folder, and not one", kind: "exists")
            }
            try OutputDestination.makeFolder(folder)
        }
    }

    private func write(
        _ file: CachedFile, of url: String, to path: String, _ moving: Bool, _ present: PresentFile?
    ) throws {
        var identity = FileIdentity(path)
        let source = url.asBytes
        let other = state.withLock { state -> ByteText? in
            if let owner = state.owners[path.asBytes], owner != source { return owner }
            // Two URLs with the same stored file may have links to it.
            if let owner = identity.flatMap({ state.files[$0] }), owner != source, identity != FileIdentity(file.path) {
                return owner
            }
            state.owners[path.asBytes] = source
            return nil
        }
        if let other {
            throw Failure(.store, "\(Self.collision(url, other.wrappedValue, path)); it was not overwritten")
        }
        func put(overwrite: Bool) throws(ImageCacheError) {
            try writing.write(file, to: path, moving: moving, overwrite: overwrite)
            identity = FileIdentity(path)
        }
        do throws(ImageCacheError) {
            try put(overwrite: overwrite)
        } catch {
            guard error.code == .store(.exists) else { throw error }
            // The file is unchanged since an earlier run.
            if !writing.linkMode.isAt(path, file) {
                guard let present, present.path == path, present.isReplaceable else { throw Failure.exists(path) }
                try put(overwrite: true)
            }
        }
        state.withLock { state in
            state.delivered.insert(source)
            if let identity { state.files[identity] = source }
        }
    }
}
