import ArgumentParser
import FoundationEssentials
import Glibc
import ImageCache
import Units

struct InfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info",
        abstract: "Show the details of a URL's entry and of its partial download, or of an image file.",
        discussion:
            "Of the path of an existing file: format, size, orientation, frames, colour space, ThumbHash, BlurHash and dominant colour."
    )

    @Argument(
        help: ArgumentHelp("The URL, or the path of an image file.", valueName: "url"), completion: Completions.urls)
    var url: String

    @OptionGroup var whose: NamespaceOptions
    @OptionGroup var store: DirectoryOptions
    @OptionGroup var format: FormatOptions

    private struct Report: Encodable {
        var url: String
        var entries: [EntryReport]
        var partial: PartialReport?
    }

    func run() throws {
        if let file = ImageFileReport.path(url) { return try ImageFileReport.show(file, asJSON: format.json) }
        try withStore(store, for: .readOnly) { cache in
            let now = Date()
            let request = whose.request(url)
            let url = request.urlWithoutUserinfo
            let info = try cache.blocking.info(for: request)
            let report = Report(
                url: url,
                entries: info.entries.map { entry in
                    var report = EntryReport(entry, now: now)
                    report.image = ImageReport(path: entry.path)
                    return report
                },
                partial: info.partial.map(PartialReport.init))
            if format.json { try Output.json(report) }
            guard !report.entries.isEmpty || report.partial != nil else {
                throw Failure(.offline, "\(url): not in the cache")
            }
            if format.json { return }
            for entry in report.entries { Self.print(entry) }
            if let partial = report.partial { Self.print(partial) }
        }
    }

    private static func print(_ entry: EntryReport) {
        var table = Table()
        table.add("url", entry.url)
        if entry.finalURL != entry.url { table.add("final url", entry.finalURL) }
        table.add("kept for", entry.namespace)
        table.add("path", entry.path)
        table.add("size", "\(ByteSize(entry.size)) (\(entry.size) bytes, \(entry.allocated) on disk)")
        table.add("status", entry.status.map { "\($0)" })
        table.add("content type", entry.contentType)
        table.add("image", entry.image?.description)
        table.add("etag", entry.etag)
        table.add("last modified", entry.lastModified)
        table.add("stored", entry.stored)
        table.add("last access", entry.lastAccess)
        table.add("freshness", entry.freshness)
        table.print()
    }

    private static func print(_ partial: PartialReport) {
        var table = Table()
        table.add("partial", partial.url)
        table.add("kept for", partial.namespace)
        table.add("received", partial.amount)
        table.add("resumed", partial.isResumable ? nil : "only with the SHA-256 of the file")
        table.add("in use", partial.isInUse ? "by a running download" : nil)
        table.add("from", partial.finalURL)
        table.add("etag", partial.etag)
        table.add("last modified", partial.lastModified)
        table.add("last used", partial.lastUsed)
        table.print()
    }
}

struct PathCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "path", abstract: "Print the path of a URL's cached file; exit code 7 if it is not in the cache."
    )

    @Argument(help: ArgumentHelp("The URL.", valueName: "url"), completion: Completions.urls)
    var url: String

    @OptionGroup var whose: NamespaceOptions
    @OptionGroup var store: DirectoryOptions
    @OptionGroup var format: FormatOptions

    func run() throws {
        try withStore(store, for: .readOnly) { cache in
            let request = whose.request(url)
            // A deleted body is a miss.
            let entries = try cache.blocking.info(for: request).entries.filter { access($0.path, F_OK) == 0 }
            // An error response that a proxy stored is not a file of the URL.
            guard let entry = entries.first(where: { $0.record?.response.status.kind == .successful }) else {
                let status = entries.first?.record.map { " (only the response \($0.response.status.code))" } ?? ""
                throw Failure(.offline, "\(request.urlWithoutUserinfo): not in the cache\(status)")
            }
            if format.json { try Output.json(["path": entry.path, "url": entry.url]) } else { Output.line(entry.path) }
        }
    }
}

struct StatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats", abstract: "Show the usage of the store. Sizes are those reported by du.")

    @OptionGroup var store: DirectoryOptions
    @OptionGroup var format: FormatOptions

    private struct Report: Encodable {
        var directory: String
        var entries: Int64
        var bodies: Int64
        /// The pinned part of ``bodies``, in bytes.
        var pinnedBytes: Int64
        var partials: Int
        var partialBytes: Int64
        var doomedBytes: Int64
        var indexBytes: Int64
        /// The current size.
        var used: Int64
        /// The current size including the maximum size of the folders and of the index's log, on which eviction is based.
        var reserved: Int64
        var capacity: Int64

        private enum CodingKeys: String, CodingKey {
            case directory, entries, bodies, partials, used, reserved, capacity
            case pinnedBytes = "pinned_bytes"
            case partialBytes = "partial_bytes"
            case doomedBytes = "doomed_bytes"
            case indexBytes = "index_bytes"
        }
    }

    func run() throws {
        try withStore(store, for: .readOnly) { cache in
            let statistics = try cache.blocking.statistics()
            let report = Report(
                directory: cache.directory, entries: statistics.entries, bodies: statistics.bodyBytes,
                pinnedBytes: statistics.pinnedBytes,
                partials: statistics.partials, partialBytes: statistics.partialBytes,
                doomedBytes: statistics.doomedBytes, indexBytes: statistics.indexBytes,
                used: statistics.presentBytes,
                reserved: statistics.usedBytes, capacity: statistics.capacity)
            if format.json { return try Output.json(report) }
            var table = Table()
            table.add("directory", report.directory)
            table.add("entries", "\(report.entries) (\(ByteSize(report.bodies)))")
            if report.pinnedBytes > 0 { table.add("pinned", "\(ByteSize(report.pinnedBytes))") }
            table.add("partials", "\(report.partials) (\(ByteSize(report.partialBytes)))")
            if report.doomedBytes > 0 { table.add("still read", "\(ByteSize(report.doomedBytes))") }
            table.add("index", "\(ByteSize(report.indexBytes))")
            let percent = ProgressLine.percent(report.used, of: max(report.capacity, 1))
            table.add("used", "\(ByteSize(report.used)) of \(ByteSize(report.capacity)) (\(percent) %)")
            table.print()
        }
    }
}

struct DirCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "dir", abstract: "Print the cache directory.")

    @OptionGroup var store: PlaceOptions
    @OptionGroup var format: FormatOptions

    func run() throws {
        let directory = store.directory
        if format.json { try Output.json(["directory": directory]) } else { Output.line(directory) }
    }
}
