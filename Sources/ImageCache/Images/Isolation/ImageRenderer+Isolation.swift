import ConcurrencyPrimitives
import ImageCodec
import Units
import WorkerProcesses

extension ImageIsolation {
    /// True if a worker renders the batch. An application's decoders, and its effects on the frames of an animation, run in its own
    /// process.
    func canRender(_ batch: RenderBatch) -> Bool {
        let first = batch.first
        guard first.header.decoderIdentity == nil, isUsed(for: first.header.format) else { return false }
        return first.animationEncoder == nil || first.job.recipe.steps.divided.own == nil
    }
}

extension ImageRenderer {
    /// The workers for a file; nil if it is decoded in this process, such as by an application's decoder.
    private func isolation(for source: ImageSource, _ decoder: ImageDecoder) throws(ImageCodecError) -> ImageIsolation?
    {
        guard let isolation, try !decoder.isRegistered(for: source), isolation.isUsed(for: source) else {
            return nil
        }
        return isolation
    }

    /// Reads the header of a file, in a worker if there is one for it. Blocks the thread.
    func header(
        of descriptor: Int32, byteCount: Int, _ decoder: ImageDecoder, _ cancellation: ImageCancellation?
    ) throws(ImageCodecError) -> MeasuredHeader {
        let source = try ImageSource(duplicating: descriptor)
        guard let isolation = try isolation(for: source, decoder) else {
            let budget = ImageBudget(limits: decoder.limits, cancellation: cancellation)
            let header = try budget.accounting { () throws(ImageCodecError) in try decoder.header(of: source) }
            return MeasuredHeader(header: header, work: WorkerUse(seconds: budget.spent))
        }
        return try isolation.header(of: descriptor, byteCount: byteCount, decoder, cancellation)
    }

    /// Decodes a file in a size, in a worker if there is one for it. Blocks the thread.
    func image(
        of descriptor: Int32, byteCount: Int, _ sizing: ImageSizing?, _ decoder: ImageDecoder,
        within budget: ImageBudget
    ) throws(ImageCodecError) -> DecodedImage {
        let source = try ImageSource(duplicating: descriptor)
        guard let isolation = try isolation(for: source, decoder) else {
            return try decoder.decode(source, to: sizing, within: budget)
        }
        return try isolation.image(of: descriptor, byteCount: byteCount, sizing, decoder)
    }

    /// Encodes a file in another size, in a worker if there is one for it. Blocks the thread.
    ///
    /// - Parameter headerWork: The time spent on reading the file's header.
    func thumbnail(
        of descriptor: Int32, byteCount: Int, _ sizing: ImageSizing, _ decoder: ImageDecoder,
        as encoder: ImageEncoder, after headerWork: WorkerUse
    ) throws(ImageCodecError) -> [UInt8] {
        let source = try ImageSource(duplicating: descriptor)
        guard let isolation = try isolation(for: source, decoder) else {
            let budget = ImageBudget(limits: decoder.limits)
            budget.charge(headerWork.seconds)
            return try encoder.encode(try decoder.decode(source, to: sizing, within: budget), within: budget)
        }
        return try isolation.thumbnail(
            of: descriptor, byteCount: byteCount, sizing, decoder, as: encoder, keepsAnimation: false,
            after: headerWork
        ).bytes
    }

    /// Decodes once and renders each job's image in a worker. Blocks the thread.
    func render(_ batch: RenderBatch, in isolation: ImageIsolation, _ keep: @escaping Keep) {
        let session = IsolatedRendering(batch, self, keep)
        do throws(ImageCodecError) {
            try session.run(in: isolation)
        } catch {
            session.fail(error)
        }
    }
}

/// Renders a batch in a worker. Used by one thread.
private final class IsolatedRendering {
    private let batch: RenderBatch
    private let renderer: ImageRenderer
    private let keep: ImageRenderer.Keep
    private let jobs: [PlannedJob]
    private let steps: [(sent: RenderSteps, own: RenderSteps?)]
    private var open: Set<Int>
    /// True until the decode is counted; false if there is none.
    private var decodes = false

    init(_ batch: RenderBatch, _ renderer: ImageRenderer, _ keep: @escaping ImageRenderer.Keep) {
        self.batch = batch
        self.renderer = renderer
        self.keep = keep
        jobs = batch.jobs
        steps = jobs.map { $0.job.recipe.steps.divided }
        open = Set(jobs.indices)
    }

    private var first: PlannedJob { batch.first }

