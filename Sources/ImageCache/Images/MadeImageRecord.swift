import DiskStore
import ImageCodec

/// What the store remembers of an image that was made of an original, beside the bytes of its file.
struct MadeImageRecord: Sendable {
    /// The store's number of the original it was made of.
    var original: Int64
    /// In pixels.
    var width: Int
    var height: Int
    /// The original's response: what is known of its freshness when the original itself is gone.
    var response: ResponseRecord

    private static let formatVersion: UInt8 = 0x81
    private static let fixedSize = 25

    var encoded: [UInt8] {
        var writer = FieldWriter()
        writer.write(Self.formatVersion)
        writer.write(original)
        writer.write(Int64(width))
        writer.write(Int64(height))
        return writer.bytes + response.encoded
    }

    /// `nil` for bytes that are something else.
    init?(decoding bytes: [UInt8]) {
        var reader = FieldReader(bytes)
        guard reader.readByte() == Self.formatVersion, let original = reader.readInt64(),
            let width = reader.readInt64().flatMap(Int.init(exactly:)),
            let height = reader.readInt64().flatMap(Int.init(exactly:)), bytes.count > Self.fixedSize,
            let response = ResponseRecord(decoding: Array(bytes[Self.fixedSize...]))
        else { return nil }
        self.original = original
        self.width = width
        self.height = height
        self.response = response
    }

    init(original: Int64, width: Int, height: Int, response: ResponseRecord) {
        self.original = original
        self.width = width
        self.height = height
        self.response = response
    }
}

extension MadeImage {
    /// One on disk.
    struct Stored: Sendable {
        var entry: StoredEntry
        var record: MadeImageRecord

        /// `nil` for metadata that is something else.
        init?(_ entry: StoredEntry) {
            guard let record = MadeImageRecord(decoding: entry.metadata) else { return nil }
            self.entry = entry
            self.record = record
        }
    }
}

extension EntryKey {
    private static let madePrefix = "IMAGES-OF-"

    /// Under which everything stands that was made of this key's original: one variant for each recipe.
    var ofMadeImages: EntryKey { EntryKey(Self.madePrefix + value) }

    /// Whether what stands under the key was made of an original.
    var isOfMadeImages: Bool { value.hasPrefix(Self.madePrefix) }
}
