import Digests
import DiskStore
import ImageCache
import RemoteStore

/// A stored response as an object in the remote store: a prefix with its head, then the body.
///
/// The head is in the object's content rather than in its metadata (<doc:HeadInTheObject>).
struct RemoteObject: Sendable {
    var record: ResponseRecord
    /// The body; empty if it is stored in parts.
    let body: [UInt8]
    /// The parts of the body; nil if the body is in this object.
    let parts: PartList?

    private static let formatVersion: UInt8 = 3
    /// The version with a list of parts instead of the body.
    private static let listVersion: UInt8 = 4
    /// The size limit of a head in bytes.
    static let maxHeadSize = 1 << 20

    /// - Parameter head: The encoded record (``ResponseRecord/encoded``).
    static func encode(head: [UInt8], body: [UInt8], key: EntryKey) -> [UInt8] {
        prefix(formatVersion, head, key) + head + body
    }

    /// Encodes an object with a list of parts instead of the body (<doc:PartsOfLargeBodies>).
    static func encode(head: [UInt8], parts: PartList, key: EntryKey) -> [UInt8] {
        prefix(listVersion, head, key) + head + parts.encoded
    }

    private static func prefix(_ version: UInt8, _ head: [UInt8], _ key: EntryKey) -> [UInt8] {
        var writer = FieldWriter()
        writer.write(version)
        for byte in ShortSHA256.digest(of: key.value.utf8) { writer.write(byte) }
        writer.write(length: head.count)
        return writer.bytes
    }

    /// Returns `nil` for invalid bytes, or for the object of another key.
    init?(decoding bytes: [UInt8], key: EntryKey) {
        var reader = FieldReader(bytes)
        guard let version = reader.readByte(), [Self.formatVersion, Self.listVersion].contains(version) else {
            return nil
        }
        for byte in ShortSHA256.digest(of: key.value.utf8) where reader.readByte() != byte { return nil }
        guard let head = reader.readBytes(), head.count <= Self.maxHeadSize,
            let record = ResponseRecord(decoding: Array(head))
        else { return nil }
        self.record = record
        guard version == Self.listVersion else {
            (body, parts) = (reader.rest, nil)
            return
        }
        guard let parts = PartList(decoding: reader.rest) else { return nil }
        (body, self.parts) = ([], parts)
    }
}

extension EntryKey {
    /// The key in the remote store: a digest, so that listings do not reveal URLs.
    var remoteKey: String { ObjectClass.responses.key(of: ShortSHA256.digest(of: value.utf8)) }
}