    /// The work on the headers, in the form of an image's budget.
    private var headersWork: WorkerUse {
        WorkerUse(
            seconds: jobs.reduce(0) { $0 + $1.headerWork.seconds }, waited: jobs.map(\.headerWork.waited).max() ?? 0)
    }

    func run(in isolation: ImageIsolation) throws(ImageCodecError) {
        let (memory, decoder) = (renderer.rowMemory, first.job.request.decoder)
        renderer.counts.withLock { $0.resizes += jobs.count { $0.job.request.sizing != nil } }
        let key = first.animationEncoder == nil ? RowMemory.Key(first, most: memory.mostBytes) : nil
        let rows = key.flatMap { memory.rows(for: $0)?.shared }
        let collects = rows == nil && key.map { memory.isRepeated($0) } ?? false
        decodes = rows == nil
        defer { noteDecode(0) }
        let file = first.file
        var rendering = ImageWorkRequest.Rendering()
        rendering.source = rows == nil ? .file(byteCount: Int(file.size)) : .rows(first.target.scale)
        // A profile is needed if no file is decoded, or if its name is requested.
        let needsAll = rows != nil || steps.contains { $0.sent.output == .description }
        rendering.header = needsAll ? first.header : first.header.bare
        rendering.collectsRows = collects
        rendering.animationEncoder = first.animationEncoder
        rendering.jobs = zip(jobs, steps).map {
            ImageWorkRequest.Job(
                sizing: $0.job.request.sizing, steps: $1.sent, spent: $0.headerWork.seconds)
        }
        let descriptor =
            rows.map { OpenDescriptor(owning: $0.duplicate()) } ?? OpenDescriptor(reading: file.body.descriptor)
        guard let descriptor, descriptor.number >= 0 else { throw .tooManyDescriptors }
        try isolation.run(
            ImageWorkRequest(decoder: decoder, work: .render(rendering)), descriptor,
            // Each image is also limited by its own budget.
            limit: decoder.limits.seconds * Double(jobs.count), after: headersWork,
            file: (file.body.descriptor, Int(file.size)), isCancelled: { batch.cancellation.isCancelled }
        ) { answer, message in
            switch answer {
            case .image(let index, let result):
                guard jobs.indices.contains(index), isPossible(result, index) else { return nil }
                if open.remove(index) != nil { finish(index, result) }
                return false
            case .rows:
                if let key, let descriptor = message.descriptors.first,
                    let rows = DecodedRows(first.header, first.target.scale, adopting: descriptor.number)
                {
                    memory.keep(rows, for: key)
                }
                return false
            case .end: return open.isEmpty ? true : nil
            case .failure(let error):
                fail(error)
                return true
            case .header, .frame: return nil
            }
        }
    }

    /// False for a form that was not requested.
    private func isPossible(_ result: Result<RenderedContent, ImageCodecError>, _ index: Int) -> Bool {
        guard case .success(let rendered) = result else { return true }
        return steps[index].sent.output.allows(rendered.content, animationEncoder: first.animationEncoder)
    }

    /// Counts the decode once.
    private func noteDecode(_ seconds: Double) {
        guard decodes else { return }
        decodes = false
        renderer.counts.withLock { counts in
            counts.decodes += 1
            counts.times.decode.note(.seconds(seconds))
        }
    }

    /// Fails the jobs without an image.
    func fail(_ error: ImageCodecError) {
        for index in open { jobs[index].job.fulfill(.failure(ImageCacheError(error, jobs[index].file))) }
        open = []
    }

    private func finish(_ index: Int, _ result: Result<RenderedContent, ImageCodecError>) {
        let planned = jobs[index]
        let budget = ImageBudget(
            limits: planned.job.request.decoder.limits, cancellation: planned.job.cancellation)
        do throws(ImageCodecError) {
            var rendered = try result.get()
            noteDecode(rendered.decodeTime)
            budget.charge(rendered.decodeTime + rendered.processTime + (rendered.encodeTime ?? 0))
            if let own = steps[index].own, case .pixels(let image) = rendered.content {
                let rest = try own.run(on: image, of: planned.header, within: budget)
                (rendered.content, rendered.encodeTime) = (rest.content, rest.encodeTime)
                rendered.processTime += rest.processTime
            }
            renderer.note(rendered, of: planned.job)
            let image = renderer.derived(rendered.content, planned, damage: rendered.damage)
            if planned.file.isStored { keep(image, planned, budget) }
            planned.job.fulfill(.success(.init(image: image, source: .original(planned.file.source))))
        } catch {
            planned.job.fulfill(.failure(ImageCacheError(error, planned.file)))
        }
    }
}
