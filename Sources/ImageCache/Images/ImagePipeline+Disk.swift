import ConcurrencyPrimitives
import DiskStore
import FoundationEssentials
import HTTPCaching
import ImageCodec

/// Derived images on disk.
extension ImagePipeline {
    private struct Found: Sendable {
        var stored: StoredDerivedImage
        /// True if any variant of the original is stored.
        var hasOriginal: Bool
    }

    enum Stored {
        /// Derived from the current original.
        case current(RenderedImage)
        /// Derived from another original than the current one.
        case outdated(CachedFile)
    }

    /// The stored image, or the current original if the image was derived from another one; `nil` if there is no stored image.
    func storedImage(
        _ request: ImageRequest, _ recipe: ImageRecipe, _ work: ImageWork
    ) async throws(ImageCacheError) -> Stored? {
        guard !recipe.isOriginal, request.storing != .originalOnly, request.file.policy.mayUseStored else { return nil }
        let resolved = try ResolvedRequest(request.file, by: fetcher.rules)
        guard let found = try await blocking.run({ [self] () throws(ImageCacheError) in try find(recipe, resolved) })
        else {
            return nil
        }
        var original = request.file
        // The record of the derived image has the validator, so that the origin can confirm the original without sending it.
        if !found.hasOriginal { original.evictedOriginalID = found.stored.record.original }
        let file = try await self.original(original) { work.follow($0) }
        guard found.stored.isDerived(from: file) else { return .outdated(file) }
        return try await open(found.stored, recipe, request, file).map { .current($0) }
    }

    /// The stored image if it may be used without contacting the origin; otherwise `nil`.
    func freshStoredImage(
        _ request: ImageRequest, _ recipe: ImageRecipe
    ) async throws(ImageCacheError) -> RenderedImage? {
        guard !recipe.isOriginal else { return nil }
        let resolved = try ResolvedRequest(request.file, by: fetcher.rules)
        let stored = try await blocking.run { [self] () throws(ImageCacheError) -> (StoredDerivedImage, CachedFile)? in
            guard let found = try find(recipe, resolved) else { return nil }
            var original = request.file
            if !found.hasOriginal { original.evictedOriginalID = found.stored.record.original }
            guard let file = try fetcher.stored(original), found.stored.isDerived(from: file) else { return nil }
            return (found.stored, file)
        }
        guard let (image, file) = stored else { return nil }
        return try await open(image, recipe, request, file)
    }

    private func find(_ recipe: ImageRecipe, _ resolved: ResolvedRequest) throws(ImageCacheError) -> Found? {
        do throws(StoreError) {
            // The decoder is not known before the original is read.
            for decoder in [nil] + decoders.map({ $0.identity as String? }) {
                let text = recipe.text(decoder: decoder)
                guard
                    let entry = try fetcher.store.entry(
                        for: EntryKey(.derivedImages(resolved.requestKey)), variant: text),
                    let stored = StoredDerivedImage(entry)
                else { continue }
                return Found(stored: stored, hasOriginal: try fetcher.hasVariants(resolved))
            }
            return nil
        } catch {
            throw ImageCacheError(error)
        }
    }

    /// - Parameter file: The current original, or the derived image that replaces it.
    private func open(
        _ found: StoredDerivedImage, _ recipe: ImageRecipe, _ request: ImageRequest, _ file: CachedFile
    ) async throws(ImageCacheError) -> RenderedImage? {
        let opened = try await blocking.run { [self] () throws(ImageCacheError) -> (StoredBody, [UInt8])? in
            do throws(StoreError) {
                guard let body = try fetcher.store.open(found.entry), let all = try body.all() else { return nil }
                try fetcher.store.touch(found.entry)
                return (body, all)
            } catch {
                throw ImageCacheError(error)
            }
        }
        guard let (stored, bytes) = opened else { return nil }
        let content: DerivedImage.Content
        switch recipe.output {
        case .encoded(let encoder):
            content = .encoded(
                bytes, encoder.format, width: found.record.width, height: found.record.height)
        case .likeOriginal, .avifIfLarge, .description:
            guard let format = recipe.output.format(of: bytes) else { return nil }
            content = .encoded(bytes, format, width: found.record.width, height: found.record.height)
        case .pixels:
            // A file that can no longer be decoded is rendered again.
            guard var image = try await pixels(of: stored, found.record, request) else { return nil }
            image.damage = found.record.damage
            content = .pixels(image)
        }
        let time = fetcher.now()
        let image = DerivedImage(
            content, original: found.record.original, generation: file.generation,
            freshUntil: file.freshUntil(time, fetcher.rules, request.file.freshnessOverride),
            response: DerivedImage.Response(file, rules: fetcher.rules, at: time), damage: found.record.damage)
        return RenderedImage(image: image, source: .thumbnail(file.source))
    }

