import ConcurrencyPrimitives
import ImageCodec
import Units

extension ImageRenderer {
    /// Renders all frames of an original, one at a time. Blocks the thread.
    func renderAnimation(_ planned: PlannedJob, _ encoder: ImageEncoder, _ keep: Keep) {
        let (job, request) = (planned.job, planned.job.request)
        let budget = ImageBudget(limits: request.decoder.limits, cancellation: job.cancellation)
        defer { note(planned, budget) }
        do throws(ImageCodecError) {
            let reader = try request.decoder.frames(
                of: ImageSource(planned.file), to: request.sizing, within: budget)
            let file = try encoder.encode(reader, within: budget) { (frame) throws(ImageCodecError) in
                var image = frame
                for processor in job.recipe.processors { image = try processor.process(image, within: budget) }
                return image
            }
            let content = DerivedImage.Content.encoded(
                file.bytes, encoder.format, width: file.width, height: file.height)
            let image = derived(content, planned, damage: file.damage)
            if planned.file.isStored { keep(image, planned, budget) }
            job.fulfill(.success(.init(image: image, source: .original(planned.file.source))))
        } catch {
            job.fulfill(.failure(ImageCacheError(error, planned.file)))
        }
    }

    /// Counts the work. Effects are counted with the encoder.
    private func note(_ planned: PlannedJob, _ budget: ImageBudget) {
        counts.withLock { counts in
            counts.decodes += 1
            counts.encodes += 1
            if planned.job.request.sizing != nil { counts.resizes += 1 }
            counts.times.decode.note(.seconds(budget.decoding))
            counts.times.encode.note(.seconds(budget.spent - budget.decoding))
        }
    }
}
