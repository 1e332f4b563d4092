public import FoundationEssentials
public import ImageCodec

/// Where an image or thumbnail came from.
public enum ImageSourceKind: Sendable, Hashable {
    /// The memory cache.
    case memory
    /// Made before, and kept on disk.
    case thumbnail
    /// Made now, from the original that came from there.
    case original(CachedFile.Source)
}

/// A decoded image. While somebody holds this value, it is found again even after the memory cache has purged it.
public struct CachedImage: Sendable {
    public let source: ImageSourceKind
    let made: MadeImage
    public let image: DecodedImage

    init?(_ made: MadeImage, _ source: ImageSourceKind) {
        guard case .pixels(let image) = made.content else { return nil }
        self.made = made
        self.source = source
        self.image = image
    }
}

/// The bytes of an image file in the size and format that was asked for.
public struct Thumbnail: Sendable {
    public let bytes: [UInt8]
    public let format: ImageFormat
    /// In pixels.
    public let width: Int
    public let height: Int
    public let source: ImageSourceKind
    /// Until when the original it was made of is fresh (RFC 9111 section 4.2): a `Cache-Control` can be derived from it.
    public let freshUntil: Date
    let made: MadeImage

    init?(_ made: MadeImage, _ source: ImageSourceKind) {
        guard case .encoded(let bytes, let format, let width, let height) = made.content else { return nil }
        self.bytes = bytes
        self.format = format
        self.width = width
        self.height = height
        self.source = source
        freshUntil = made.freshUntil
        self.made = made
    }
}

/// What was made of an original, as the memory cache holds it.
final class MadeImage: Sendable {
    enum Content: Sendable {
        case pixels(DecodedImage)
        case encoded([UInt8], ImageFormat, width: Int, height: Int)
    }

    let content: Content
    /// The store's number of the original it was made of: another representation has another one.
    let original: Int64
    /// Until when the original is fresh. Afterwards it must be asked for before this is used.
    let freshUntil: Date

    init(_ content: Content, original: Int64, freshUntil: Date) {
        self.content = content
        self.original = original
        self.freshUntil = freshUntil
    }

    /// What it counts as in memory, in bytes: width × height × 4 for pixels, its length for a file.
    var cost: Int {
        switch content {
        case .pixels(let image): image.cost
        case .encoded(let bytes, _, _, _): bytes.count
        }
    }

    func fresh(until date: Date) -> MadeImage { MadeImage(content, original: original, freshUntil: date) }
}
