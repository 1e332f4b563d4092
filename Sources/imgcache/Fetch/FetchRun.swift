import ConcurrencyPrimitives
import Glibc
import ImageCache
import Units

/// Runs `imgcache fetch`: several URLs concurrently; the first failure determines the exit code.
struct FetchRun: Sendable {
    let options: FetchCommand

    func run() async -> ExitStatus {
        let interruption = Interruption()
        let urls: [String]
        let session: FetchSession
        let destination: OutputDestination
        do {
            urls = try options.batch.all(options.urls)
            destination = try OutputDestination(options.output, for: urls)
            session = try FetchSession(
                options: options.fetching, transfers: options.batch.parallel, destination: destination)
        } catch {
            Output.error("\(error)".forTerminal)
            return ExitStatus(error)
        }
        let messages = options.fetching.messages
        let showsProgress = !messages.quiet && !messages.verbose && Output.isTerminal(STDERR_FILENO)
        let display = showsProgress ? ProgressDisplay(fileCount: urls.count) : nil
        let reporter = Reporter<FetchResult>(
            options.result, printsLines: !destination.isStandardOutput, display: display)
        interruption.onSignal { session.cancelAll() }
        var status = await reporter.run(urls, width: options.batch.parallel, interruption) { url, id in
            await session.fetch(url, id: id, display: display)
        }
        display?.stop()
        if let missing = session.missingPath() {
            Output.error(missing.message.forTerminal)
            if status == .done { status = missing.status }
        }
        if status == .interrupted { Self.reportKeptBytes(reporter.ending, requested: urls.count) }
        interruption.isReported()
        await session.close()
        return status
    }

    private static func reportKeptBytes(_ ending: (interrupted: [FetchResult], reported: Int), requested: Int) {
        let bytes = ending.interrupted.reduce(0) { $0 + $1.kept }
        let total = ending.interrupted.count == 1 ? ending.interrupted.first?.total : nil
        let amount = total.map { "\(ByteSize(bytes)) of \(ByteSize($0))" } ?? "\(ByteSize(bytes))"
        let rest = requested > ending.reported ? "; \(requested - ending.reported) not started" : ""
        Output.error("interrupted: \(amount) kept\(rest); run the same command again to continue")
    }
}
