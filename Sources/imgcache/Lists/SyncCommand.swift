import ArgumentParser
import HTTPSemantics
import ImageCache
import JSONParsing
import RecordLists
import Units

struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract:
            "Bring a list in step with a server: its ids first, then the records that are new or changed, newest first.",
        discussion: """
            The ids are a JSON array: [1, 2, …], ["a", …] or [{"id": …, "modified": …}, …], the newest first. A page is an array of \
            objects with an "id", or an object by id. Both are asked for with the request options.

            The records of new and changed ids are stored page by page; ids that are listed no longer are removed with their \
            records. After a kill or an error the same command goes on where it stopped. Ids that their page does not bring are tried \
            again, then reported, and tried again by the next run.

            Where --ids has {since}, or with --if-modified-since, the array has only new and changed ids, and those with \
            "deleted": true, which are removed. 304, 204 and an empty body mean that nothing changed.

            Prints a line for each change: record, removed or failed with the id, then finished with the counts; with --json one object a \
            line: {"type":"record|removed|failed|finished","id":…}.

            Exit codes: as for fetch; 4 also when records did not come, 5 also for a list or a page that is not what it should be.
            """)

    @Argument(help: ArgumentHelp("The list's name.", valueName: "name"), completion: Completions.lists)
    var name: String

    @Option(
        help: ArgumentHelp(
            "The array of ids. Where it has {since}, the newest modification time stands there, and the array has what changed since.",
            valueName: "url"))
    var ids: String

    @Flag(
        name: .customLong("if-modified-since"),
        help:
            "Once the array was received, ask for it with If-Modified-Since; the server then sends only what changed since. Not for servers that send all of it."
    )
    var usesIfModifiedSince = false

    @Option(help: ArgumentHelp("The records of some ids, which stand for {ids}, separated by ','.", valueName: "url"))
    var page: String

    @Option(help: ArgumentHelp("Ids in one page.", valueName: "n"))
    var pageSize = 100

    @Option(name: [.customShort("j"), .customLong("parallel")], help: ArgumentHelp("Pages at once.", valueName: "n"))
    var parallel = 4

    @Option(help: ArgumentHelp("Ask for the ids at most once in this time (default 5m).", valueName: "time"))
    var interval: TimeSpan?

    @Option(help: ArgumentHelp("A group of lists that the list belongs to.", valueName: "name"))
    var group: String?

    @Option(
        help: ArgumentHelp(
            "Download the files whose URLs stand at this place of each record, such as /image/url (RFC 6901), and pin them while the record is there; may be repeated.",
            valueName: "pointer"))
    var files: [String] = []

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup
    var remote: RemoteOptions

    func validate() throws {
        guard !name.isEmpty else { throw ValidationError("The list needs a name.") }
        guard !usesIfModifiedSince || !ids.contains("{since}") else {
            throw ValidationError("--if-modified-since does not go with {since} in --ids.")
        }
        guard page.contains("{ids}") else { throw ValidationError("--page must contain {ids}.") }
        guard (1...10_000).contains(pageSize) else {
            throw ValidationError("--page-size takes a number from 1 to 10000.")
        }
        guard (1...1000).contains(parallel) else { throw ValidationError("-j takes a number from 1 to 1000.") }
        for text in files where JSONPointer(text) == nil {
            throw ValidationError("--files takes a JSON pointer such as /image/url, not '\(text)'.")
        }
    }

    func run() async throws { Output.exit(await SyncRun(options: self).run()) }

    /// The source of the list.
    func source() throws -> JSONListSource {
        let template = try remote.template()
        var request = template
        request.url = ids
        var source = JSONListSource(ids: request) { [page] ids in
            var request = template
            let text = ids.map(PercentEncoding.encodedComponent).joined(separator: ",")
            request.url = page.split(separator: "{ids}", omittingEmptySubsequences: false).joined(separator: text)
            return request
        }
        source.usesIfModifiedSince = usesIfModifiedSince
        source.pageSize = pageSize
        source.pagesAtOnce = parallel
        if let interval { source.minimumInterval = interval.duration }
        let pointers = files.compactMap { JSONPointer($0) }
        if !pointers.isEmpty {
            let urls = JSONListSource.files(at: pointers, relativeTo: page)
            source.files = { record in
                urls(record).map { file in
                    var request = template
                    request.url = file.url
                    return request
                }
            }
        }
        return source
    }
}
