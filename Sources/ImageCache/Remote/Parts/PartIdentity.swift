import Digests
import DiskStore
import HTTPCaching
import HTTPSemantics
import RemoteStore
import Transfer

/// The identity of a representation whose parts are shared: equal identities have equal bytes.
///
/// A digest of the entry's key, the resource that the bytes came from, its strong validator, the variant and the lengths: all that
/// decides if a partial may be continued. A validator is unique to its resource only, and some servers give all variants the same one.
struct PartIdentity: Hashable, Sendable {
    static let byteCount = 32

    let digest: [UInt8]

    /// - Parameter digest: 32 bytes.
    init(digest: [UInt8]) { self.digest = digest }

    /// `nil` if parts of the response cannot be continued: it has no strong validator, or varies on everything.
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
        }
        writer.write(variant)
        writer.write(total)
        writer.write(partSize)
        digest = ShortSHA256.digest(of: writer.bytes)
    }

    /// The key of a part in the remote store.
    func remoteKey(ofPart index: Int) -> String { partsPrefix + String(index) }

    /// The prefix of the keys of all its parts.
    var partsPrefix: String { ObjectClass.parts.key(of: digest) + "/" }
}
