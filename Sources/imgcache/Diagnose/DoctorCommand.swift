import ArgumentParser
import DiskStore
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
            let diagnosis = try cache.blocking.diagnose()
            examineIndex(diagnosis, &findings)
            examineEntries(diagnosis, &findings)
            try examinePartials(cache.blocking, &findings)
            try examineSpace(cache.blocking, &findings)
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

    private func examineIndex(_ diagnosis: StoreDiagnosis, _ findings: inout Findings) {
        if let first = diagnosis.indexDamage.first {
            findings.add(
                "index", .problem, "damaged (\(first)): the next command that writes rebuilds it; or imgcache clear")
        } else {
            findings.add("index", .ok, "no damage found")
        }
        for path in diagnosis.indexesAside {
            findings.add(
                "index", .note, "\(path) is an earlier index that could not be used; it is deleted after a week")
        }
    }

    private func examineEntries(_ diagnosis: StoreDiagnosis, _ findings: inout Findings) {
        let (entries, missing, wrong) = (diagnosis.entries, diagnosis.missing, diagnosis.wrongLength)
        let isWhole = missing + wrong == 0
        findings.add(
            "entries", isWhole ? .ok : .problem,
            isWhole
                ? "\(entries), each with its file"
                : "\(entries), of which \(missing) have no file and \(wrong) one of a wrong length: imgcache verify --repair"
        )
        let strays = diagnosis.strays
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

    private func examineSpace(_ store: BlockingOperations, _ findings: inout Findings) throws {
        let statistics = try store.statistics()
        let (free, capacity) = (statistics.freeSpace, statistics.capacity)
        let usage =
            "\(ByteSize(statistics.presentBytes)) of \(ByteSize(capacity)) used, \(ByteSize(free)) free on the disk"
        let isShort = max(0, capacity - statistics.usedBytes) > free
        if free < 64 << 20 {
            findings.add("space", .problem, "\(usage): nothing can be stored; make room, or use --cache-dir elsewhere")
        } else {
            findings.add(
                "space", isShort ? .note : .ok, usage + (isShort ? ": the disk is full before the cache is" : ""))
        }
    }
}
