import ConcurrencyPrimitives
import DiskStore
import FoundationEssentials
import HTTPCaching
import ImageCodec
import MemoryCache
import Transfer

/// The way of an image: memory, what was made before and is on disk, the original on disk, the network.
///
/// Equal requests share everything. Requests for several sizes of one original share its download, and a decode where their pixels
/// come of the same decoded rows (``ImageRenderer``).
final class ImagePipeline: Sendable {
    let memory: MemoryCache<ImageKey, MadeImage>
    let fetcher: Fetcher
    private let monitor: MemoryPressureMonitor?
    let renderer: ImageRenderer
    var blocking: BlockingExecutor { fetcher.executor }
    private let works = SharedTaskPool<WorkKey, Void, Made>()
    private let groups = OriginalGroup.Pool()
    private let counts = Locked(ImageStatistics())

    /// What requests have in common that wait for one image. What began before an invalidation is for those who asked before.
    private struct WorkKey: Hashable, Sendable {
        let image: ImageKey
        let file: FileKey
        let storing: ImageRequest.Storing
    }

    /// A made image and where it came from.
    struct Made: Sendable {
        var image: MadeImage
        var source: ImageSourceKind
    }

    init(fetcher: Fetcher, configuration: DownloadCache.Configuration) {
        self.fetcher = fetcher
        var pressure = MemoryPressureMonitor.Configuration()
        pressure.logger = configuration.logger
        let monitor = configuration.watchesMemoryPressure ? MemoryPressureMonitor(configuration: pressure) : nil
        monitor?.start()
        self.monitor = monitor
        memory = MemoryCache(
            limits: configuration.memory, held: .objects, monitor: monitor,
            clock: MemoryCacheClock(date: configuration.now, elapsed: MemoryCacheClock.system.elapsed))
        renderer = ImageRenderer(configuration: configuration, rules: fetcher.rules, counts: counts)
    }

    deinit { monitor?.stop() }

    var statistics: ImageStatistics { counts.withLock { $0 } }
    var peakDecodingMemory: Int { renderer.slots.peakMemory }

    func made(_ request: ImageRequest, _ output: ImageRecipe.Output) async throws(ImageCacheError) -> Made {
        guard request.file.method == .get else {
            throw ImageCacheError(.invalidRequest, message: "an image comes by GET")
        }
        let key = ImageKey(request, output, by: fetcher.rules)
        if let image = inMemory(key, request) { return Made(image: image, source: .memory) }
        let epoch = fetcher.store.generation(of: key.original.url).epoch
        let shared = WorkKey(image: key, file: FileKey(request.file, in: epoch), storing: request.storing)
        let work = works.subscribe(to: shared, ()) { [self] (_) async throws(ImageCacheError) in
            try await make(request, key)
        }
        if !work.isFirst { fetcher.raise(request.file) }
        return try await work.value()
    }

    /// What is in memory and may be used; a GET is meant.
    func inMemory(_ key: ImageKey, _ request: ImageRequest) -> MadeImage? {
        guard let image = memory.value(for: key), isUsable(image, for: request.file) else { return nil }
        return fetcher.store.isCurrent(image.generation) ? image : nil
    }

    /// Whether what is in memory may be used without a look at the original.
    private func isUsable(_ image: MadeImage, for request: FileRequest) -> Bool {
        request.mayUseMemory(freshUntil: image.freshUntil, checked: image.response.checked, now: fetcher.now())
    }

    // MARK: Making

    private func make(_ request: ImageRequest, _ key: ImageKey) async throws(ImageCacheError) -> Made {
        let job = RenderJob(request, key)
        switch try await storedImage(request, key.recipe) {
        case .made(let stored):
            keep(stored, for: key)
            return Made(image: stored, source: .thumbnail)
        case .outdated(let original):
            let header = try await header(of: original, request.decoder)
            renderer.add([job], original, header, keep: keep)
            return try await job.value()
        case .none:
            return try await job.value(of: share(job))
        }
    }

    /// Joins those who wait for the same original, or loads it.
    private func share(_ job: RenderJob) -> OriginalGroup.Pool.Subscription {
        let key = OriginalGroup.Key(job.request, fetcher.store.generation(of: job.key.original.url).epoch)
        while true {
            let group = groups.subscribe(to: key, OriginalGroup()) { [self] (group) async throws(ImageCacheError) in
                await load(job.request, for: group)
            }
            if group.context.add(job) {
                if !group.isFirst { fetcher.raise(job.request.file) }
                return group
            }
            // Its original has just arrived.
            groups.withdraw(group.task)
        }
    }

    /// Gets the original, and has everything made of it that the group wants.
    private func load(_ request: ImageRequest, for group: OriginalGroup.Pool.SharedTask) async {
        do throws(ImageCacheError) {
            let file = try await fetcher.file(for: request.file)
            let header = try await header(of: file, request.decoder)
            renderer.add(close(group), file, header, keep: keep)
        } catch {
            for job in close(group) { job.fulfill(.failure(error)) }
        }
    }

    /// Takes the group's jobs out; nobody joins any more.
    private func close(_ group: OriginalGroup.Pool.SharedTask) -> [RenderJob] {
        groups.withdraw(group)
        return group.context.close()
    }

    private func header(
        of file: CachedFile, _ decoder: ImageDecoder
    ) async throws(ImageCacheError) -> ImageHeader {
        try await blocking.run { () throws(ImageCacheError) in
            do throws(ImageCodecError) {
                return try decoder.header(of: ImageSource(file))
            } catch {
                throw ImageCacheError(error, file)
            }
        }
    }

    // MARK: Keeping

    private func keep(_ image: MadeImage, for key: ImageKey) {
        memory.insert(image, for: key, cost: image.cost)
    }

    private func keep(_ image: MadeImage, _ planned: PlannedJob, _ budget: ImageBudget) {
        let (job, request) = (planned.job, planned.job.request)
        keep(image, for: job.key)
        guard request.storing != .originalOnly, !job.recipe.isOriginal else { return }
        let isStored = store(image, job.recipe, planned.file, within: budget)
        // What fails here costs room, nothing else.
        if isStored, request.storing == .processedOnly { _ = try? fetcher.store.remove(planned.file.body.entry) }
    }
}
