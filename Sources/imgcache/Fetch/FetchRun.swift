import ConcurrencyPrimitives
import Glibc
import ImageCache
import Units

/// Runs `imgcache fetch`: several URLs at a time, the first failure decides.
struct FetchRun: Sendable {
    let options: FetchCommand

    func run() async -> ExitStatus {
        let interruption = Interruption()
        let urls: [String]
        let session: FetchSession
        let delivery: Delivery
        do {
            urls = try options.several.all(options.urls)
            delivery = try Delivery(options.output, for: urls)
            session = try FetchSession(
                options: options.fetching, transfers: options.several.parallel, delivery: delivery)
        } catch {
            Output.error("\(error)".forTerminal)
            return ExitStatus(error)
        }
        let messages = options.fetching.messages
        let showsProgress = !messages.quiet && !messages.verbose && Output.isTerminal(STDERR_FILENO)
        let display = showsProgress ? ProgressDisplay(fileCount: urls.count) : nil
        let reporter = Reporter<FetchResult>(
            options.result, printsLines: !delivery.isStandardOutput, display: display)
        interruption.onSignal { session.cancelAll() }
        let pins = session.resumePins()
        defer { pins.cancel() }
        var status = await reporter.run(urls, width: options.several.parallel, interruption) { url, id in
            await session.fetch(url, id: id, display: display)
        }
        display?.stop()
        if let missing = session.missingPath() {
            Output.error(missing.message.forTerminal)
            if status == .done { status = missing.status }
        }
        if status == .interrupted { Self.sayWhatIsKept(reporter.ending, requested: urls.count) }
        interruption.isReported()
        await session.close()
        return status
    }

    private static func sayWhatIsKept(_ ending: (interrupted: [FetchResult], reported: Int), requested: Int) {
        let bytes = ending.interrupted.reduce(0) { $0 + $1.kept }
        let total = ending.interrupted.count == 1 ? ending.interrupted.first?.total : nil
        let amount = total.map { "\(ByteSize(bytes)) of \(ByteSize($0))" } ?? "\(ByteSize(bytes))"
        let rest = requested > ending.reported ? "; \(requested - ending.reported) not begun" : ""
        Output.error("interrupted: \(amount) kept\(rest); run the same command again to continue")
    }
}
