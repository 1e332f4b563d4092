import Glibc
import ImageCache

/// Runs `imgcache fetch`: several URLs at a time, results in the order given, the first failure decides.
struct FetchRun: Sendable {
    let options: FetchCommand

    func run() async -> ExitStatus {
        let interruption = Interruption()
        let urls: [String]
        let session: FetchSession
        do {
            urls = try options.several.all(options.urls)
            session = try FetchSession(
                options: options.fetching, transfers: options.several.parallel, delivery: Delivery(options.output))
        } catch {
            Output.error("\(error)".forTerminal)
            return ExitStatus(error)
        }
        let messages = options.fetching.messages
        let showsProgress = !messages.quiet && !messages.verbose && Output.isTerminal(STDERR_FILENO)
        let display = showsProgress ? ProgressDisplay(fileCount: urls.count) : nil
        let reporter = Reporter<FetchResult>(json: options.result.json, display: display)
        interruption.onSignal { session.cache.cancelAll() }
        let status = await reporter.run(urls, width: options.several.parallel, interruption) { url, id in
            await session.fetch(url, id: id, display: display)
        }
        display?.stop()
        await session.close()
        if status == .interrupted { Self.sayWhatIsKept(reporter.ending, requested: urls.count) }
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

/// The cache of one run, and one URL's way through it.
struct FetchSession: Sendable {
    let cache: ImageCache
    private let delivery: Delivery
    private let template: FileRequest
    /// A store beside `-o FILE`, for when the cache directory cannot be written.
    private let isEphemeral: Bool

    init(options: FetchingOptions, transfers: Int, delivery: Delivery) throws {
        self.delivery = delivery
        template = try options.template(mayBeUnstorable: !delivery.needsStoredFile)
        do {
            cache = try options.openCache(transfers: transfers)
            isEphemeral = false
        } catch let error as ImageCacheError where [.store(.notWritable), .store(.full)].contains(error.code) {
            // What is stored can be handed out all the same.
            let mayRead = delivery.needsStoredFile || template.policy == .returnCacheDataDontLoad
            if error.code == .store(.notWritable), mayRead,
                let cache = try? options.openCache(transfers: transfers, readOnly: true)
            {
                self.cache = cache
                isEphemeral = false
                return
            }
            guard let directory = delivery.directoryForEphemeralStore else { throw error }
            if !options.messages.quiet { Output.warning("\(error); downloading without the cache") }
            cache = try options.openCache(transfers: transfers, in: directory)
            isEphemeral = true
        }
    }

    /// Whether bytes may leave while they arrive; with a checksum to prove they must not.
    private var streams: Bool { delivery.isStandardOutput && template.sha256 == nil }

    func fetch(_ url: String, id: Int, display: ProgressDisplay?) async -> FetchResult {
        var request = template
        request.url = url
        var result = FetchResult(url: request.urlWithoutUserinfo)
        await result.timed { result in
            let download = cache.download(request)
            let watching = display.map { display in
                Task {
                    let name = OutputName.suggested(contentDisposition: nil, url: url)
                    for await progress in download.progress { display.update(id, name: name, progress: progress) }
                }
            }
            defer {
                watching?.cancel()
                display?.finish(id)
            }
            do {
                let file: CachedFile
                if streams {
                    file = try await download.copy(toDescriptor: STDOUT_FILENO)
                } else {
                    file = try await download.file()
                    result.output = try delivery.deliver(file)
                }
                result.fill(from: file, sha256: template.sha256)
                request.trace?("* Cache-Status: \(file.cacheStatus)\n")
            } catch {
                result.kept = download.latestProgress.received
                result.total = download.latestProgress.total
                result.fail(explained(error))
            }
        }
        return result
    }

    /// What went wrong, and what can be done about it.
    private func explained(_ error: any Error) -> any Error {
        guard let error = error as? ImageCacheError else { return error }
        // Of a file of the store it would name the path.
        if delivery.isStandardOutput, let cause = error.cause as? StoreError, cause.path == nil,
            let number = cause.errno
        {
            return Output.unwritable(number)
        }
        if let cause = error.cause as? StoreError,
            cause.code == .taken || cause.errno == ENOENT && cause.path?.hasPrefix(cache.directory) == true
        {
            return Failure(.store, "\(error); run the same command again")
        }
        if error.code == .notStorable {
            return Failure(.store, "\(error); with -o FILE it is handed out all the same")
        }
        return error
    }

    func close() async {
        // A later run finds what is beside the output, but no folder in /tmp with a name of its own.
        if isEphemeral, delivery.isStandardOutput || (try? cache.statistics().partials) == 0 {
            await cache.destroy()
        } else {
            await cache.close()
        }
    }
}
