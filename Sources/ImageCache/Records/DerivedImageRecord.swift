import DiskStore
import ImageCodec

/// The metadata of a derived image in the store.
package struct DerivedImageRecord: Sendable {
    /// The entry number of the original in the store.
    var original: Int64
    /// In pixels.
    package var width: Int
    package var height: Int
    /// The format of the stored file; nil in records of earlier versions.
    var format: ImageFormat?
    /// The tolerated fault of the original.
    var damage: ImageCodecError?
    /// The original's response, which decides on freshness when the original is no longer stored.
    var response: ResponseRecord

    private static let formatVersion: UInt8 = 0x82
    /// An older version, without format and damage.
    private static let formerVersion: UInt8 = 0x81

    package var encoded: [UInt8] {
        var writer = FieldWriter()
        writer.write(Self.formatVersion)
        writer.write(original)
        writer.write(Int64(width))
        writer.write(Int64(height))
        writer.write(format?.name)
        writer.write(UInt8(damage == nil ? 0 : damage?.code == .truncated ? 2 : 1))
        if let damage {
            writer.write(damage.format?.name)
            writer.write(damage.reason)
        }
        return writer.bytes + response.encoded
    }

    /// Returns `nil` for bytes in another format.
    package init?(decoding bytes: [UInt8]) {
        var reader = FieldReader(bytes)
        guard let version = reader.readByte(), version == Self.formatVersion || version == Self.formerVersion,
            let original = reader.readInt64(),
            let width = reader.readInt64().flatMap(Int.init(exactly:)),
            let height = reader.readInt64().flatMap(Int.init(exactly:))
        else { return nil }
        if version == Self.formatVersion {
            guard let format = reader.readOptionalString(), let damage = Self.damage(&reader) else { return nil }
            self.format = format.flatMap { ImageFormat(known: $0) }
            self.damage = damage
        }
        guard let response = ResponseRecord(decoding: reader.rest) else { return nil }
        self.original = original
        self.width = width
        self.height = height
        self.response = response
    }

    init(
        original: Int64, width: Int, height: Int, format: ImageFormat?, damage: ImageCodecError?,
        response: ResponseRecord
    ) {
        self.original = original
        self.width = width
        self.height = height
        self.format = format
        self.damage = damage
        self.response = response
    }

    /// Reads the damage; `.some(nil)` if there is none, `nil` for invalid bytes.
    private static func damage(_ reader: inout FieldReader) -> ImageCodecError?? {
        guard let kind = reader.readByte(), kind <= 2 else { return nil }
        guard kind > 0 else { return .some(nil) }
        guard let format = reader.readOptionalString(), let reason = reader.readString() else { return nil }
        return ImageCodecError(
            kind == 2 ? .truncated : .corrupt, format: format.flatMap { ImageFormat(known: $0) }, reason)
    }
}

/// A derived image on disk.
struct StoredDerivedImage: Sendable {
    var entry: StoredEntry
    var record: DerivedImageRecord

    /// Returns `nil` for an entry with other metadata.
    init?(_ entry: StoredEntry) {
        guard let record = DerivedImageRecord(decoding: entry.metadata) else { return nil }
        self.entry = entry
        self.record = record
    }
}
