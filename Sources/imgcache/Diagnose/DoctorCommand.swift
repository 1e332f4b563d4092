import ArgumentParser
import FoundationEssentials
import Glibc
import ImageCache
import Units

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Examine a cache without changing it: index, files, space, permissions.",
        discussion: """
            A problem ends with exit code 6, and the line says what to do about it. The bytes of bodies are not read; \
            'imgcache verify' does that.
            """)

    @Argument(help: ArgumentHelp("The cache directory, in place of --cache-dir.", valueName: "dir"))
    var folder: String?

    @OptionGroup var store: DirectoryOptions
    @OptionGroup var format: FormatOptions

    func validate() throws {
        guard folder == nil || store.place.cacheDir == nil else {
            throw ValidationError("Specify the directory once, as DIR or by --cache-dir.")
        }
    }

    func run() throws {
        var store = store
        if let folder { store.place.cacheDir = folder }
        var findings = Findings()
        guard access(store.directory, F_OK) == 0 else {
            findings.add("folder", .ok, "\(store.directory): there is no cache yet")
            return try findings.print(asJSON: format.json)
        }
        try withStore(store, for: .readOnly) { cache in
            examineFolder(cache.directory, &findings)
            findings.addFileSystem(of: cache.directory)
            try examineIndex(cache.blocking, &findings)
            try examineEntries(cache.blocking, &findings)
            try examinePartials(cache.blocking, &findings)
            try examineSpace(cache, &findings)
        }
        try findings.print(asJSON: format.json)
        if findings.hasProblem { throw ExitCode(ExitStatus.store.rawValue) }
    }

    private func examineFolder(_ directory: String, _ findings: inout Findings) {
        var status = stat()
        stat(directory, &status)
        if status.st_uid != geteuid() {
            findings.add(
                "folder", .problem, "\(directory) belongs to user \(status.st_uid), and you are \(geteuid()): chown it")
        } else if status.st_mode & 0o022 != 0 {
            findings.add("folder", .problem, "\(directory): others can write into it: chmod 700 it")
        } else if access(directory, W_OK) != 0 {
            findings.add("folder", .note, "\(directory): is read-only; stored files can be used, and nothing is added")
        } else {
            findings.add("folder", .ok, directory)
        }
    }

    private func examineIndex(_ store: BlockingOperations, _ findings: inout Findings) throws {
        let damage = try store.indexDamage()
        if let first = damage.first {
            findings.add(
                "index", .problem, "damaged (\(first)): the next command that writes rebuilds it; or imgcache clear")
        } else {
            findings.add("index", .ok, "no damage found")
        }
        for path in store.indexesAside {
            findings.add(
                "index", .note, "\(path) is an earlier index that could not be used; it is deleted after a week")
        }
    }

    private func examineEntries(_ store: BlockingOperations, _ findings: inout Findings) throws {
        var (entries, missing, wrong) = (0, 0, 0)
        try store.forEachEntry { entry in
            entries += 1
            var status = stat()
            if stat(entry.path, &status) != 0 {
                missing += 1
            } else if Int64(status.st_size) != entry.size {
                wrong += 1
            }
        }
        let broken = missing + wrong
        findings.add(
            "entries", broken > 0 ? .problem : .ok,
            broken == 0
                ? "\(entries), each with its file"
                : "\(entries), of which \(missing) have no file and \(wrong) one of a wrong length: imgcache verify --repair"
        )
        let strays = try store.strayBodies()
        findings.add(
            "files", strays > 0 ? .note : .ok,
            strays == 0
                ? "none that belongs to no entry"
                : "\(strays) belong to no entry, or are still being read: imgcache prune")
    }

    private func examinePartials(_ store: BlockingOperations, _ findings: inout Findings) throws {
        let partials = try store.partials()
        let bytes = partials.reduce(0) { $0 + $1.received }
        let idle = partials.filter { !$0.isInUse }
        let old = idle.filter { $0.lastUsed < Date(timeIntervalSinceNow: -24 * 3600) }
        findings.add(
            "partials", old.isEmpty ? .ok : .note,
            "\(partials.count) (\(ByteSize(bytes))), \(partials.count - idle.count) being downloaded"
                + (old.isEmpty ? "" : ", \(old.count) without a byte for a day: imgcache ls --partials"))
    }

    private func examineSpace(_ cache: DownloadCache, _ findings: inout Findings) throws {
        let statistics = try cache.blocking.statistics()
        var disk = statvfs()
        guard statvfs(cache.directory, &disk) == 0 else { return }
        let free = Int64(
            clamping: UInt64(disk.f_bavail).multipliedReportingOverflow(by: UInt64(disk.f_frsize)).partialValue)
        // As `stats` and du count it, without what is reserved for folders and the log.
        let used = statistics.bodyBytes + statistics.partialBytes + statistics.doomedBytes + statistics.indexBytes
        let room = max(0, statistics.capacity - statistics.usedBytes)
        let usage =
            "\(ByteSize(used)) of \(ByteSize(statistics.capacity)) used, \(ByteSize(free)) free on the disk"
        if free < 64 << 20 {
            findings.add("space", .problem, "\(usage): nothing can be stored; make room, or use --cache-dir elsewhere")
        } else {
            findings.add(
                "space", room > free ? .note : .ok,
                usage + (room > free ? ": the disk is full before the cache is" : ""))
        }
    }
}
