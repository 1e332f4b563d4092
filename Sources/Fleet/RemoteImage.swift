import ConcurrencyPrimitives
import Digests
import DiskStore
import ImageCache
import RemoteStore

/// A derived image as an object in the remote store.
///
/// Its key consists of the original's key, the SHA-256 of the original's bytes, and the recipe. Only a machine with the same original can
/// find the image, and a new version of the original has different images.
struct RemoteImage: Sendable {
    /// The identity of an image: its original and its recipe.
    struct Identity: Sendable, Hashable {
        private static let version = "v1"

        /// The SHA-256 of the identity.
        let digest: [UInt8]
        /// The key in the remote store.
        var remoteKey: String { ObjectClass.images.key(of: digest) }

        /// - Parameters:
        ///   - original: The SHA-256 of the original's bytes.
        ///   - recipe: ``ImageRecipe/text(decoder:)``
        init(key: EntryKey, original: [UInt8], recipe: String) {
            var writer = FieldWriter()
            writer.write(Self.version)
            writer.write(key.value)
            writer.write(original.hexadecimal)
            writer.write(recipe)
            digest = ShortSHA256.digest(of: writer.bytes)
        }
    }

    private static let formatVersion: UInt8 = 1
    static let maxHeadSize = 1 << 20

    let identity: Identity
    let record: DerivedImageRecord
    let bytes: [UInt8]

    init(_ identity: Identity, _ record: DerivedImageRecord, _ bytes: [UInt8]) {
        self.identity = identity
        self.record = record
        self.bytes = bytes
    }

    var encoded: [UInt8] {
        let head = record.encoded
        var writer = FieldWriter()
        writer.write(Self.formatVersion)
        for byte in identity.digest { writer.write(byte) }
        writer.write(length: head.count)
        return writer.bytes + head + bytes
    }

    /// Returns `nil` for invalid bytes, or for another image.
    init?(decoding object: [UInt8], _ identity: Identity) {
        var reader = FieldReader(object)
        guard reader.readByte() == Self.formatVersion else { return nil }
        for byte in identity.digest where reader.readByte() != byte { return nil }
        guard let head = reader.readBytes(), head.count <= Self.maxHeadSize,
            let record = DerivedImageRecord(decoding: Array(head)), record.width > 0, record.height > 0
        else { return nil }
        self.identity = identity
        self.record = record
        bytes = reader.rest
        guard !bytes.isEmpty else { return nil }
    }
}

extension RemoteCache {
    func mayShareImages(of file: CachedFile, _ resolved: ResolvedRequest) -> Bool {
        sharing.mayShareImages(of: file, resolved)
    }

    func image(
        of key: EntryKey, original: [UInt8], recipe: String
    ) async -> (record: DerivedImageRecord, bytes: [UInt8])? {
        let identity = RemoteImage.Identity(key: key, original: original, recipe: recipe)
        let name = identity.remoteKey
        let reading = await self.reading(name, in: reads, byteCount: { $0?.count ?? 0 }) {
            (tier) async throws(RemoteError) in
            try await tier.get(name)
        }
        var image: RemoteImage?
        switch reading {
        case .skipped: return nil
        case .failed(.damaged(let reason)): deleteDamaged(name, reason)
        case .failed, .done(nil): break
        case .done(let object?):
            image = RemoteImage(decoding: object, identity)
            if image == nil { deleteDamaged(name, "it is not the image of this key") }
        }
        let isHit = image != nil
        state.withLock { state in if isHit { state.counts.imageHits += 1 } else { state.counts.imageMisses += 1 } }
        return image.map { ($0.record, $0.bytes) }
    }

    /// Uploads a derived image after all pending changes.
    func share(
        _ image: (record: DerivedImageRecord, bytes: [UInt8]), of key: EntryKey, original: [UInt8], recipe: String,
        in generation: Generation
    ) {
        let size = Int64(image.bytes.count)
        guard size <= configuration.maxBodySize else { return }
        let identity = RemoteImage.Identity(key: key, original: original, recipe: recipe)
        let image = RemoteImage(identity, image.record, image.bytes)
        add(.init(key: identity.remoteKey, size: size, work: .image(image, generation)))
    }
}
