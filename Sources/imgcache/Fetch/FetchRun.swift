import ConcurrencyPrimitives
import DownloadLists
import Glibc
import ImageCache
import Units

/// Runs `imgcache fetch`: fetches several URLs concurrently. The first failure determines the exit code.
struct FetchRun: Sendable {
    let options: FetchCommand

    func run() async -> ExitStatus {
        let interruption = Interruption()
        let inputs: WorkQueue<FetchInput>
        let session: FetchSession
        let destination: OutputDestination
        do {
            inputs = try FetchInputs.queue(options)
            let downloads = inputs.elements.compactMap { input in
                if case .download(let download) = input { download } else { nil }
            }
            destination = try OutputDestination(options.output, options.dataSet, for: downloads)
            try RunRecord.check(options.dataSet, beside: options.output.directory ?? options.dataSet.tree)
            session = try FetchSession(
                options: options.fetching, options.dataSet, inputs, options.batch, destination: destination,
                delta: options.delta, coalescer: DigestCoalescer(isOn: options.dataSet.dedupe))
        } catch {
            Output.error("\(error)")
            return ExitStatus(error)
        }
        let display = progressDisplay(inputs)
        let reporter = Reporter<FetchResult>(
            options.result, printsLines: !destination.isStandardOutput && !isListForTheEye(destination),
            display: display)
        interruption.onSignal {
            inputs.stop()
            session.cancelAll()
        }
        let pins = session.resumePins()
        defer { pins?.cancel() }
        let sizes = isSeveral && display?.isWatched == true ? display.map { SizeProbe(session.probe, $0) } : nil
        sizes?.start(inputs)
        let record = RunRecord()
        let tries = DeferredRetries(isOn: triesAgain)
        var status = await reporter.run(
            inputs, width: options.batch.width(), on: session.executor, interruption,
            { input, place in
                var result = await session.fetch(input, id: place, display: display)
                if let first = tries.first(at: place) {
                    result.add(first)
                } else if !interruption.isSignalled, tries.postpone(result, at: place) {
                    inputs.postpone(place)
                    display?.postpone(place)
                    return nil
                }
                display?.finish(place, size: result.size, received: result.bytesTransferred)
                record.add(result, at: place)
                if result.exitStatus != .done, !options.dataSet.keepGoing { inputs.stop() }
                return result
            },
            rest: {
                let rest = tries.rest
                for (result, place) in rest { record.add(result, at: place) }
                return rest
            })
        sizes?.stop()
        display?.stop()
        // Only where lines were shown: a script, and a short run, need no summary.
        if display?.hasDrawn == true, status != .interrupted {
            Output.error(record.report(of: inputs.count.count, status).summary)
        }
        if let missing = session.missingPath() {
            Output.error(missing.message)
            if status == .done { status = missing.status }
        }
        if status == .interrupted { Self.reportKeptBytes(reporter.ending, requested: inputs.count.count) }
        do { try record.write(options.dataSet, inputs.elements, status) } catch {
            Output.error("\(error)")
            if status == .done { status = ExitStatus(error) }
        }
        interruption.isReported()
        await session.close()
        return status
    }

    /// True if failed files of a set are retried once at the end.
    private var triesAgain: Bool {
        isSeveral && options.dataSet.keepGoing && options.fetching.request.retry != 0
    }

    /// True if paths would scroll past the progress of many files, of which the user knows the folder.
    private func isListForTheEye(_ destination: OutputDestination) -> Bool {
        guard case .folder = destination else { return false }
        return isSeveral && Output.isTerminal(STDOUT_FILENO) && !options.fetching.messages.quiet
    }

    private var isSeveral: Bool { options.batch.inputFile != nil || options.urls.count > 1 }

    private func progressDisplay(_ inputs: WorkQueue<FetchInput>) -> ProgressDisplay? {
        guard let style = progressStyle else { return nil }
        let display = ProgressDisplay(isSeveral: isSeveral, style) { inputs.count }
        for (place, input) in inputs.elements.enumerated() {
            if case .download(let download) = input, let size = download.size { display.expect(place, size: size) }
        }
        return display
    }

    /// Lines that are redrawn on a terminal that can do that. Otherwise, and with `-v`, single lines at longer intervals.
    private var progressStyle: ProgressDisplay.Style? {
        let messages = options.fetching.messages
        if options.progress.jsonProgress { return .reported }
        if messages.quiet { return nil }
        let term = getenv("TERM").map { String(cString: $0) }
        if Output.isTerminal(STDERR_FILENO), Output.movesCursor(term: term), !messages.verbose { return .redrawn }
        // With -v, the exchange reports its retries itself.
        return .printed(retries: !isSeveral && !messages.verbose)
    }

    private static func reportKeptBytes(_ ending: (interrupted: [FetchResult], reported: Int), requested: Int) {
        let bytes = ending.interrupted.reduce(0) { $0 + $1.kept }
        let total = ending.interrupted.count == 1 ? ending.interrupted.first?.total : nil
        let amount = total.map { "\(ByteSize(bytes)) of \(ByteSize($0))" } ?? "\(ByteSize(bytes))"
        let rest = requested > ending.reported ? "; \(requested - ending.reported) not started" : ""
        Output.error("interrupted: \(amount) kept\(rest); run the same command again to continue")
    }
}
