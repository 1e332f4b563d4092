import Digests
import DiskStore
import HTTPCaching
import HTTPSemantics
import ImageCache
import RemoteStore
import Transfer

/// The identity of a representation whose parts are shared: equal identities have equal bytes.
///
/// The digest covers everything that decides if a partial may be resumed: the entry's key, the resource that the bytes came from, its strong
/// validator, the variant and the lengths. A validator is unique to its resource only, and some servers give all variants the same one. After an
/// invalidation, other bytes may have the same validator, so parts from before and after it do not belong to one body.
struct PartIdentity: Hashable, Sendable {
    static let byteCount = 32 + RemoteEpoch.size

    /// The SHA-256 of the identity without the epoch.
    let digest: [UInt8]
    /// The epoch of the resource, or a random number if it is not known.
    let epoch: [UInt8]

    private init(digest: [UInt8], epoch: [UInt8]) {
        self.digest = digest
        self.epoch = epoch
    }

    /// - Parameter bytes: ``bytes``
    init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.init(digest: Array(bytes.prefix(32)), epoch: Array(bytes.suffix(RemoteEpoch.size)))
    }

    var bytes: [UInt8] { digest + epoch }

    /// The identity in an epoch. With `nil`, the epoch is not known, and no parts of other machines have the same identity.
    func during(_ epoch: RemoteEpoch?) -> PartIdentity {
        PartIdentity(
            digest: digest, epoch: epoch?.digest ?? (0..<RemoteEpoch.size).map { _ in .random(in: 0 ... .max) })
    }

    /// Returns true for the same representation in any epoch.
    func isSameRepresentation(_ other: PartIdentity) -> Bool { digest == other.digest }

    /// The identity before any invalidation; `nil` if parts of the response cannot be resumed, because it has no strong validator or `Vary: *`.
    init?(_ record: ResponseRecord, key: EntryKey, total: Int64, partSize: Int64, rules: CacheRules) {
        guard let validator = record.validator, let variant = rules.variantKey(of: record.response),
            let url = try? HTTPURL(record.finalURL)
        else { return nil }
        var writer = FieldWriter()
        writer.write(key.value)
        writer.write(url.origin)
        writer.write(String(url.path))
        let query = rules.signatures.unsigned(url)
        writer.write(Int64(query.map(\.count) ?? -1))
        for parameter in query ?? [] {
            writer.write(length: parameter.bytes.count)
            for byte in parameter.bytes { writer.write(byte) }
        }
        switch validator {
        case .etag(let tag):
            writer.write(UInt8(0))
            writer.write(tag)
        case .lastModified(let date):
            writer.write(UInt8(1))
            writer.write(date)
        case .digest: return nil
        }
        writer.write(variant)
        writer.write(total)
        writer.write(partSize)
        self.init(
            digest: ShortSHA256.digest(of: writer.bytes), epoch: [UInt8](repeating: 0, count: RemoteEpoch.size))
    }

    /// The key of a part in the remote store.
    func remoteKey(ofPart index: Int) -> String { partsPrefix + String(index) }

    /// The prefix of the keys of all its parts.
    var partsPrefix: String { "\(ObjectClass.parts.key(of: digest))/\(epoch.hexadecimal)/" }
}
