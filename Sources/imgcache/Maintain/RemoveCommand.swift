import ArgumentParser
import Fleet
import FoundationEssentials
import ImageCache
import Units

struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm", abstract: "Remove URLs and their partial downloads from the cache.",
        discussion: """
            With URLs: exit code 7 if one of them is not in the cache, unless --fleet is given. With --prefix or --filter: \
            removes what matches, also of all owners, and prints how much it was.
            """)

    @Argument(help: ArgumentHelp("The URLs.", valueName: "url"), completion: Completions.urls)
    var urls: [String] = []

    @Option(
        help: ArgumentHelp(
            "Remove the entries and partial downloads of all URLs that begin with this. With --filter: those that also match.",
            valueName: "url"))
    var prefix: String?

    @Option(
        help: ArgumentHelp(
            "Remove matching entries and partial downloads: \(EntryFilter.grammar). The size of a partial is what was received, its age the time since the last byte.",
            valueName: "expression"))
    var filter: EntryFilter?

    @Flag(help: "Print what would be removed, without removing it.")
    var dryRun = false

    @Option(
        help: ArgumentHelp(
            "Invalidate the URLs, or the prefix, also for all machines that share this store, and delete their objects there.",
            valueName: "s3://bucket/prefix"))
    var fleet: String?

    @OptionGroup var whose: NamespaceOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup var format: FormatOptions

    /// The time limit for notifying the fleet.
    private static let fleetTime = Duration.seconds(20)

    private var isSelection: Bool { prefix != nil || filter != nil }

    func validate() throws {
        guard isSelection != !urls.isEmpty else {
            throw ValidationError(
                isSelection
                    ? "URLs cannot be combined with --prefix and --filter." : "Specify a URL, --prefix or --filter.")
        }
        guard prefix?.isWebURL ?? true else {
            throw ValidationError("--prefix takes the beginning of an http or https URL.")
        }
        guard !isSelection || !whose.isGiven else {
            throw ValidationError("--prefix and --filter cannot be combined with --owner, -u, -H and --netrc.")
        }
        guard let fleet else { return }
        do { _ = try S3Location(fleet) } catch { throw ValidationError("--fleet: \(error)") }
        guard filter == nil, !dryRun else {
            throw ValidationError("--fleet cannot be combined with --filter and --dry-run.")
        }
    }

    func run() async throws {
        let remote = try sharedStore()
        let use: StoreAccess = dryRun ? .readOnly : remote == nil ? .modifyExisting : .createIfNeeded
        try await withStore(store, for: use, sharing: remote) { cache in
            let missing = isSelection ? [] : try removeURLs(from: cache)
            if isSelection { try removeSelection(from: cache) }
            let untold = await cache.tellFleet(within: Self.fleetTime)
            guard untold == 0 else {
                throw Failure(.unreachable, "\(untold) invalidations have not reached the remote store")
            }
            guard remote == nil, let first = missing.first else { return }
            let rest = missing.count > 1 ? " (and \(missing.count - 1) more)" : ""
            throw Failure(.offline, "\(first)\(rest): not in the cache")
        }
    }

    /// - Returns: The URLs that are not in the cache.
    private func removeURLs(from cache: DownloadCache) throws -> [String] {
        var missing: [String] = []
        for url in urls {
            let request = whose.request(url)
            let url = request.urlWithoutUserinfo
            let removed: Int
            if dryRun {
                let info = try cache.blocking.info(for: request)
                removed = info.entries.count + (info.partial == nil ? 0 : 1)
                if removed > 0, !format.json { Output.line("would remove \(url.forTerminal)") }
            } else {
                let result = try cache.blocking.remove(request)
                removed = result.entries + result.partials
            }
            if removed == 0 { missing.append(url) }
            if format.json { try Output.json(RemovalReport(url: url, removed: removed, isDryRun: dryRun)) }
        }
        return missing
    }

    private func removeSelection(from cache: DownloadCache) throws {
        var result = RemovalResult()
        if let prefix, filter == nil, !dryRun {
            result = try cache.blocking.remove(.prefix(prefix))
        } else {
            let now = Date()
            let target = prefix.map { RemovalTarget.prefix($0) }
            let isSelected = target?.entryMatcher ?? { _ in true }
            let isSelectedURL = target?.matcher ?? { _ in true }
            var entries: [CacheEntry] = []
            try cache.blocking.forEachEntry { entry in
                if isSelected(entry), filter?.matches(entry, at: now) ?? true { entries.append(entry) }
            }
            let partials = try cache.blocking.partials().filter { partial in
                isSelectedURL(partial.url) && filter?.matches(partial, at: now) ?? true
            }
            for entry in entries {
                if dryRun, !format.json { Output.line("would remove \(entry.url.forTerminal)") }
                // An image is removed together with its original.
                result +=
                    dryRun
                    ? RemovalResult(entries: 1, bytes: entry.allocatedSize)
                    : try cache.blocking.remove(.entry(entry.id))
            }
            for partial in partials {
                if dryRun, !format.json { Output.line("would remove the partial of \(partial.url.forTerminal)") }
                if !dryRun { try cache.blocking.remove(partial) }
            }
            result.partials = partials.count
        }
        if format.json {
            return try Output.json(
                SelectionReport(
                    entries: result.entries, partials: result.partials, bytes: result.bytes, isDryRun: dryRun))
        }
        let verb = dryRun ? "would remove" : "removed"
        Output.line(
            "\(verb) \(result.entries.counted("entry", "entries")), \(ByteSize(result.bytes)), and \(result.partials.counted("partial", "partials"))"
        )
    }

    private func sharedStore() throws -> RemoteStoreConfiguration? {
        guard let fleet else { return nil }
        do {
            var configuration = try RemoteStoreConfiguration(fleet)
            configuration.invalidationInterval = nil
            return configuration
        } catch {
            throw ValidationError("--fleet: \(error)")
        }
    }

    private struct RemovalReport: Encodable {
        var url: String
        var removed: Int
        var isDryRun: Bool

        private enum CodingKeys: String, CodingKey {
            case url, removed
            case isDryRun = "dry_run"
        }
    }
}

/// The numbers of removed entries and partials. `prune` counts entries only.
struct SelectionReport: Encodable {
    var entries: Int
    var partials: Int?
    /// The space of the entries on disk.
    var bytes: Int64
    var isDryRun: Bool

    private enum CodingKeys: String, CodingKey {
        case entries, partials, bytes
        case isDryRun = "dry_run"
    }
}
