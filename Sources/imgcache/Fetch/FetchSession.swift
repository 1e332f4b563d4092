import ConcurrencyPrimitives
import DiskStore
import DownloadLists
import Fleet
import Glibc
import HTTPSemantics
import ImageCache

/// The cache of one run, and the handling of one URL.
final class FetchSession: Sendable {
    /// `nil` if the cache is not writable and therefore bypassed.
    private let cache: DownloadCache?
    /// The cache for files that the store cannot take; nil if a path in the store is requested.
    private let fallback: FallbackCache?
    private let destination: OutputDestination
    private let template: FileRequest
    private let dataSet: DataSetOptions
    private let isQuiet: Bool
    private let delta: ZsyncOptions
    /// The inputs of the run.
    private let inputs: WorkQueue<FetchInput>
    private let ahead = LookupAhead()
    /// The reason why the cache was opened for reading only.
    private let unwritable: ImageCacheError?
    /// Serialises downloads of the run that have the same digest.
    private let coalescer: DigestCoalescer
    /// The printed paths in the store.
    private let handedOut = Locked<[(url: String, path: String)]>([])

    init(
        options: FetchingOptions, _ dataSet: DataSetOptions, _ inputs: WorkQueue<FetchInput>, _ batch: BatchOptions,
        destination: OutputDestination, delta: ZsyncOptions, coalescer: DigestCoalescer
    ) throws {
        self.inputs = inputs
        self.delta = delta
        self.destination = destination
        self.dataSet = dataSet
        self.coalescer = coalescer
        let holds = destination.needsStoredFile
        isQuiet = options.messages.quiet
        var template = try options.template(mayBeUnstorable: !holds)
        template.reusesEqualBodies = dataSet.dedupe
        self.template = template
        fallback =
            holds
            ? nil
            : FallbackCache(directory: destination.fallbackDirectory) { directory in
                try options.openCache(parallel: batch.parallel, in: directory)
            }
        do {
            // Otherwise downloads would leave no connections for the length requests until the last of them has started.
            cache = try options.openCache(parallel: batch.parallel, further: SizeProbe.width, holdingFiles: holds)
            unwritable = nil
        } catch let error as ImageCacheError
            where [.store(.notWritable), .store(.full), .store(.busy)].contains(error.code)
        {
            // Stored files can be delivered nevertheless.
            let mayRead = holds || template.policy == .returnCacheDataDontLoad
            if error.code != .store(.full), mayRead,
                let readable = try? options.openCache(parallel: batch.parallel, readOnly: true)
            {
                cache = readable
                unwritable = error
                return
            }
            guard let fallback else { throw error }
            if !isQuiet { Output.warning("\(error); downloading without the cache") }
            cache = nil
            unwritable = nil
            _ = try fallback.opened()
        }
    }

    /// Returns true if bytes may be written while they arrive. They may not if a checksum must be verified first.
    private func streams(_ request: FileRequest) -> Bool {
        destination.isStandardOutput && request.expectedDigest == nil
    }

    /// The length of a download's file, from the store or by HEAD, or `nil` if it is unknown.
    @Sendable func probe(_ download: ListedDownload) async -> Int64? {
        guard let cache else { return nil }
        var request = template
        request.url = download.url
        if let info = try? cache.blocking.info(for: request), let size = info.knownSize { return size }
        guard request.policy != .returnCacheDataDontLoad else { return nil }
        request.method = .head
        request.sha256 = nil
        request.priority = .background
        request.transfer.retry.maxRetries = 0
        let head = try? await cache.response(for: request).head
        return head.flatMap { ContentLength.value(of: $0.headerFields) }
    }

    /// The threads on which the cache works.
    var executor: BlockingExecutor? { cache?.executor }

    private func request(for download: ListedDownload) -> FileRequest {
        var request = template.getting(download, requiresDigest: dataSet.requireDigest, isQuiet: isQuiet)
        if dataSet.adopt { request.adoptedFile = destination.path(of: download) }
        return request
    }

    /// The outcome of the look-up of an input, if several are looked up at a time.
    private func lookUp(_ place: Int) -> BatchLookup {
        let count = inputs.count.count
        guard let cache, count > 1 else { return BatchLookup() }
        return ahead.take(place, of: count) { range in
            var requests: [FileRequest] = []
            var places: [Int] = []
            for (place, input) in zip(range, inputs[range]) {
                guard case .download(let download) = input else { continue }
                requests.append(request(for: download))
                places.append(place - range.lowerBound)
            }
            var outcomes = [BatchLookup](repeating: BatchLookup(), count: range.count)
            for (place, outcome) in zip(places, cache.blocking.lookUp(requests)) { outcomes[place] = outcome }
            return outcomes
        }
    }

    /// Resumes pins that a killed run has left, until this run ends, with this run's options of transfers. Without the network, nothing is resumed.
    func resumePins() -> Task<Void, Never>? {
        guard template.policy != .returnCacheDataDontLoad else { return nil }
        return Task { _ = try? await cache?.resumePins(transfer: template.transfer) }
    }

    func cancelAll() {
        cache?.cancelAll()
        cache?.dropUploads()
        fallback?.cancelAll()
    }

