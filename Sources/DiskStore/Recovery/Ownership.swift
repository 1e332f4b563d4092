import CLinux
import ConcurrencyPrimitives
import Glibc

/// Recognises cache directories: files of others must never be counted, deleted or moved.
extension Index {
    /// The text of a cache directory's CACHEDIR.TAG. Its second line identifies this program.
    private static let tagText =
        "Signature: 8a477f597d28d172789f06886806bc55\n\(tagMark) See https://bford.info/cachedir/\n"
    private static let tagMark = "# This is a cache of imgcache."

    /// Ensures that the folder is a cache of this program, or empty.
    ///
    /// - Returns: True if there is a cache; otherwise it must be created.
    /// - Throws: ``StoreError/Code/foreign``.
    func checkOwnership() throws(StoreError) -> Bool {
        if isMarked { return true }
        if isIndexOurs {
            if !configuration.isReadOnly { try? writeTag() }
            return true
        }
        var stranger: String?
        try forEachName(in: paths.root) { (name) throws(StoreError) in
            if stranger == nil, try !isOfVacantFolder(name) { stranger = name }
        }
        guard let stranger else { return false }
        // Another process may have just created it.
        if isMarked { return true }
        throw StoreError(
            .foreign,
            "the folder is neither empty nor a cache of imgcache (there is \(stranger)); name one for the cache alone",
            path: paths.root)
    }

    private var isMarked: Bool {
        let lines = Self.text(at: paths.tag, count: 512)?.utf8.split(separator: UInt8(ascii: "\n")) ?? []
        return lines.contains { $0.starts(with: Self.tagMark.utf8) }
    }

    /// Identifies a folder whose tag was deleted by its index (https://www.sqlite.org/fileformat.html section 1.3).
    private var isIndexOurs: Bool {
        guard let file = headerFile, let header = try? file.bytes(at: 0, count: 72) else { return false }
        let number = header[68..<72].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        return header.starts(with: "SQLite format 3\0".utf8) && number == Schema.applicationID
    }

    /// Index files whose header was read. They stay open, because closing one releases the locks of all connections that this process has on
    /// the file (https://www.sqlite.org/howtocorrupt.html section 2.2).
    private static let headerFiles = Locked<[File]>([])

    private var headerFile: File? {
        let path = paths.index
        return Self.headerFiles.withLock { files in
            guard let status = FileStatus(at: path) else { return nil }
            if let file = files.first(where: { $0.status?.identity == status.identity }) { return file }
            guard let file = try? File(path, O_RDONLY) else { return nil }
            files.append(file)
            return file
        }
    }

    /// Returns true for names in an empty file system, and for remains of a cache after a kill, a full disk or an
    /// interrupted deletion: only files that cannot belong to others.
    private func isOfVacantFolder(_ name: String) throws(StoreError) -> Bool {
        let status = FileStatus(at: "\(paths.root)/\(name)")
        switch name {
        case "lost+found": return true
        // The user's settings, which may be there before the cache is.
        case "imgcache.json": return true
        // Recreated empty by processes that run while the directory is deleted.
        case "CACHEDIR.TAG", "locks", "index.sqlite": return status?.size == 0
        case "index.sqlite-wal", "index.sqlite-shm", "index.sqlite-journal":
            return (FileStatus(at: paths.index)?.size ?? 0) == 0
        case "generations": return holdsGenerations
        case "partials": return try holdsOnly(in: paths.partials) { PartialFile(name: $0) != nil }
        case "bodies": return try holdsOnly(in: paths.bodies, isBodyFolder)
        default: return false
        }
    }

    private func isBodyFolder(_ name: String) throws(StoreError) -> Bool {
        guard name.utf8.count == 2, let number = Int64(name, radix: 16) else { return false }
        return try holdsOnly(in: paths.folder(number)) { Paths.number($0) != nil }
    }

    /// Returns true if the path is a folder in which each name passes the test.
    private func holdsOnly(
        in folder: String, _ isOurs: (String) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        guard FileStatus(at: folder)?.isFolder == true else { return false }
        var all = true
        try forEachName(in: folder) { (name) throws(StoreError) in if all, try !isOurs(name) { all = false } }
        return all
    }

    /// True if the file of that name is a generation table, or no longer exists.
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

    /// Marks the folder as a cache: the first file that is created.
    func writeTag() throws(StoreError) {
        if let status = FileStatus(at: paths.tag) {
            if status.isRegular && status.size > 0 { return }
            // If the folder is not empty, the index identifies the cache.
            guard removeName(paths.tag) else { return }
        }
        // Atomic if the file system supports it.
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
        // Later files must not survive a power failure without the tag: such a folder would be refused.
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
