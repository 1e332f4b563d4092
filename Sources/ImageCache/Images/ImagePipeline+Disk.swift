import ConcurrencyPrimitives
import DiskStore
import FoundationEssentials
import HTTPCaching
import ImageCodec

/// What was made before and is on disk.
extension ImagePipeline {
    private struct Found: Sendable {
        var stored: MadeImage.Stored
        /// Whether any variant of the original is stored.
        var hasOriginal: Bool
    }

    enum Stored {
        case made(MadeImage)
        /// It was made of another original than the one there is now.
        case outdated(CachedFile)
    }

    /// What was made of the original before; `nil` if nothing of that is here.
    func storedImage(_ request: ImageRequest, _ recipe: ImageRecipe) async throws(ImageCacheError) -> Stored? {
        guard !recipe.isOriginal, request.storing != .originalOnly, request.file.policy.mayUseStored else { return nil }
        let resolved = try ResolvedRequest(request.file, by: fetcher.rules)
        guard let found = try await blocking.run({ [self] () throws(ImageCacheError) in try find(recipe, resolved) })
        else {
            return nil
        }
        var original = request.file
        // What was made of it knows what the origin must be asked: whether it still holds, with no byte of it downloaded.
        if !found.hasOriginal { original.goneOriginal = found.stored.record.original }
        let file = try await fetcher.file(for: original)
        let isUnchanged =
            file.body.entry.id == found.stored.record.original
            || MadeImage.Stored(file.body.entry)?.record.original == found.stored.record.original
        guard isUnchanged else { return .outdated(file) }
        let freshUntil = file.freshUntil(fetcher.now(), fetcher.rules, request.file.ownLifetime)
        let response = MadeImage.Response(file, rules: fetcher.rules, at: fetcher.now())
        let image = try await blocking.run { [self] () throws(ImageCacheError) in
            try open(found.stored, recipe, request, file.generation, freshUntil: freshUntil, response)
        }
        return image.map { .made($0) }
    }

    private func find(_ recipe: ImageRecipe, _ resolved: ResolvedRequest) throws(ImageCacheError) -> Found? {
        do throws(StoreError) {
            let text = recipe.text
            guard let entry = try fetcher.store.entry(for: resolved.key.ofMadeImages, variant: text),
                let stored = MadeImage.Stored(entry)
            else { return nil }
            return Found(stored: stored, hasOriginal: try fetcher.hasVariants(resolved))
        } catch {
            throw ImageCacheError(error)
        }
    }

    private func open(
        _ found: MadeImage.Stored, _ recipe: ImageRecipe, _ request: ImageRequest, _ generation: Generation,
        freshUntil: Date, _ response: MadeImage.Response
    ) throws(ImageCacheError) -> MadeImage? {
        let bytes: [UInt8]
        do throws(StoreError) {
            guard let body = try fetcher.store.open(found.entry), let all = try body.all() else { return nil }
            try fetcher.store.touch(found.entry)
            bytes = all
        } catch {
            throw ImageCacheError(error)
        }
        let content: MadeImage.Content
        switch recipe.output {
        case .encoded(let encoder):
            content = .encoded(
                bytes, encoder.format, width: found.record.width, height: found.record.height)
        case .likeOriginal:
            guard let format = ImageFormat.detect(bytes.prefix(ImageFormat.signatureLength)) else { return nil }
            content = .encoded(bytes, format, width: found.record.width, height: found.record.height)
        case .pixels:
            var decoder = ImageDecoder()
            decoder.limits = request.decoder.limits
            decoder.color = request.decoder.color
            decoder.keepsMetadata = request.decoder.keepsMetadata
            // What cannot be read any more is made anew.
            guard var image = try? decoder.decode(ImageSource(bytes)) else { return nil }
            image.damage = found.record.damage
            content = .pixels(image)
        }
        return MadeImage(
            content, original: found.record.original, generation: generation, freshUntil: freshUntil,
            response: response, damage: found.record.damage)
    }

    /// Stores what was made beside its original. False when it could not be: then it is made anew when it is wanted again.
    func store(
        _ image: MadeImage, _ recipe: ImageRecipe, _ file: CachedFile, within budget: ImageBudget
    ) -> Bool {
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
        // Under which of its URLs would it be looked for?
        if original.key.isOfSearch { return false }
        let response = ResponseRecord(url: original.url, response: file.response)
        let record = MadeImageRecord(
            original: original.id, width: width, height: height, format: format, damage: image.damage,
            response: response)
        let key = original.key.ofMadeImages
        do throws(StoreError) {
            let writer = try fetcher.store.beginBody(for: key)
            try writer.start(header: [], total: Int64(bytes.count))
            try writer.writeAll(bytes)
            _ = try writer.commit(
                NewEntry(
                    key: key, variant: recipe.text, url: original.url, metadata: record.encoded,
                    generation: image.generation, isDerived: true))
            return true
        } catch {
            return false
        }
    }
}

extension CachePolicy {
    /// Whether it looks at what is stored before the origin was asked.
    fileprivate var mayUseStored: Bool {
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

extension StoredBody {
    /// All bytes; `nil` when there are fewer than there should be.
    func all() throws(StoreError) -> [UInt8]? {
        var failure: StoreError?
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(size)) { buffer, count in
            do throws(StoreError) {
                count = try read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes.count == Int(size) ? bytes : nil
    }
}
