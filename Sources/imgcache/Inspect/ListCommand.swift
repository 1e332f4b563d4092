import ArgumentParser
import FoundationEssentials
import ImageCache
import Units

struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "ls", abstract: "List the entries of the cache.")

    enum Order: String, CaseIterable, ExpressibleByArgument {
        case age, used, size, url

        var order: EntryOrder {
            switch self {
            case .age: .created
            case .used: .age
            case .size: .size
            case .url: .url
            }
        }
    }

    @Option(help: ArgumentHelp("Only matching entries: \(EntryFilter.grammar).", valueName: "expression"))
    var filter: EntryFilter?

    @Option(help: "Oldest first (age), least recently used first (used), largest first (size), or by URL.")
    var sort = Order.url

    @Flag(
        help: """
            List the partial downloads instead: received bytes and length, time since the last byte, URL. --filter and --sort take the \
            received bytes as size, and this time as age.
            """)
    var partials = false

    @OptionGroup var store: DirectoryOptions
    @OptionGroup var format: FormatOptions

    func run() throws {
        try withStore(store, for: .readOnly) { cache in
            if partials { return try listPartials(cache.blocking.partials()) }
            let now = Date()
            try cache.blocking.forEachEntry(by: sort.order, descending: sort == .size) { entry in
                guard filter?.matches(entry, at: now) ?? true else { return }
                if format.json { return try Output.json(EntryReport(entry, now: now)) }
                let made = entry.recipe.map { "  (derived: \($0))" } ?? ""
                print(
                    "\(ByteSize(entry.size))", 9, now.timeIntervalSince(entry.storedAt), entry.url, entry.namespace,
                    made)
            }
        }
    }

    /// - Parameter partials: The partials, the longest idle first.
    private func listPartials(_ partials: [CachePartial]) throws {
        let now = Date()
        var partials = partials.filter { filter?.matches($0, at: now) ?? true }
        switch sort {
        case .age, .used: break
        case .size: partials.sort { $0.received > $1.received }
        case .url: partials.sort { $0.url < $1.url }
        }
        for partial in partials {
            let report = PartialReport(partial)
            if format.json {
                try Output.json(report)
                continue
            }
            let use = partial.isInUse ? "  (being downloaded)" : ""
            let condition = partial.hasValidator ? "" : "  (resumed only with --sha256)"
            print(
                report.amount, 32, now.timeIntervalSince(partial.lastUsed), partial.url, partial.namespace,
                use + condition)
        }
    }

    private func print(
        _ size: String, _ width: Int, _ age: Double, _ url: String, _ namespace: String?, _ notes: String
    ) {
        let age = "\(TimeSpan(seconds: max(0, age)))"
        let whose = namespace.map { "  (\($0))" } ?? ""
        Output.line(
            "\(size.rightAligned(in: width))  \(age.rightAligned(in: 12))  \((url + whose + notes).forTerminal)")
    }
}

struct FormatOptions: ParsableArguments {
    @Flag(help: "Print JSON.")
    var json = false
}
