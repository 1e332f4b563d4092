import ImageCodec
import MemoryCache
import WorkerProcesses

/// A file whose frames are rendered, and the settings that all passes share.
struct FrameOriginal: Sendable {
    let file: CachedFile
    let header: ImageHeader
    /// The time spent on reading the header.
    let headerWork: WorkerUse
    let request: ImageRequest
    let memory: ImageMemory
    let renderer: ImageRenderer
    private let key: FrameKey
    /// The maximum number of frames that a worker renders in one request.
    let framesAtATime: Int
    /// The memory for rendering a frame, including those ahead, in bytes.
    let bytes: Int
    /// The amount of work for a frame in pixels.
    let pixels: Int

    init(
        _ file: CachedFile, _ read: MeasuredHeader, _ request: ImageRequest, _ key: ImageKey, _ pipeline: ImagePipeline
    ) throws(ImageCodecError) {
        let header = read.header.showingFrames
        try request.decoder.limits.check(framesOf: header)
        let target = try request.decoder.target(request.sizing, of: header)
        let footprint = key.recipe.footprint(of: target, mayHaveAlpha: header.mayHaveAlpha)
        (self.file, self.header, self.request) = (file, header, request)
        headerWork = read.work
        memory = pipeline.memory
        renderer = pipeline.renderer
        self.key = FrameKey(file, key)
        let frameBytes = max(1, target.width * target.height * 4)
        framesAtATime = renderer.isolation == nil ? 1 : max(1, min(Self.mostAhead, Self.mostBytesAhead / frameBytes))
        bytes = header.memory(at: target.scale) + target.memory + footprint.memory + (framesAtATime - 1) * frameBytes
        pixels = header.pixelCount + footprint.pixels
    }

    private static let mostAhead = 8
    private static let mostBytesAhead = 4 << 20

    var ticket: DecodingSlots.Ticket {
        DecodingSlots.Ticket(
            priority: request.file.priority, owner: key.original, cost: pixels, client: request.file.client)
    }

    /// A budget for all frames, to which the header is charged.
    func budget(_ cancellation: ImageCancellation) -> ImageBudget {
        let budget = ImageBudget(limits: request.decoder.limits, cancellation: cancellation)
        budget.charge(headerWork.seconds)
        return budget
    }

    /// The frame in memory. Bodies never change, so frames of this body remain valid.
    func frame(_ number: Int) -> AnimationFrame? {
        guard case .frame(let frame) = memory.value(for: .frame(key.with(number: number))) else { return nil }
        return frame.frame
    }

    func keep(_ frame: AnimationFrame, _ number: Int) {
        guard file.isStored else { return }
        memory.insert(.frame(RenderedFrame(frame)), for: .frame(key.with(number: number)), cost: frame.image.cost)
    }
}

/// The key of a frame in memory: a stored body, a recipe and a number.
struct FrameKey: MemoryCacheKey {
    let original: ResourceKey
    private let body: Int64
    private let limits: DecodingLimits
    private let recipe: ImageRecipe
    private var number = 0

    init(_ file: CachedFile, _ key: ImageKey) {
        original = key.original
        body = file.body.entry.id
        limits = key.limits
        recipe = key.recipe
    }

    func with(number: Int) -> FrameKey {
        var key = self
        key.number = number
        return key
    }
}

/// A frame in the memory cache.
final class RenderedFrame: Sendable {
    let frame: AnimationFrame

    init(_ frame: AnimationFrame) { self.frame = frame }
}

extension ImagePipeline {
    /// The file of a request whose frames are to be rendered.
    func frames(for request: ImageRequest) async throws(ImageCacheError) -> FrameOriginal {
        guard request.file.isPlainGet else {
            throw ImageCacheError(.invalidRequest, message: "a request for an image must be a GET without content")
        }
        var request = request
        request.decoder.registered = decoders
        request.decoder.frame = 0
        let file = try await original(request.file)
        let key = ImageKey(request, .pixels, by: fetcher.rules)
        let header = try await renderer.header(of: file, request, key.original, request.file.priority)
        do throws(ImageCodecError) {
            return try FrameOriginal(file, header, request, key, self)
        } catch {
            throw ImageCacheError(error, file)
        }
    }
}
