import DiskStore
import FoundationEssentials
import HTTPCaching
import ImageCodec
import Locking
import MemoryCache
import Transfer

/// The way of an image: memory, what was made before and is on disk, the original on disk, the network.
///
/// Equal requests share everything. Requests for several sizes of one original that come before it is decoded share its
/// download and one decode.
final class ImagePipeline: Sendable {
    let memory: MemoryCache<ImageKey, MadeImage>
    let loader: Loader
    private let monitor: MemoryPressureMonitor?
    let slots: DecodingSlots
    let decoding: BlockingExecutor
    let blocking: BlockingExecutor
    let loadFile: @Sendable (FileRequest) async throws(ImageCacheError) -> CachedFile
    private let works = Locked<[WorkKey: SharedWork<Made>]>([:])
    private let groups = Locked<[DecodingGroup.Key: DecodingGroup]>([:])
    private let counts = Locked(ImageStatistics())

    /// What requests have in common that wait for one image. What began before an invalidation is for those who asked before.
    private struct WorkKey: Hashable {
        let image: ImageKey
        let file: FlightKey
        let storing: ImageRequest.Storing
    }

    /// A made image and where it came from.
    struct Made: Sendable {
        var image: MadeImage
        var source: ImageSourceKind
    }

    init(
        loader: Loader, configuration: ImageCache.Configuration, blocking: BlockingExecutor,
        loadFile: @escaping @Sendable (FileRequest) async throws(ImageCacheError) -> CachedFile
    ) {
        self.loader = loader
        self.blocking = blocking
        self.loadFile = loadFile
        var pressure = MemoryPressureMonitor.Configuration()
        pressure.logger = configuration.logger
        let monitor = configuration.watchesMemoryPressure ? MemoryPressureMonitor(configuration: pressure) : nil
        monitor?.start()
        self.monitor = monitor
        memory = MemoryCache(
            limits: configuration.memory, held: .objects, monitor: monitor,
            clock: MemoryCacheClock(date: configuration.now, elapsed: MemoryCacheClock.system.elapsed))
        slots = DecodingSlots(width: configuration.maxDecodes, memoryLimit: configuration.decodingMemory)
        decoding = BlockingExecutor(width: max(1, configuration.maxDecodes))
    }

    deinit {
        decoding.close()
        monitor?.stop()
    }

    var statistics: ImageStatistics { counts.withLock { $0 } }
    var peakDecodingMemory: Int { slots.peakMemory }

    func made(_ request: ImageRequest, _ output: ImageRecipe.Output) async throws(ImageCacheError) -> Made {
        guard request.file.method == .get else {
            throw ImageCacheError(.invalidRequest, message: "an image comes by GET")
        }
        let key = ImageKey(request, output)
        if let image = inMemory(key, request) { return Made(image: image, source: .memory) }
        let epoch = loader.store.generation(of: key.original.url).epoch
        let shared = WorkKey(image: key, file: FlightKey(request.file, in: epoch), storing: request.storing)
        while true {
            let (work, isNew) = works.withLock { works in
                if let work = works[shared] { return (work, false) }
                let work = SharedWork<Made> { [weak self] work in
                    self?.works.withLock { if $0[shared] === work { $0[shared] = nil } }
                }
                works[shared] = work
                return (work, true)
            }
            guard let interest = work.join() else { continue }
            if isNew {
                work.start { [self] () async throws(ImageCacheError) in try await make(request, key) }
            } else {
                loader.raise(request.file)
            }
            return try await interest.value()
        }
    }

    /// What is in memory and may be used; a GET is meant.
    func inMemory(_ key: ImageKey, _ request: ImageRequest) -> MadeImage? {
        guard let image = memory.value(for: key), isUsable(image, for: request.file) else { return nil }
        return loader.store.isCurrent(image.generation) ? image : nil
    }

    /// Whether what is in memory may be used without a look at the original.
    private func isUsable(_ image: MadeImage, for request: FileRequest) -> Bool {
        switch request.policy {
        case .returnCacheDataElseLoad, .returnCacheDataDontLoad: true
        case .useProtocolCachePolicy:
            !request.fields.contains { $0.name == .cacheControl || $0.name.canonicalName == "pragma" }
                && image.freshUntil > loader.now()
        default: false
        }
    }

    // MARK: Making

