import Glibc
import ImageCache
import Locking

/// Runs `imgcache fetch`: several URLs at a time, results in the order given, the first failure decides.
struct FetchRun: Sendable {
    let options: FetchCommand

    func run() async -> ExitStatus {
        let interruption = Interruption()
        let urls: [String]
        let delivery: Delivery
        let session: FetchSession
        do {
            urls =
                try options.urls + (options.request.inputFile.map { InputList.urls(in: try InputList.read($0)) } ?? [])
            delivery = try Delivery(options.output)
            session = try FetchSession(options: options, delivery: delivery)
        } catch {
            return Reporter.report(failure: error, options: options)
        }
        let showsProgress = !options.messages.quiet && !options.messages.verbose && Output.isTerminal(STDERR_FILENO)
        let display = showsProgress ? ProgressDisplay(fileCount: urls.count) : nil
        let reporter = Reporter(options: options, display: display)
        interruption.onSignal { session.cache.cancelAll() }

        await withTaskGroup(of: Void.self) { group in
            var next = 0
            func startNext() {
                guard next < urls.count, !interruption.happened else { return }
                let index = next
                next += 1
                group.addTask {
                    let result = await session.fetch(urls[index], id: index, display: display)
                    reporter.add(result, at: index)
                }
            }
            for _ in 0..<options.request.parallel { startNext() }
            while await group.next() != nil { startNext() }
        }
        display?.stop()
        await session.close()
        return reporter.finish(interrupted: interruption.happened, requested: urls.count)
    }
}

/// The cache of one run, and one URL's way through it.
struct FetchSession: Sendable {
    let cache: ImageCache
    private let options: FetchCommand
    private let delivery: Delivery
    private let template: FileRequest
    /// A store beside `-o FILE`, for when the cache directory cannot be written.
    private let isEphemeral: Bool

    init(options: FetchCommand, delivery: Delivery) throws {
        self.options = options
        self.delivery = delivery
        var template = try options.request.template(
            caching: options.caching, messages: options.messages, delivery: delivery)
        template.owner = options.whose.owner
        self.template = template
        do {
            cache = try ImageCache(store: options.store, request: options.request, quiet: options.messages.quiet)
            isEphemeral = false
        } catch let error as ImageCacheError where [.store(.notWritable), .store(.full)].contains(error.code) {
            guard let directory = delivery.directoryForEphemeralStore else { throw error }
            if !options.messages.quiet { Output.warning("\(error); downloading without the cache") }
            var store = options.store
            store.cacheDir = directory
            cache = try ImageCache(store: store, request: options.request, quiet: options.messages.quiet)
            isEphemeral = true
        }
    }

    /// Whether bytes may leave while they arrive; with a checksum to prove they must not.
    private var streams: Bool { delivery.isStandardOutput && options.request.sha256 == nil }

    func fetch(_ url: String, id: Int, display: ProgressDisplay?) async -> FetchResult {
        var request = template
        request.url = url
        let clock = ContinuousClock()
        let start = clock.now
        var result = FetchResult(url: request.urlWithoutUserinfo)
        do {
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
                result.fill(from: file, sha256: options.request.sha256)
                request.trace?("* Cache-Status: \(file.cacheStatus)\n")
            } catch {
                result.kept = download.latestProgress.received
                result.total = download.latestProgress.total
                throw error
            }
        } catch {
            result.fail(error)
        }
        result.seconds = (clock.now - start).inSeconds
        return result
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
