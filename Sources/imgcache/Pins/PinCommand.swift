import ArgumentParser
import DownloadLists
import HTTPSemantics
import ImageCache
import Units

struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Download a named set of files, and keep it in the store until it is unpinned.",
        discussion: """
            Without URLs: goes on with the set that has the name. What is there already is not downloaded again; with --refresh the \
            server is asked whether it still holds. A set that does not fit the capacity beside the other pins is refused: before the \
            first download, where the list gives sizes (Metalink), else when a file finds no room. Only the files themselves are pinned, not what a page among them refers to.

            Prints how much of the set is there. Exit codes: as for fetch; the first file that failed decides.
            """)

    @Argument(help: ArgumentHelp("The set's name.", valueName: "name"))
    var name: String

    @Argument(help: ArgumentHelp("What to pin (http or https).", valueName: "url"))
    var urls: [String] = []

    @OptionGroup(title: "Several")
    var batch: BatchOptions

    @Option(
        help: ArgumentHelp(
            "When the server cannot be reached, also serve files of the set that have been stale for at most this long.",
            valueName: "time"))
    var maxStale: TimeSpan?

    @Option(
        help: ArgumentHelp(
            "Ask for files again that were downloaded longer ago than this: by the service as time passes, by commands when the set is resumed.",
            valueName: "time"
        ))
    var interval: TimeSpan?

    @Flag(help: "Ask the server whether the files that are there still hold.")
    var refresh = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup
    var remote: RemoteOptions

    func validate() throws {
        guard !name.isEmpty else { throw ValidationError("The set needs a name.") }
    }

    func run() async throws { Output.exit(await PinRun(options: self).run()) }
}

/// Runs `imgcache pin`.
struct PinRun: Sendable {
    let options: PinCommand

    func run() async -> ExitStatus {
        let interruption = Interruption()
        let cache: DownloadCache
        let requests: [FileRequest]?
        do {
            requests = try options.requests()
            cache = try options.remote.openCache(parallel: options.batch.parallel)
        } catch {
            Output.error("\(error)")
            return ExitStatus(error)
        }
        let task = Task { [options] () -> Result<PinSet, any Error> in
            do {
                return .success(
                    try await cache.pin(
                        requests, as: options.name, owner: options.remote.whose.owner, options: options.pinOptions,
                        refreshing: options.refresh))
            } catch { return .failure(error) }
        }
        interruption.onSignal {
            task.cancel()
            cache.cancelAll()
        }
        let status = told(await task.value, isInterrupted: interruption.isSignalled)
        interruption.isReported()
        await cache.close()
        return status
    }

    private func told(_ result: Result<PinSet, any Error>, isInterrupted: Bool) -> ExitStatus {
        switch result {
        case .success(let set):
            PinReport(set).print(json: options.json)
            for failure in set.failed { Output.error("\(failure.url): \(failure.message)") }
            guard let first = set.failed.first else { return .done }
            return first.error.map { ExitStatus($0) } ?? .serverError
        case .failure(let error):
            let again = "interrupted; run 'imgcache pin \(options.name)' to continue"
            Output.error(isInterrupted ? again : "\(error)")
            return isInterrupted ? .interrupted : ExitStatus(error)
        }
    }
}

extension PinCommand {
    /// The members; `nil` for the existing set's.
    fileprivate func requests() throws -> [FileRequest]? {
        if urls.isEmpty, batch.inputFile == nil { return nil }
        let template = try remote.template()
        var downloads = urls.map { ListedDownload($0) }
        if let file = batch.inputFile {
            let bytes = try InputList.bytes(of: file)
            do throws(ListError) { downloads += try DownloadList.downloads(in: bytes, file: file) } catch {
                throw Failure(.usage, "\(error); nothing was pinned")
            }
        }
        for download in downloads {
            guard let position = download.position else { continue }
            do throws(InvalidURL) { _ = try HTTPURL(download.url) } catch {
                throw Failure(.usage, "\(position): \(error.description); nothing was pinned")
            }
        }
        return downloads.map {
            template.getting($0, requiresDigest: false, isQuiet: remote.messages.quiet)
        }
    }

    /// The options; `nil` for the existing set's.
    fileprivate var pinOptions: PinOptions? {
        guard maxStale != nil || interval != nil else { return nil }
        return PinOptions(maxStale: maxStale?.duration, refreshInterval: interval?.duration)
    }
}
