import ArgumentParser
import ImageCache
import TextIdentity
import Units

struct PinsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pins", abstract: "List the sets of pins, and how much of each is there.",
        discussion: """
            With --json an object a set: {"name":…,"total":…,"present":…,"bytes":…,"failed":[{"url":…,"error":…}, …]}. The files that \
            the records of a list name are a set too, which has the list's name, and "list":true.
            """)

    @OptionGroup var whose: OwnerOptions
    @OptionGroup var store: DirectoryOptions
    @OptionGroup var format: FormatOptions

    func run() async throws {
        try await withStore(store, for: .readOnly) { cache in
            for set in try await cache.pins() where set.owner?.asBytes == whose.owner?.asBytes {
                PinReport(set).print(json: format.json)
            }
        }
    }
}

struct UnpinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin", abstract: "Remove a set of pins; its files stay until they are evicted as others are.")

    @Argument(help: ArgumentHelp("The set's name.", valueName: "name"), completion: Completions.pins)
    var name: String

    @OptionGroup var whose: OwnerOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        try await withStore(store, for: .modifyExisting) { cache in
            guard try await cache.unpin(name, owner: whose.owner) else {
                throw Failure(.offline, "there is no set of pins with the name \(name)")
            }
        }
    }
}

/// The printed state of a set of pins.
struct PinReport: Encodable {
    private struct FailedFile: Encodable {
        var url: String
        var error: String
    }

    private var name: String
    private var total: Int
    private var present: Int
    private var bytes: Int64
    private var failed: [FailedFile]
    /// True for the files of a list; otherwise absent.
    private var list: Bool?

    init(_ set: PinSet) {
        name = set.name
        total = set.total
        present = set.present
        bytes = set.bytes
        failed = set.failed.map { FailedFile(url: $0.url, error: $0.message) }
        list = set.isOfList ? true : nil
    }

    func print(json: Bool) {
        if json {
            try? Output.json(self)
        } else {
            let failures = failed.isEmpty ? "" : ", \(failed.count) failed"
            let kind = list == true ? " (files of the list)" : ""
            Output.line("\(name)\(kind): \(present) of \(total) files, \(ByteSize(bytes))\(failures)".forTerminal)
        }
    }
}
