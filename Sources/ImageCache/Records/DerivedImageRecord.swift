import DiskStore
import ImageCodec

/// The metadata that the store keeps of a derived image, beside the bytes of its file.
struct DerivedImageRecord: Sendable {
    /// The store's number of the original.
    var original: Int64
    /// In pixels.
    var width: Int
    var height: Int
    /// The format of the stored file; nil in records of earlier versions.
    var format: ImageFormat?
    /// The tolerated fault of the original.
    var damage: ImageCodecError?
    /// The original's response, for its freshness when the original itself is no longer stored.
    var response: ResponseRecord

    private static let formatVersion: UInt8 = 0x82
    /// A version that records neither format nor damage.
    private static let formerVersion: UInt8 = 0x81

    var encoded: [UInt8] {
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

    /// `nil` for bytes that are something else.
    init?(decoding bytes: [UInt8]) {
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

    /// `.some(nil)`: no damage; `nil`: the bytes are something else.
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

    /// `nil` for metadata that is something else.
    init?(_ entry: StoredEntry) {
        guard let record = DerivedImageRecord(decoding: entry.metadata) else { return nil }
        self.entry = entry
        self.record = record
    }
}
