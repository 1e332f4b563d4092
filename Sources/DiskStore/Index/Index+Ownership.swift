import CLinux
import Glibc

/// Recognises cache directories: files of others must never be counted, deleted or moved.
extension Index {
    /// The text of a cache directory's CACHEDIR.TAG. Its second line tells ours from every other program's.
    private static let tagText =
        "Signature: 8a477f597d28d172789f06886806bc55\n\(tagMark) See https://bford.info/cachedir/\n"
    private static let tagMark = "# This is a cache of imgcache."

    /// Makes sure that what lies in the folder is a cache of ours, or nothing.
    ///
    /// - Returns: whether there is a cache; else it is to be made.
    /// - Throws: ``StoreError/Code/foreign``.
    func checkOwnership() throws(StoreError) -> Bool {
        if isMarked || isIndexOurs { return true }
        var stranger: String?
        try forEachName(in: paths.root) { if !isOfVacantFolder($0), stranger == nil { stranger = $0 } }
        guard let stranger else { return false }
        // Another process may just have begun to make it.
        if isMarked { return true }
        throw StoreError(
            .foreign,
            "the folder is neither empty nor a cache of imgcache (there is \(stranger)); name one for the cache alone",
            path: paths.root)
    }

    private var isMarked: Bool {
        Self.text(at: paths.tag, count: 512).map { $0.contains(Self.tagMark) } ?? false
    }

    /// A folder whose tag was deleted is still known by its index (https://www.sqlite.org/fileformat.html section 1.3).
    private var isIndexOurs: Bool {
        guard let file = try? File(paths.index, O_RDONLY), let header = try? file.bytes(at: 0, count: 72) else {
            return false
        }
        let number = header[68..<72].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        return header.starts(with: "SQLite format 3\0".utf8) && number == Schema.applicationID
    }

    /// True for names that an empty file system has, and for those that a kill, a full disk or a deletion under way leaves of a
    /// cache: nothing that anybody else could have put there.
    private func isOfVacantFolder(_ name: String) -> Bool {
        let status = FileStatus(at: "\(paths.root)/\(name)")
        switch name {
        case "lost+found": return true
        // The user's settings, which may be there before the cache is.
        case "imgcache.json": return true
        // Processes that go on while the directory is deleted make these anew.
        case "CACHEDIR.TAG", "locks", "index.sqlite": return status?.size == 0
        case "index.sqlite-wal", "index.sqlite-shm", "index.sqlite-journal":
            return (FileStatus(at: paths.index)?.size ?? 0) == 0
        case "generations": return holdsGenerations
        case "partials": return holdsOnly(in: paths.partials) { PartialFile(name: $0) != nil }
        case "bodies": return holdsOnly(in: paths.bodies) { isBodyFolder($0) }
        default: return false
        }
    }

    private func isBodyFolder(_ name: String) -> Bool {
        guard name.utf8.count == 2, let number = Int64(name, radix: 16) else { return false }
        return holdsOnly(in: paths.folder(number)) { Paths.number($0) != nil }
    }

    /// True when there is a folder at the path, and each name in it passes.
    private func holdsOnly(in folder: String, _ isOurs: (String) -> Bool) -> Bool {
        guard FileStatus(at: folder)?.isFolder == true else { return false }
        var all = true
        try? forEachName(in: folder) { name in if all, !isOurs(name) { all = false } }
        return all
    }

    /// True when the file of that name is a table of ours, or gone by now.
    private var holdsGenerations: Bool {
        guard let status = FileStatus(at: paths.generations) else { return true }
        guard status.isRegular, let file = try? File(paths.generations, O_RDONLY) else { return false }
        return GenerationTable.isTable(file)
    }

    private static func text(at path: String, count: Int) -> String? {
        guard let file = try? File(path, O_RDONLY) else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        let read = try? bytes.withUnsafeMutableBytes { (buffer) throws(StoreError) in try file.read(into: buffer, at: 0)
        }
        return read.map { String(decoding: bytes[..<$0], as: UTF8.self) }
    }

    /// Marks the folder as ours: the first thing that is put there.
    func writeTag() throws(StoreError) {
        if let status = FileStatus(at: paths.tag) {
            if status.size > 0 { return }
            unlink(paths.tag)
        }
        // Whole or not at all where the file system can.
        let unnamed = clinux_open_unnamed(paths.root, 0o600)
        let tag: File =
            if unnamed >= 0 {
                File(descriptor: unnamed, path: paths.tag)
            } else {
                try File(paths.tag, O_WRONLY | O_CREAT, mode: 0o600)
            }
        var text = Self.tagText
        let error = text.withUTF8 { bytes -> StoreError? in
            do throws(StoreError) {
                try tag.write(UnsafeRawBufferPointer(bytes), at: 0)
                return nil
            } catch { return error }
        }
        // What follows it must not be there after a loss of power while it is not: such a folder would be refused.
        fsync(tag.descriptor)
        if let error {
            if unnamed < 0 { unlink(paths.tag) }
            throw error
        }
        if unnamed >= 0, clinux_link_unnamed(unnamed, paths.tag) != 0, errno != EEXIST {
            throw .system("cannot make the file", path: paths.tag)
        }
    }
}
