import ConcurrencyPrimitives
import FoundationEssentials
import HTTPCaching
import ImageCodec
import Units

extension ImageRenderer {
    /// Decodes once and renders each job's image. Blocks the thread.
    func render(_ batch: RenderBatch, _ keep: @escaping Keep) {
        if let isolation, isolation.canRender(batch) { return render(batch, in: isolation, keep) }
        if let encoder = batch.first.animationEncoder { return renderAnimation(batch.first, encoder, keep) }
        let jobs = batch.jobs
        let outputs = jobs.map { planned in
            DecodingOutput(planned.job.request.sizing, planned.budget)
        }
        counts.withLock { $0.resizes += jobs.count { $0.job.request.sizing != nil } }
        decode(batch, outputs)
        for (planned, output) in zip(jobs, outputs) {
            do throws(ImageCodecError) {
                let image = try image(planned, try output.take(), output.budget)
                if planned.file.isStored { keep(image, planned, output.budget) }
                planned.job.fulfill(.success(.init(image: image, source: .original(planned.file.source))))
            } catch {
                planned.job.fulfill(.failure(ImageCacheError(error, planned.file)))
            }
        }
    }

    /// Decodes the file, or takes the rows from memory.
    private func decode(_ batch: RenderBatch, _ outputs: [DecodingOutput]) {
        let (file, decoder) = (batch.first.file, batch.first.job.request.decoder)
        let key = RowMemory.Key(batch.first, most: rowMemory.mostBytes)
        if let rows = key.flatMap({ rowMemory.rows(for: $0) }) {
            return decoder.decode(rows, outputs, cancellation: batch.cancellation)
        }
        defer {
            let longest = outputs.map(\.budget.decoding).max() ?? 0
            counts.withLock { counts in
                counts.decodes += 1
                counts.times.decode.note(.seconds(longest))
            }
        }
        let collector = key.flatMap { rowMemory.isRepeated($0) ? RowCollector() : nil }
        do throws(ImageCodecError) {
            decoder.decode(
                try ImageSource(file), outputs, cancellation: batch.cancellation, collecting: collector)
        } catch {
            for planned in batch.jobs { planned.job.fulfill(.failure(ImageCacheError(error, file))) }
        }
        if let key, let rows = collector?.rows { rowMemory.keep(rows, for: key) }
    }

    /// Performs the steps after the decode.
    private func image(
        _ planned: PlannedJob, _ decoded: DecodedImage, _ budget: ImageBudget
    ) throws(ImageCodecError) -> DerivedImage {
        var rendered = try planned.job.recipe.steps.run(on: decoded, of: planned.header, within: budget)
        rendered.decodeTime = budget.decoding
        note(rendered, of: planned.job)
        return derived(rendered.content, planned, damage: rendered.damage)
    }

    /// Counts the steps after the decode, and records all for a trace.
    func note(_ rendered: RenderedContent, of job: RenderJob) {
        job.steps?.record(rendered.steps)
        counts.withLock { counts in
            counts.times.process.note(.seconds(rendered.processTime))
            guard let time = rendered.encodeTime else { return }
            counts.encodes += 1
            counts.times.encode.note(.seconds(time))
        }
    }

    /// Combines a rendered image with the properties of its original.
    func derived(_ content: DerivedImage.Content, _ planned: PlannedJob, damage: ImageCodecError?) -> DerivedImage {
        if damage != nil { counts.withLock { $0.damaged += 1 } }
        let (file, time) = (planned.file, now())
        return DerivedImage(
            content, original: file.body.entry.id, generation: file.generation,
            freshUntil: file.freshUntil(time, rules, planned.job.request.file.freshnessOverride),
            response: DerivedImage.Response(file, rules: rules, at: time), damage: damage)
    }
}

extension ImageRecipe.Output {
    /// The encoder for an image; nil if the result is pixels or a description.
    ///
    /// - Parameter original: The format of the original.
    func encoder(for image: DecodedImage, of original: ImageFormat) -> ImageEncoder? {
        switch self {
        case .pixels, .description: nil
        case .encoded(let encoder): encoder
        case .likeOriginal(let jpeg):
            switch original {
            case .jpeg: ImageEncoder(.jpeg(jpeg))
            case .png: .png()
            default: image.isOpaque ? ImageEncoder(.jpeg(jpeg)) : .png()
            }
        case .avifIfLarge(let avif, let webP):
            ImageEncoder.AVIFOptions.worthwhileAreas.contains(image.width * image.height)
                ? ImageEncoder(.avif(avif)) : ImageEncoder(.webp(webP))
        }
    }
}

extension ImageSource {
    init(_ file: CachedFile) throws(ImageCodecError) { try self.init(duplicating: file.body.descriptor) }
}

extension CachedFile {
    /// The time until which the file may be used without contacting the origin.
    ///
    /// The time is in the past for a file that must be revalidated before each use (`no-cache`, or a redirect that may change).
    func freshUntil(_ now: Date, _ rules: CacheRules, _ freshnessOverride: FreshnessOverride?) -> Date {
        guard let left = cacheStatus.timeToLive,
            !rules.freshness(of: response, at: now, freshnessOverride: freshnessOverride).mustValidate
        else { return .distantPast }
        return now.addingTimeInterval(Double(left))
    }
}

extension ImageCacheError {
    /// Wraps an error of the codec for a file.
    init(_ error: ImageCodecError, _ file: CachedFile) {
        guard error.code != .cancelled else {
            self = .cancelled
            return
        }
        self.init(
            .undecodable(error.code), url: file.finalURL, path: file.path, message: "\(error)", cause: error)
    }
}