    private func make(_ request: ImageRequest, _ key: ImageKey) async throws(ImageCacheError) -> Made {
        var original: CachedFile?
        switch try await storedImage(request, key.recipe) {
        case .made(let stored):
            keep(stored, for: key)
            return Made(image: stored, source: .thumbnail)
        case .outdated(let file): original = file
        case .none: break
        }
        while true {
            let results = try await share(request, key, original).value()
            // Without one, the decode had begun when this request joined: another round, the original is here by now.
            if let result = results[key.recipe] { return try result.get() }
        }
    }

    /// Joins those who wait for the same original, or begins.
    ///
    /// - Parameter original: the file, when it is here already.
    private func share(
        _ request: ImageRequest, _ key: ImageKey, _ original: CachedFile?
    ) -> DecodingGroup.Work.Interest {
        let groupKey = DecodingGroup.Key(request, loader.store.generation(of: key.original.url).epoch)
        while true {
            let (group, isNew) = groups.withLock { groups in
                if let group = groups[groupKey], group.add(key.recipe) { return (group, false) }
                let group = DecodingGroup(first: key.recipe) { [weak self] work in self?.forget(work, groupKey) }
                groups[groupKey] = group
                return (group, true)
            }
            guard let interest = group.work.join() else {
                forget(group.work, groupKey)
                continue
            }
            if !isNew { loader.raise(request.file) }
            if isNew {
                group.work.start { [self] () async throws(ImageCacheError) in
                    try await make(request, key, original, group)
                }
            }
            return interest
        }
    }

    private func forget(_ work: DecodingGroup.Work, _ key: DecodingGroup.Key) {
        groups.withLock { if $0[key]?.work === work { $0[key] = nil } }
    }

    /// Gets the original, and makes of it what the whole group wants.
    private func make(
        _ request: ImageRequest, _ key: ImageKey, _ original: CachedFile?, _ group: DecodingGroup
    ) async throws(ImageCacheError) -> DecodingGroup.Results {
        let file = if let original { original } else { try await loadFile(request.file) }
        let decoder = request.decoder
        let needed = try await blocking.run { () throws(ImageCacheError) in
            do throws(ImageCodecError) {
                let info = try ImageInfo.read(ImageSource(file), limits: decoder.limits)
                return Self.memory(for: info, group.recipes)
            } catch {
                throw ImageCacheError(error, file)
            }
        }
        return try await slots.run(
            priority: request.file.priority, client: request.file.client, memory: needed, on: decoding
        ) { [self] in
            let recipes = group.close()
            let made = ImageMaking(
                file: file, decoder: decoder, rules: loader.rules, ownLifetime: request.file.ownLifetime,
                now: loader.now(), counts: counts
            ).make(recipes)
            let results = made.mapValues { result in
                result.map { Made(image: $0, source: .original(file.source)) }
            }
            if file.isStored { keep(made, of: file, request, key) }
            return results
        }
    }

    /// Bytes that a decode takes at a time, as far as the header tells.
    static func memory(for info: ImageInfo, _ recipes: Set<ImageRecipe>) -> Int {
        let pixels = info.width * info.height
        let streams = 16 << 20
        // Several sizes are made of one decoded image; a single one row by row, where the format allows it.
        let decoded = recipes.count > 1 || recipes.contains { $0.sizing == nil } ? pixels * 4 : 0
        switch info.format {
        case .jpeg: return streams + decoded + (info.isProgressive ? pixels * 3 : 0)
        case .png: return streams + max(decoded, info.isProgressive ? pixels * 4 : 0)
        default: return streams + max(decoded, pixels * 4)
        }
    }

    // MARK: Keeping

    private func keep(_ image: MadeImage, for key: ImageKey) {
        memory.insert(image, for: key, cost: image.cost)
    }

    private func keep(
        _ made: [ImageRecipe: Result<MadeImage, ImageCacheError>], of file: CachedFile, _ request: ImageRequest,
        _ key: ImageKey
    ) {
        var isStored = false
        for (recipe, result) in made {
            guard case .success(let image) = result else { continue }
            keep(image, for: ImageKey(of: key, recipe: recipe))
            if request.storing != .originalOnly, !recipe.isOriginal { isStored = store(image, recipe, file) }
        }
        // What fails here costs room, nothing else.
        if isStored, request.storing == .processedOnly { _ = try? loader.store.remove(file.body.entry) }
    }
}

extension ImageKey {
    /// Another thing made of the same original.
    fileprivate init(of key: ImageKey, recipe: ImageRecipe) {
        self = key
        self.recipe = recipe
    }
}