    func fetch(_ input: FetchInput, id: Int, display: ProgressDisplay?) async -> FetchResult {
        guard case .download(let download) = input else {
            var result = FetchResult(url: input.name)
            if case .invalid(let error) = input { result.fail(Failure(.usage, "\(error)")) }
            return result
        }
        let request = request(for: download)
        var result = FetchResult(url: request.urlWithoutUserinfo)
        await result.timed { result in
            do {
                if dataSet.adopt, request.expectedDigest?.algorithm.isCollisionResistant != true {
                    throw Failure(.usage, "--adopt needs a SHA-2 of the file, by --sha256 or a list")
                }
                try await coalescer.run(request.expectedDigest) {
                    try await fetch(request, download, into: &result, id: id, display)
                }
            } catch {
                result.fail(error, told: explained(error))
                if result.exitStatus != .interrupted, let position = download.position {
                    result.error = result.error.map { "\(position): \($0)" }
                }
            }
        }
        return result
    }

    /// Fetches and delivers the file. If several mirrors together sent wrong bytes, it is fetched once more from the start.
    private func fetch(
        _ request: FileRequest, _ download: ListedDownload, into result: inout FetchResult, id: Int,
        _ display: ProgressDisplay?
    ) async throws {
        do {
            try await fetchOnce(request, download, into: &result, id: id, display)
        } catch let error as ImageCacheError
            where error.code == .wrongBytes && !request.mirrors.isEmpty && result.resumedFrom > 0
        {
            try await fetchOnce(request, download, into: &result, id: id, display)
        } catch let error as ImageCacheError
            where error.code == .wrongBytes && delta.isAutomatic && request.expectedDigest == nil
        {
            // The control file may describe another version.
            try await fetchOnce(request, download, usesDelta: false, into: &result, id: id, display)
        }
    }

    private func fetchOnce(
        _ request: FileRequest, _ download: ListedDownload, usesDelta: Bool = true, into result: inout FetchResult,
        id: Int, _ display: ProgressDisplay?
    ) async throws {
        let present = destination.present(at: download) { former(of: request) }
        var request = request
        let outcome = lookUp(id)
        if let file = outcome.file {
            return try deliver(file, of: request, download, present, &result, isFallback: false)
        }
        request.lookedUp = outcome.lookedUp
        if download.pieces != nil || usesDelta && delta.zsync != nil {
            let files = [former(of: request)?.path, destination.path(of: download)].compactMap { $0 }
            request.seed = SeededPieces(for: request, in: files)
            if let cache, usesDelta, delta.zsync != nil {
                try await delta.prepare(&request, from: cache, template: template, besides: files)
            }
            // The look-up belongs to the request without a seed.
            if request.seed != nil { request.lookedUp = nil }
        }
        if let cache, try fallbackHoldingPartial(request, cache) == nil {
            let file: CachedFile?
            do {
                file = try await load(request, download, present, from: cache, into: &result, id: id, display)
            } catch let error as ImageCacheError where fallback != nil && Self.isOfStoreAlone(error) {
                // Bytes written to standard output cannot be taken back.
                if streams(request), result.kept > 0 { throw error }
                if !isQuiet { Output.warning("not cached: \(error)") }
                file = nil
            }
            if let file {
                return try deliver(file, of: request, download, present, &result, isFallback: false)
            }
        }
        guard let fallback else { return }
        let cache = try fallback.opened()
        let file = try await load(
            request, download, present, from: cache, isFallback: true, into: &result, id: id, display)
        try deliver(file, of: request, download, present, &result, isFallback: true)
        _ = try? cache.blocking.remove(request)
    }

    /// The stored body for a request, regardless of its age.
    private func former(of request: FileRequest) -> CachedFile? {
        var request = request
        request.policy = .returnCacheDataDontLoad
        request.sha256 = nil
        request.integrity = .init()
        request.mirrors = []
        return (try? cache?.blocking.storedFile(for: request)) ?? nil
    }

    /// The fallback cache, if an earlier run has started the request there and the store has no response.
    private func fallbackHoldingPartial(_ request: FileRequest, _ cache: DownloadCache) throws -> DownloadCache? {
        guard let begun = fallback?.begun(request), (try? cache.blocking.storedFile(for: request)) ?? nil == nil else {
            return nil
        }
        return begun
    }

    /// Returns true if the store has no space for a body, or cannot be changed now, as opposed to the output or a limit of the request.
    private static func isOfStoreAlone(_ error: ImageCacheError) -> Bool {
        guard error.code.storeReason != nil, let cause = error.cause as? StoreError else { return false }
        return [.tooLarge, .held, .full, .busy].contains(cause.code)
    }

