import ConcurrencyPrimitives
import ImageCodec
import Units

extension ImageRenderer {
    /// Renders all frames of an original in order. Blocks the thread.
    func renderAnimation(_ planned: PlannedJob, _ encoder: ImageEncoder, _ keep: Keep) {
        let (job, request) = (planned.job, planned.job.request)
        let budget = planned.budget
        defer { note(planned, budget) }
        do throws(ImageCodecError) {
            let rendered = try job.recipe.steps.run(
                onFramesOf: ImageSource(planned.file), request.decoder, request.sizing, encoder, within: budget)
            let image = derived(rendered.content, planned, damage: rendered.damage)
            if planned.file.isStored { keep(image, planned, budget) }
            job.fulfill(.success(.init(image: image, source: .original(planned.file.source))))
        } catch {
            job.fulfill(.failure(ImageCacheError(error, planned.file)))
        }
    }

    /// Counts the work. The time of effects is counted as encoding.
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