    /// Decodes a stored image with a ticket of the request's client; `nil` if it fails.
    private func pixels(
        of stored: StoredBody, _ record: DerivedImageRecord, _ request: ImageRequest
    ) async throws(ImageCacheError) -> DecodedImage? {
        var decoder = ImageDecoder()
        decoder.limits = request.decoder.limits
        decoder.color = request.decoder.color
        decoder.keepsMetadata = request.decoder.keepsMetadata
        // The stored pixels are those of the result. Their Exif block still has the orientation if the decoder did not apply it.
        decoder.appliesOrientation = false
        let pixels = record.width * record.height
        let ticket = DecodingSlots.Ticket(
            priority: request.file.priority, owner: nil, cost: pixels, client: request.file.client)
        let slots = renderer.slots
        return try await slots.run(ticket, memory: { pixels * 8 }, on: renderer.executor) { [renderer, decoder] in
            let budget = ImageBudget(limits: decoder.limits)
            return try? renderer.image(
                of: stored.descriptor, byteCount: Int(stored.size), nil, decoder, within: budget)
        }
    }

    /// Stores an image next to its original. Returns false on failure; the image is then rendered again for the next request.
    func store(
        _ image: DerivedImage, _ planned: PlannedJob, within budget: ImageBudget
    ) -> Bool {
        let (recipe, file) = (planned.job.recipe, planned.file)
        let (width, height, format): (Int, Int, ImageFormat)
        let bytes: [UInt8]
        switch image.content {
        case .encoded(let encoded, let encodedFormat, let encodedWidth, let encodedHeight):
            (bytes, width, height, format) = (encoded, encodedWidth, encodedHeight, encodedFormat)
        case .pixels(let pixels):
            let encoder = recipe.storedEncoder
            guard let encoded = try? encoder.encode(pixels, within: budget) else { return false }
            (bytes, width, height, format) = (encoded, pixels.width, pixels.height, encoder.format)
        }
        let original = file.body.entry
        let response = ResponseRecord(url: original.url, response: file.response)
        let record = DerivedImageRecord(
            original: original.id, width: width, height: height, format: format, damage: image.damage,
            response: response)
        return store(bytes, record, recipe.text(decoder: planned.header.decoderIdentity), file, image.generation)
    }

    /// Stores the bytes of an image next to its original, under its recipe. Returns false on failure.
    func store(
        _ bytes: [UInt8], _ record: DerivedImageRecord, _ recipe: String, _ file: CachedFile, _ generation: Generation
    ) -> Bool {
        let original = file.body.entry
        // Look-ups would not know under which of the equivalent URLs it is stored.
        guard let request = original.key.request else { return false }
        let key = EntryKey(.derivedImages(request))
        do throws(StoreError) {
            let writer = try fetcher.store.beginBody(for: key)
            try writer.start(header: [], total: Int64(bytes.count))
            try writer.writeAll(bytes)
            _ = try writer.commit(
                NewEntry(
                    key: key, variant: recipe, url: original.url, metadata: record.encoded, generation: generation,
                    isDerived: true))
            return true
        } catch {
            return false
        }
    }
}

extension StoredDerivedImage {
    /// True if the image was made from the file, or from the original of the derived image in the file.
    fileprivate func isDerived(from file: CachedFile) -> Bool {
        file.body.entry.id == record.original || StoredDerivedImage(file.body.entry)?.record.original == record.original
    }
}

extension CachePolicy {
    /// True if the policy allows the use of stored responses.
    var mayUseStored: Bool {
        switch self {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: false
        default: true
        }
    }
}

extension BodyWriter {
    func writeAll(_ bytes: [UInt8]) throws(StoreError) {
        var failure: StoreError?
        bytes.withUnsafeBytes { bytes in
            do throws(StoreError) { try write(bytes) } catch { failure = error }
        }
        if let failure { throw failure }
    }
}