    /// Loads the file. If ``streams(_:)`` is true, the body is written to standard output while it arrives.
    ///
    /// - Throws: Also the errors of ``OutputDestination`` when the head arrives.
    private func load(
        _ request: FileRequest, _ listed: ListedDownload, _ present: PresentFile?, from cache: DownloadCache,
        isFallback: Bool = false, into result: inout FetchResult, id: Int, _ display: ProgressDisplay?
    ) async throws -> CachedFile {
        let download = cache.download(request)
        display?.begin(id, name: OutputName.suggested(contentDisposition: nil, url: request.url)) {
            [weak download] in download?.latestProgress
        }
        let destination = destination
        let objection = Locked<(any Error)?>(nil)
        // Only this wait is cancelled, because others may wait for the same download.
        let wait = destination.checksHeads ? Task { try await download.file } : nil
        let followed = display.flatMap { $0.printsRetries ? $0 : nil }
        let watching =
            wait != nil || followed != nil
            ? Task {
                var isChecked = wait == nil
                for await progress in download.progress {
                    followed?.update(id, progress)
                    guard !isChecked, progress.hasResponse else { continue }
                    isChecked = true
                    do {
                        try destination.check(listed, progress, from: cache, moving: isFallback, present)
                    } catch {
                        objection.withLock { $0 = error }
                        wait?.cancel()
                    }
                }
            } : nil
        defer { watching?.cancel() }
        do {
            if let wait {
                return try await withTaskCancellationHandler {
                    try await wait.value
                } onCancel: {
                    wait.cancel()
                }
            }
            guard streams(request) else { return try await download.file }
            BlockingSection.enter()
            defer { BlockingSection.leave() }
            return try await download.copy(toDescriptor: STDOUT_FILENO)
        } catch {
            result.kept = download.latestProgress.received
            result.total = download.latestProgress.total
            result.resumedFrom = download.latestProgress.resumedFrom
            throw objection.withLock { $0 } ?? error
        }
    }

    /// Delivers the file, and records the result.
    ///
    /// - Parameter isFallback: True if the file comes from a fallback cache.
    private func deliver(
        _ file: CachedFile, of request: FileRequest, _ download: ListedDownload, _ present: PresentFile?,
        _ result: inout FetchResult, isFallback: Bool
    ) throws {
        let mayBlock = destination.mayBlock
        if mayBlock { BlockingSection.enter() }
        defer { if mayBlock { BlockingSection.leave() } }
        if !streams(request) {
            result.output = try destination.deliver(file, of: download, moving: isFallback, replacing: present)
        }
        result.fill(from: file, sha256: download.sha256 ?? template.sha256)
        // If the file's digest matches, its age is irrelevant.
        if file.source == .stale, request.policy == .returnCacheDataElseLoad, download.digest != nil {
            result.source = "verified"
        }
        if file.isDeduplicated { result.source = "shared" }
        if destination.needsStoredFile {
            result.path = file.path
            handedOut.withLock { $0.append((result.url, file.path)) }
        }
        request.trace?("* Cache-Status: \(file.cacheStatus)\n")
    }

    /// The error with advice for the user.
    private func explained(_ error: any Error) -> any Error {
        guard let error = error as? ImageCacheError else { return error }
        let cause = error.cause as? StoreError
        // For a file in the store, the message contains the path.
        if destination.isStandardOutput, let number = error.outputError { return Output.unwritable(number) }
        guard let advice = advice(for: error, cause) else { return error }
        return Failure(ExitStatus(error), "\(error); \(advice)", kind: ErrorKind.word(for: error))
    }

    private func advice(for error: ImageCacheError, _ cause: StoreError?) -> String? {
        let again = "run the same command again"
        let moreCapacity = "increase it with --capacity SIZE, or write the files elsewhere with -d DIR"
        switch cause?.code {
        case .taken: return again
        case .held, .tooLarge: return moreCapacity
        case .notWritable: if let unwritable { return "\(unwritable)" }
        case .full where cause?.isAtCapacity == true: return moreCapacity
        default: break
        }
        if let cache, cause?.errno == ENOENT, cause?.path?.hasPrefix(cache.directory) == true { return again }
        if error.code == .invalidRequest, let url = error.url?.withLikelyScheme { return "did you mean \(url)?" }
        return error.code == .notStorable ? "use -o FILE to download it without storing it" : nil
    }

    /// A failure if a delivered file no longer exists: the directory was deleted, or its index was lost.
    func missingPath() -> Failure? {
        let missing = handedOut.withLock { $0.filter { access($0.path, F_OK) != 0 } }
        guard let first = missing.first else { return nil }
        let rest = missing.count > 1 ? " (and \(missing.count - 1) more)" : ""
        return Failure(
            .store, "\(first.url)\(rest): \(first.path) was deleted while this ran; run the same command again")
    }

    func close() async {
        await cache?.close()
        await fallback?.close()
    }
}

extension CacheInfo {
    /// The length of the file, if it is known from a stored body or a partial.
    fileprivate var knownSize: Int64? { entries.first?.size ?? partial?.total }
}

extension String {
    /// The URL that a text without a scheme probably means; `nil` for any other text.
    fileprivate var withLikelyScheme: String? {
        guard !contains("://"), let host = split(whereSeparator: { "/:?".contains($0) }).first, !contains(" ") else {
            return nil
        }
        let isLocal = host == "localhost" || host.allSatisfy { $0.isNumber || $0 == "." }
        guard isLocal || host.contains(".") else { return nil }
        return (isLocal ? "http://" : "https://") + self
    }
}
