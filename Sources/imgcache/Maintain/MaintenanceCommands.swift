import ArgumentParser
import ImageCache
import Units

struct PruneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Evict entries, the least recently used first, and remove leftovers of killed runs.",
        discussion: "Without options: only removes leftovers.")

    @Option(help: ArgumentHelp("Evict entries until the store holds at most this much.", valueName: "size"))
    var to: ByteSize?

    @Option(help: ArgumentHelp("Evict entries not used for this long.", valueName: "time"))
    var olderThan: TimeSpan?

    @Flag(help: "Report the entries to be removed, without removing them.")
    var dryRun = false

    @Flag(name: .customLong("pinned"), help: "Evict what is pinned, too.")
    var includesPins = false

    @OptionGroup var store: StoreOptions
    @OptionGroup var format: FormatOptions

    func run() async throws {
        try await withStore(store, for: dryRun ? .readOnly : .removeExisting) { cache in
            let pruned = try await cache.prune(
                to: to?.bytes, olderThan: olderThan?.duration, dryRun: dryRun, includingPins: includesPins)
            if format.json {
                return try Output.json(
                    SelectionReport(entries: pruned.entries, bytes: pruned.bytes, isDryRun: dryRun))
            }
            let verb = dryRun ? "would evict" : "evicted"
            Output.line("\(verb) \(pruned.entries.counted("entry", "entries")), \(ByteSize(pruned.bytes))")
        }
    }
}

struct ClearCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Remove everything; files that are being read remain readable for their readers.")

    @Flag(help: "Remove partial downloads only.")
    var partials = false

    @Flag(name: .customLong("pinned"), help: "Remove what is pinned, too; its sets stay, and are downloaded anew.")
    var includesPins = false

    @OptionGroup(title: "Remove only what belongs to")
    var whose: NamespaceOptions

    @OptionGroup var store: StoreOptions
    @OptionGroup var format: FormatOptions

    func validate() throws {
        guard !partials || !whose.isGiven else {
            throw ValidationError("--partials cannot be combined with --owner, -u, -H and --netrc.")
        }
    }

    func run() throws {
        try withStore(store, for: .removeExisting) { cache in
            let before = try cache.blocking.statistics()
            if whose.isGiven {
                _ = try cache.blocking.removeNamespace(of: whose.request(""))
            } else {
                _ = try cache.blocking.clear(partials ? .partials : .everything, includingPins: includesPins)
            }
            let after = try cache.blocking.statistics()
            let entries = before.entries - after.entries
            let gone = before.partials - after.partials
            if format.json { return try Output.json(["entries": Int(entries), "partials": gone]) }
            Output.line("removed \(entries.counted("entry", "entries")) and \(gone.counted("partial", "partials"))")
        }
    }
}

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Check every body against its checksum; exit code 5 if one is wrong.")

    @Flag(
        help: """
            Repair damaged entries: fetch the damaged blocks of a large body, and remove other entries, so that they \
            are downloaded again.
            """)
    var repair = false

    @OptionGroup(title: "Repairs")
    var route: RouteOptions

    @OptionGroup var store: DirectoryOptions
    @OptionGroup var format: FormatOptions

    private struct Report: Encodable {
        var checked = 0
        var bytes: Int64 = 0
        /// The URLs of damaged entries, and of those among them that were repaired or removed.
        var damaged: [String] = []
        var repaired: [String] = []
        var removed: [String] = []
        /// The number of bytes that were fetched for repairs.
        var fetched: Int64 = 0
    }

    func run() async throws {
        try await withStore(store, for: repair ? .modifyExisting : .readOnly) { cache in
            var report = Report()
            var damaged: [(entry: CacheEntry, kept: Int64?)] = []
            let result = try cache.blocking.verify(repair: repair) { entry, integrity, kept in
                if !integrity.isIntact { damaged.append((entry, kept)) }
            }
            (report.checked, report.bytes) = (result.checked, result.bytes)
            for (entry, kept) in damaged {
                let outcome = repair ? await self.repair(entry, kept, in: cache, &report) : "damaged"
                report.damaged.append(entry.url)
                if !format.json { Output.line("\(outcome)  \(entry.url.forTerminal)") }
            }
            if format.json {
                try Output.json(report)
            } else {
                Output.line(
                    "checked \(report.checked.counted("entry", "entries")), \(ByteSize(report.bytes)); \(report.damaged.count) damaged"
                )
            }
            guard report.damaged.isEmpty || repair else {
                throw Failure(
                    .wrongBytes, "\(report.damaged.count) damaged; run 'imgcache verify --repair' to repair them")
            }
        }
    }

    /// Fetches the damaged blocks of an entry whose other blocks were kept.
    ///
    /// - Returns: What was done, for the user.
    private func repair(
        _ entry: CacheEntry, _ kept: Int64?, in cache: DownloadCache, _ report: inout Report
    ) async -> String {
        var outcome = "damaged, removed"
        if let kept {
            do {
                if let file = try await cache.fetchDamagedBlocks(
                    of: entry, proxy: route.proxy, caFile: route.cacert)
                {
                    report.repaired.append(entry.url)
                    report.fetched += file.bytesTransferred
                    return "repaired, \(ByteSize(file.bytesTransferred)) fetched"
                }
            } catch {
                Output.error("\(error)")
            }
            outcome += ", \(ByteSize(kept)) kept for its next download"
        }
        report.removed.append(entry.url)
        return outcome
    }
}
