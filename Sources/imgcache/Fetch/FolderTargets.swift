import ConcurrencyPrimitives
import Glibc
import ImageCache

/// The files that a run writes into a folder (`-d`, `-O`): each URL has a different name.
final class FolderTargets: Sendable {
    let directory: String
    private let overwrite: Bool
    private let state = Locked(State())
    /// Held while the file of a URL is written, which may occur more than once in a run.
    private let turn = Locked(())
    private let repeated: Set<String>

    private struct State {
        /// The URL of each path.
        var owners: [String: String] = [:]
        /// The URLs whose files are written.
        var delivered: Set<String> = []
        /// The written files by identity, for folders where two names may refer to one file.
        var files: [FileIdentity: String] = [:]
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

    /// - Throws: ``Failure`` if two of the URLs lead to one file.
    init(_ directory: String, overwrite: Bool, urls: [String]) throws {
        self.directory = directory
        self.overwrite = overwrite
        var counted: Set<String> = []
        var repeated: Set<String> = []
        for url in urls where !counted.insert(url).inserted { repeated.insert(url) }
        self.repeated = repeated
        try Self.check(urls) { path(OutputName.suggested(contentDisposition: nil, url: $0)) }
    }

    /// Throws ``Failure`` if two of the sources lead to one file.
    ///
    /// URLs that differ in their query only are skipped: their names usually come from Content-Disposition.
    static func check(_ sources: [String], path: (String) -> String) throws {
        var owners: [String: String] = [:]
        for source in sources {
            let target = path(source)
            guard let other = owners[target] else {
                owners[target] = source
                continue
            }
            guard other != source, !differOnlyInQuery(other, source) else { continue }
            throw Failure(.usage, "\(collision(source, other, target)); nothing was fetched")
        }
    }

    private static func differOnlyInQuery(_ one: String, _ other: String) -> Bool {
        func resource(_ url: String) -> Substring { url.prefix { $0 != "?" && $0 != "#" } }
        return one.isWebURL && resource(one) == resource(other)
    }

    private static func collision(_ source: String, _ other: String, _ path: String) -> String {
        let (source, other) = (FileRequest(source).urlWithoutUserinfo, FileRequest(other).urlWithoutUserinfo)
        return "\(source) and \(other) lead to the same file, \(path)"
    }

    private func path(_ name: String) -> String { directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)" }

    /// Writes the file of a URL into the folder, which is created if necessary.
    ///
    /// - Parameter moving: True to move the file out of a cache that is not used again.
    /// - Returns: The file's path.
    func deliver(_ file: CachedFile, of url: String, moving: Bool) throws -> String {
        try OutputDestination.makeFolder(directory)
        let path = path(
            OutputName.suggested(
                contentDisposition: file.response.fields[.contentDisposition], url: file.finalURL))
        guard repeated.contains(url) else {
            try write(file, of: url, to: path, moving)
            return path
        }
        try turn.withLock { _ in
            if !state.withLock({ $0.delivered.contains(url) && $0.owners[path] == url }) {
                try write(file, of: url, to: path, moving)
            }
        }
        return path
    }

    private func write(_ file: CachedFile, of url: String, to path: String, _ moving: Bool) throws {
        let identity = FileIdentity(path)
        let other = state.withLock { state -> String? in
            if let owner = state.owners[path], owner != url { return owner }
            if let owner = identity.flatMap({ state.files[$0] }), owner != url { return owner }
            state.owners[path] = url
            return nil
        }
        if let other { throw Failure(.store, "\(Self.collision(url, other, path)); it was not overwritten") }
        do throws(ImageCacheError) {
            if moving {
                try file.blocking.move(to: path, overwrite: overwrite)
            } else {
                try file.blocking.export(to: path, overwrite: overwrite)
            }
        } catch {
            guard error.code == .store(.exists) else { throw error }
            throw Failure.exists(path)
        }
        let written = FileIdentity(path)
        state.withLock { state in
            state.delivered.insert(url)
            if let written { state.files[written] = url }
        }
    }
}
