import ConcurrencyPrimitives
import FoundationEssentials
import HTTPCaching
import ImageCodec

/// Decodes, resizes, processes and encodes images in turn.
///
/// Jobs of one original that need the same decoded rows share the decode and nothing else. An image does not depend on others that are or
/// were rendered.
final class ImageRenderer: Sendable {
    /// Called with each image before its waiters receive it.
    typealias Keep = @Sendable (DerivedImage, PlannedJob, ImageBudget) -> Void

    let slots: DecodingSlots
    let executor: BlockingExecutor
    let counts: Locked<ImageStatistics>
    let rules: CacheRules
    let now: @Sendable () -> Date
    let rowMemory: RowMemory
    /// Nil if images are rendered in this process.
    let isolation: ImageIsolation?
    private let memoryLimit: Int
    /// The batches that can still be joined.
    private let batches = Locked<[RenderBatch.Key: RenderBatch]>([:])

    init(
        configuration: DownloadCache.Configuration, rules: CacheRules, counts: Locked<ImageStatistics>,
        rowMemory: RowMemory
    ) {
        self.counts = counts
        self.rowMemory = rowMemory
        self.rules = rules
        now = configuration.now
        memoryLimit = configuration.decodingMemory / 4
        isolation = configuration.decoderIsolation.map {
            ImageIsolation(
                $0, decodes: configuration.maxDecodes, memory: configuration.decodingMemory,
                logger: configuration.logger)
        }
        slots = DecodingSlots(
            width: configuration.maxDecodes, widthPerClient: configuration.maxDecodesPerClient,
            memoryLimit: configuration.decodingMemory)
        executor = BlockingExecutor(width: max(1, configuration.maxDecodes))
    }

    deinit { executor.close() }

    /// Adds each job to a batch. Each image is available from ``RenderJob/value(of:)`` as soon as it is rendered.
    func add(_ jobs: [RenderJob], _ file: CachedFile, _ header: MeasuredHeader, keep: @escaping Keep) {
        var new: [(RenderBatch.Key, RenderBatch)] = []
        for job in jobs where !job.cancellation.isCancelled {
            do throws(ImageCodecError) {
                if let batch = add(try PlannedJob(job, file, header)) { new.append(batch) }
            } catch {
                job.fulfill(.failure(ImageCacheError(error, file)))
            }
        }
        // The batches start after all jobs were added.
        for (key, batch) in new { batch.start { await self.run(batch, key, keep) } }
    }

    /// - Returns: The batch if it is new.
    private func add(_ planned: PlannedJob) -> (RenderBatch.Key, RenderBatch)? {
        let key = RenderBatch.Key(planned)
        return batches.withLock { batches in
            if let batch = batches[key], batch.add(planned) { return nil }
            let batch = RenderBatch(planned, memoryLimit: memoryLimit)
            batches[key] = batch
            return (key, batch)
        }
    }

    private func run(_ batch: RenderBatch, _ key: RenderBatch.Key, _ keep: @escaping Keep) async {
        do throws(ImageCacheError) {
            let file = batch.first.job.request.file
            let ticket = DecodingSlots.Ticket(
                priority: batch.first.job.work.priority, owner: batch.first.job.key.original, cost: batch.cost,
                client: file.client)
            try await slots.run(ticket, memory: { batch.close() }, on: executor) { [self] in render(batch, keep) }
        } catch {
            _ = batch.close()
            for planned in batch.jobs { planned.job.fulfill(.failure(error)) }
        }
        batches.withLock { if $0[key] === batch { $0[key] = nil } }
    }
}
