import ArgumentParser
import ImageCache
import RecordLists

struct RecordsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Print the stored records of a list, newest first, one a line.",
        discussion: """
            Each line is the id, a tab and the record; with --json an object: {"id":…,"modified":…,"record":…}. Nothing is asked of a \
            server. Where --limit leaves records out, standard error has the cursor for --after.

            Exit code 7 when the list was never synced.
            """)

    @Argument(help: ArgumentHelp("The list's name.", valueName: "name"), completion: Completions.lists)
    var name: String

    @Option(help: ArgumentHelp("A group of lists that the list belongs to.", valueName: "name"))
    var group: String?

    @Option(help: ArgumentHelp("At most so many records (default: all).", valueName: "n"))
    var limit: Int?

    @Option(help: ArgumentHelp("The records after this cursor.", valueName: "cursor"))
    var after: String?

    @OptionGroup var whose: OwnerOptions
    @OptionGroup var store: DirectoryOptions
    @OptionGroup var format: FormatOptions

    func validate() throws {
        guard limit ?? 1 > 0 else { throw ValidationError("--limit takes a number from 1.") }
    }

    func run() async throws {
        try await withStore(store, for: .readOnly) { cache in
            let list = try cache.list(name, group: group, owner: whose.owner)
            guard try await list.status() != nil else {
                throw Failure(.offline, "there is no list \(name); imgcache sync makes it")
            }
            var left = limit ?? Int.max
            var cursor = after
            repeat {
                let page = try await list.records(sortedBy: .newest, limit: min(left, 500), after: cursor)
                for record in page.records {
                    if format.json { Output.jsonLine(record.json) } else { Output.line(line(record)) }
                }
                left -= page.records.count
                cursor = page.next
            } while cursor != nil && left > 0
            if let cursor, try await !list.records(sortedBy: .newest, limit: 1, after: cursor).records.isEmpty {
                Output.message("more: --after \(cursor)\n")
            }
        }
    }

    private func line(_ record: ListRecord) -> String {
        let body = String(decoding: record.body.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }, as: UTF8.self)
        return "\(record.id)\t\(body)".forTerminalLine
    }
}

extension String {
    /// Like ``forTerminal``, but keeps the tabs that separate columns.
    fileprivate var forTerminalLine: String {
        split(separator: "\t", omittingEmptySubsequences: false).map { String($0).forTerminal }.joined(separator: "\t")
    }
}
