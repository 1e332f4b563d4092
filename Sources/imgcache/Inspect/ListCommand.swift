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

    @Option(
        help: ArgumentHelp(
            "Only matching entries: size, age, used with < <= = != >= >, or url with = != ~ (contains); several conditions joined by ','.",
            valueName: "expression"))
    var filter: EntryFilter?

    @Option(help: "Oldest first (age), least recently used first (used), largest first (size), or by URL.")
    var sort = Order.url

    @OptionGroup var store: DirectoryOptions
    @OptionGroup var format: FormatOptions

    func run() throws {
        try withStore(store, for: .readOnly) { cache in
            let now = Date()
            try cache.blocking.forEachEntry(by: sort.order, descending: sort == .size) { entry in
                let isWanted = filter?.matches(
                    size: entry.size, age: now.timeIntervalSince(entry.storedAt),
                    used: now.timeIntervalSince(entry.lastAccessDate), url: entry.url)
                if isWanted == false { return }
                if format.json {
                    try Output.json(EntryReport(entry, now: now))
                } else {
                    let size = "\(ByteSize(entry.size))"
                    let age = "\(TimeSpan(seconds: now.timeIntervalSince(entry.storedAt)))"
                    let made = entry.recipe.map { "  (derived: \($0))" } ?? ""
                    let whose = entry.namespace.map { "  (\($0))" } ?? ""
                    Output.line("\(padded(size, 9))  \(padded(age, 12))  \((entry.url + whose + made).forTerminal)")
                }
            }
        }
    }

    private func padded(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}

struct FormatOptions: ParsableArguments {
    @Flag(help: "Print JSON.")
    var json = false
}
