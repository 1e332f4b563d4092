import Digests
import DiskStore

/// A stored response as one object of a remote store: a prefix with its head, then the body.
///
/// The head stands in the object, not in its metadata (<doc:HeadInTheObject>).
struct RemoteObject: Sendable {
    let record: ResponseRecord
    let body: [UInt8]

    private static let formatVersion: UInt8 = 1
    /// Bytes that a head has at most.
    static let maxHeadSize = 1 << 20

    /// - Parameter head: A record as it is stored (``ResponseRecord/encoded``).
    static func encode(head: [UInt8], body: [UInt8], key: EntryKey) -> [UInt8] {
        var writer = FieldWriter()
        writer.write(formatVersion)
        for byte in ShortSHA256.digest(of: key.value.utf8) { writer.write(byte) }
        writer.write(length: head.count)
        return writer.bytes + head + body
    }

    /// `nil` for bytes that are something else, also the object of another key.
    init?(decoding bytes: [UInt8], key: EntryKey) {
        var reader = FieldReader(bytes)
        guard reader.readByte() == Self.formatVersion else { return nil }
        for byte in ShortSHA256.digest(of: key.value.utf8) where reader.readByte() != byte { return nil }
        guard let head = reader.readBytes(), head.count <= Self.maxHeadSize,
            let record = ResponseRecord(decoding: Array(head))
        else { return nil }
        self.record = record
        body = reader.rest
    }
}

extension EntryKey {
    /// The key in a remote store: a digest, so that a listing tells no URL.
    var remoteKey: String {
        let digest = ShortSHA256.digest(of: value.utf8).hexadecimal
        return "v1/obj/\(digest.prefix(2))/\(digest)"
    }
}
