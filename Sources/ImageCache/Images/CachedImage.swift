import CXXHash
import Digests
import DiskStore
public import FoundationEssentials
public import HTTPCaching
public import HTTPSemantics
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

    /// Why what is stored of the original was not used as it is; `nil` when it was, or when the request forbade it.
    public var unusedReason: UnusedReason? { made.unusedReason(source) }

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
    /// Made of the bytes: strong (RFC 9110 section 8.8.1), the same for the same bytes on every machine.
    public let entityTag: EntityTag
    /// What the original's response says of its freshness: `Cache-Control` comes of it.
    public let freshness: DerivedFreshness
    /// The original's `Last-Modified`, as its origin wrote it.
    public let lastModified: String?
    /// The fault of the original that was passed over (``DecodedImage/damage``): damaged data in a JPEG, or with
    /// ``ImageDecoder/allowTruncated`` missing ones. Nil: there is none.
    public let damage: ImageCodecError?
    let made: MadeImage

    /// Why what is stored of the original was not used as it is; `nil` when it was, or when the request forbade it.
    public var unusedReason: UnusedReason? { made.unusedReason(source) }

    init?(_ made: MadeImage, _ source: ImageSourceKind) {
        guard case .encoded(let bytes, let format, let width, let height) = made.content,
            let entityTag = made.entityTag
        else { return nil }
        self.bytes = bytes
        self.format = format
        self.width = width
        self.height = height
        self.source = source
        freshUntil = made.freshUntil
        self.entityTag = entityTag
        freshness = made.response.freshness
        lastModified = made.response.lastModified
        damage = made.damage
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
    /// The original's resource while it stood there. Afterwards the original must be asked for before this is used.
    let generation: Generation
    /// Until when the original is fresh. Afterwards it must be asked for before this is used.
    let freshUntil: Date
    let response: Response
    /// What was wrong with the original and was passed over.
    let damage: ImageCodecError?
    /// Of the bytes of an encoded image; of pixels there is none.
    let entityTag: EntityTag?

    /// What is remembered of the original's response.
    struct Response: Sendable {
        let freshness: DerivedFreshness
        let lastModified: String?
        /// When the original was found to be fresh. Before that, after a step of the clock backwards, nobody knows how old it is.
        let checked: Date
        /// Why nothing stored was used for it.
        let unusedReason: UnusedReason?

        init(_ file: CachedFile, rules: CacheRules, at now: Date) {
            freshness = DerivedFreshness(of: file.response, rules: rules, at: now)
            lastModified = file.response.fields[.lastModified]
            checked = now
            unusedReason = file.unusedReason
        }
    }

    init(
        _ content: Content, original: Int64, generation: Generation, freshUntil: Date, response: Response,
        damage: ImageCodecError?
    ) {
        self.content = content
        self.generation = generation
        self.original = original
        self.freshUntil = freshUntil
        self.response = response
        self.damage = damage
        entityTag = Self.entityTag(of: content)
    }

    /// Of the bytes themselves, so that another version of a codec, which makes others, makes another tag.
    private static func entityTag(of content: Content) -> EntityTag? {
        guard case .encoded(let bytes, _, _, _) = content else { return nil }
        let hash = bytes.withUnsafeBytes { cxxhash_128bits($0.baseAddress, $0.count) }
        let text = withUnsafeBytes(of: (hash.high64.bigEndian, hash.low64.bigEndian)) { Array($0).hexadecimal }
        return EntityTag(opaque: text, isWeak: false)
    }

    /// Why nothing stored was used when it came from there.
    func unusedReason(_ source: ImageSourceKind) -> UnusedReason? { source == .memory ? nil : response.unusedReason }

    /// What it counts as in memory, in bytes: width × height × 4 for pixels, its length for a file.
    var cost: Int {
        switch content {
        case .pixels(let image): image.cost
        case .encoded(let bytes, _, _, _): bytes.count
        }
    }
}
