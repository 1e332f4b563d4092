import ConcurrencyPrimitives
import Digests
import DiskStore
import FoundationEssentials
import HTTPCaching
import ImageCodec
import Transfer

/// Derived images in the store shared with other machines.
extension ImagePipeline {
    /// Fulfils the jobs whose images another machine has rendered from the same original.
    ///
    /// - Returns: The jobs that remain to be rendered.
    func fromRemote(_ jobs: [RenderJob], _ file: CachedFile, _ header: MeasuredHeader) async -> [RenderJob] {
        // Other machines have hardly rendered an original that was just fetched from the origin.
        guard fetcher.tier != nil, file.source != .network, file.source != .networkResumed else { return jobs }
        let mayBeShared = jobs.map { job in
            !job.cancellation.isCancelled && mayUseRemote(job, file) && isWithinLimits(job, file, header)
        }
        guard mayBeShared.contains(true), let original = await blocking.run({ Self.sha256(of: file) }) else {
            return jobs
        }
        return await withTaskGroup(of: RenderJob?.self) { group in
            for (job, mayBeShared) in zip(jobs, mayBeShared) {
                group.addTask { [self] in
                    guard mayBeShared, let image = await remoteImage(job, file, header.header, original) else {
                        return job
                    }
                    keep(image, for: job.key)
                    job.fulfill(.success(RenderedImage(image: image, source: .remote)))
                    return nil
                }
            }
            return await group.reduce(into: []) { rest, job in if let job { rest.append(job) } }
        }
    }

    /// Uploads an image that was rendered here, in the background.
    func share(_ image: DerivedImage, _ planned: PlannedJob) {
        guard let tier = fetcher.tier, case .encoded(let bytes, let format, let width, let height) = image.content,
            mayUseRemote(planned.job, planned.file), let original = Self.sha256(of: planned.file)
        else { return }
        let response = ResponseRecord(url: planned.file.body.entry.url, response: planned.file.response)
        let record = DerivedImageRecord(
            original: 0, width: width, height: height, format: format, damage: image.damage, response: response)
        tier.share(
            (record, bytes), of: planned.file.body.entry.key, original: original,
            recipe: planned.job.recipe.text(decoder: planned.header.decoderIdentity), in: image.generation)
    }

    /// The image of a job from the tier, which is then also stored on disk.
    private func remoteImage(
        _ job: RenderJob, _ file: CachedFile, _ header: ImageHeader, _ original: [UInt8]
    ) async -> DerivedImage? {
        let recipe = job.recipe.text(decoder: header.decoderIdentity)
        guard let found = await fetcher.tier?.image(of: file.body.entry.key, original: original, recipe: recipe),
            let format = job.recipe.output.format(of: found.bytes),
            let image = derived(found.record, found.bytes, format, job, file)
        else { return nil }
        if job.request.storing != .originalOnly {
            let record = DerivedImageRecord(
                original: file.body.entry.id, width: found.record.width, height: found.record.height, format: format,
                damage: found.record.damage,
                response: ResponseRecord(url: file.body.entry.url, response: file.response))
            _ = await blocking.run { [self] in store(found.bytes, record, recipe, file, image.generation) }
        }
        return image
    }

    private func derived(
        _ record: DerivedImageRecord, _ bytes: [UInt8], _ format: ImageFormat, _ job: RenderJob, _ file: CachedFile
    ) -> DerivedImage? {
        if case .encoded(let encoder) = job.recipe.output, encoder.format != format { return nil }
        let time = fetcher.now()
        return DerivedImage(
            .encoded(bytes, format, width: record.width, height: record.height),
            original: file.body.entry.id, generation: file.generation,
            freshUntil: file.freshUntil(time, fetcher.rules, job.request.file.freshnessOverride),
            response: DerivedImage.Response(file, rules: fetcher.rules, at: time), damage: record.damage)
    }

    // MARK: Rules

    /// True if the image of a job is shared with other machines: an encoded image of a shared original.
    private func mayUseRemote(_ job: RenderJob, _ file: CachedFile) -> Bool {
        guard job.recipe.output != .pixels, !file.body.entry.key.isOfNoVarySearch, job.request.file.policy.mayUseStored,
            let resolved = try? ResolvedRequest(job.request.file, by: fetcher.rules)
        else { return false }
        return fetcher.tier?.mayShareImages(of: file, resolved) == true
    }

    /// True if the limits of the job allow rendering it here, as another machine may have higher limits.
    private func isWithinLimits(_ job: RenderJob, _ file: CachedFile, _ header: MeasuredHeader) -> Bool {
        (try? PlannedJob(job, file, header)) != nil
    }

    /// The SHA-256 of the file's current bytes. If they were changed on disk, other machines do not use images derived from them for the
    /// original.
    private static func sha256(of file: CachedFile) -> [UInt8]? {
        try? BodyDigest.digest(.sha256, ofFile: file.body.descriptor, size: file.size)
    }
}
