import ConcurrencyPrimitives
import DiskStore
import FoundationEssentials
import HTTPCaching
import ImageCodec
import MemoryCache
import Synchronization
import Transfer

/// Finds or makes an image: in memory, as a derived image on disk, or from its original on disk or from the network.
///
/// Equal requests share all work. Requests for several sizes of one original share its download, and the decode if their pixels come from
/// the same decoded rows (``ImageRenderer``).
final class ImagePipeline: Sendable {
    let memory: ImageMemory
    let fetcher: Fetcher
    /// The application's decoders.
    let decoders: [any ImageDecoding]
    let renderer: ImageRenderer
    var blocking: BlockingExecutor { fetcher.executor }
    private let works = SharedTaskPool<WorkKey, ImageWork, RenderedImage>()
    private let groups = OriginalGroup.Pool()
    private let counts = Locked(ImageStatistics())
    /// The number of uses of images in memory without a look-up.
    let reuses = Atomic<Int>(0)

    /// The properties that requests must share to share work. They include the epoch, so that a request does not join work that started
    /// before an invalidation.
    struct WorkKey: Hashable, Sendable {
        let image: ImageKey
        let file: FileKey
        let storing: ImageRequest.Storing
    }

    /// A derived image and its source.
    struct RenderedImage: Sendable {
        var image: DerivedImage
        var source: ImageSourceKind
    }

    init(fetcher: Fetcher, configuration: DownloadCache.Configuration, monitor: MemoryPressureMonitor?) {
        self.fetcher = fetcher
        decoders = configuration.decoders
        memory = MemoryCache(limits: configuration.memory, weakValues: .imagesAndRows, monitor: monitor)
        renderer = ImageRenderer(
            configuration: configuration, rules: fetcher.rules, counts: counts, rowMemory: RowMemory(memory))
    }

    var statistics: ImageStatistics { counts.withLock { $0 } }
    var peakDecodingMemory: Int { renderer.slots.peakMemory }

    func image(
        for request: ImageRequest, _ output: ImageRecipe.Output
    ) async throws(ImageCacheError) -> RenderedImage {
        switch try begin(request, output) {
        case .inMemory(let image): return image
        case .running(let work): return try await work.value()
        }
    }

    /// An image in memory, or the work for it.
    enum Begun {
        case inMemory(RenderedImage)
        case running(SharedTaskPool<WorkKey, ImageWork, RenderedImage>.Subscription)
    }

    /// Returns the image in memory, or starts or joins the work for it.
    func begin(_ request: ImageRequest, _ output: ImageRecipe.Output) throws(ImageCacheError) -> Begun {
        guard request.file.isPlainGet else {
            throw ImageCacheError(.invalidRequest, message: "a request for an image must be a GET without content")
        }
        let key = ImageKey(request, output, by: fetcher.rules)
        if let image = inMemory(key, request) { return .inMemory(RenderedImage(image: image, source: .memory)) }
        let epoch = fetcher.store.generation(of: key.original.url).epoch
        let shared = WorkKey(image: key, file: FileKey(request.file, in: epoch), storing: request.storing)
        var request = request
        request.decoder.registered = decoders
        let work = works.subscribe(to: shared, ImageWork(priority: request.file.priority)) {
            [self, request] (task) async throws(ImageCacheError) in
            defer { task.context.end() }
            return try await render(request, key, task.context)
        }
        if !work.isFirst {
            work.context.raise(to: request.file.priority)
            fetcher.raise(request.file)
        }
        return .running(work)
    }

    /// The image in memory if it may be used for the request.
    func inMemory(_ key: ImageKey, _ request: ImageRequest) -> DerivedImage? {
        guard case .image(let image) = memory.value(for: .image(key)), isUsable(image, for: request.file) else {
            return nil
        }
        return fetcher.store.isCurrent(image.generation) ? image : nil
    }

    /// True if an image in memory may be used without looking up its original.
    private func isUsable(_ image: DerivedImage, for request: FileRequest) -> Bool {
        request.mayUseMemory(
            freshUntil: image.freshUntil, responseTime: image.response.responseTime, now: fetcher.now())
    }

    // MARK: Rendering

    private func render(
        _ request: ImageRequest, _ key: ImageKey, _ work: ImageWork
    ) async throws(ImageCacheError) -> RenderedImage {
        let job = RenderJob(request, key, work)
        switch try await storedImage(request, key.recipe, work) {
        case .current(let stored):
            keep(stored.image, for: key)
            return stored
        case .outdated(let original):
            let header = try await renderer.header(of: original, request, key.original, work.priority)
            renderer.add(await fromRemote([job], original, header), original, header, keep: keep)
            return try await job.value()
        case .none:
            return try await job.value(of: share(job))
        }
    }

    /// Joins the requests that wait for the same original, or loads it.
    private func share(_ job: RenderJob) -> OriginalGroup.Pool.Subscription {
        let key = OriginalGroup.Key(job.request, fetcher.store.generation(of: job.key.original.url).epoch)
        while true {
            let group = groups.subscribe(to: key, OriginalGroup()) { [self] (group) async throws(ImageCacheError) in
                await load(job, for: group)
            }
            if group.context.add(job) {
                counts.withLock { $0.waiting += 1 }
                // The original is already being downloaded.
                if let fetch = group.context.fetch { job.work.follow(fetch) }
                if !group.isFirst { fetcher.raise(job.request.file) }
                return group
            }
            // Its original has just arrived, so the group is closed.
            groups.withdraw(group.task)
        }
    }

    /// Loads the original, and starts the rendering of the group's images.
    private func load(_ first: RenderJob, for group: OriginalGroup.Pool.SharedTask) async {
        do throws(ImageCacheError) {
            let file = try await original(first.request.file) { group.context.follow($0) }
            let header = try await renderer.header(of: file, first.request, first.key.original, first.work.priority)
            renderer.add(await fromRemote(close(group), file, header), file, header, keep: keep)
        } catch {
            for job in close(group) { job.fulfill(.failure(error)) }
        }
    }

    /// The original of an image: from the store, or from memory if it cannot be stored.
    ///
    /// - Parameter follow: Called with the fetch of the original.
    func original(
        _ request: FileRequest, following follow: (Fetch) -> Void = { _ in }
    ) async throws(ImageCacheError) -> CachedFile {
        let subscription = fetcher.subscribe(to: request)
        follow(subscription.context)
        do throws(ImageCacheError) {
            return try await subscription.value().sharing(!subscription.isFirst)
        } catch {
            return try await UnstoredFetch(fetcher: fetcher).file(for: request, after: error)
        }
    }

    /// Closes the group and returns its jobs.
    private func close(_ group: OriginalGroup.Pool.SharedTask) -> [RenderJob] {
        groups.withdraw(group)
        let jobs = group.context.close()
        counts.withLock { $0.waiting -= jobs.count }
        return jobs
    }

    // MARK: Keeping

    func keep(_ image: DerivedImage, for key: ImageKey) {
        memory.insert(.image(image), for: .image(key), cost: image.cost)
    }

    private func keep(_ image: DerivedImage, _ planned: PlannedJob, _ budget: ImageBudget) {
        let (job, request) = (planned.job, planned.job.request)
        keep(image, for: job.key)
        guard request.storing != .originalOnly, !job.recipe.isOriginal else { return }
        let isStored = store(image, planned, within: budget)
        share(image, planned)
        // A failure only costs space.
        if isStored, request.storing == .processedOnly { _ = try? fetcher.store.remove(planned.file.body.entry) }
    }
}
