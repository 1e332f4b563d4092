import CXXHash
import Digests
import DiskStore
public import FoundationEssentials
public import HTTPCaching
public import HTTPSemantics
public import ImageCodec

/// The origin of an image or thumbnail.
public enum ImageSourceKind: Sendable, Hashable {
    /// The memory cache.
    case memory
    /// The disk store, where it was kept beside its original.
    case thumbnail
    /// The remote store that is shared with other machines, one of which rendered it from the very same original.
    case remote
    /// Rendered for this request, from an original with this source.
    case original(CachedFile.Source)
}

/// A decoded image. As long as this value lives, equal requests find it even after the memory cache has purged it.
public struct CachedImage: Sendable {
    public let source: ImageSourceKind
    let derived: DerivedImage
    public let image: DecodedImage

    /// Why what is stored of the original was not used as it is; `nil` when it was, or when the request forbade it.
    public var unusedReason: UnusedReason? { derived.unusedReason(source) }

    init?(_ derived: DerivedImage, _ source: ImageSourceKind) {
        guard case .pixels(let image) = derived.content else { return nil }
        self.derived = derived
        self.source = source
        self.image = image
    }
}

/// The bytes of an image file in the requested size and format.
public struct Thumbnail: Sendable {
    public let bytes: [UInt8]
    public let format: ImageFormat
    /// In pixels.
    public let width: Int
    public let height: Int
    public let source: ImageSourceKind
    /// The end of the original's freshness (RFC 9111 section 4.2).
    public let freshUntil: Date
    /// A strong entity tag (RFC 9110 section 8.8.1): a hash of the bytes, the same on every machine.
    public let entityTag: EntityTag
    /// The freshness that the original's response declares: a `Cache-Control` can be derived from it.
    public let freshness: DerivedFreshness
    /// The original's `Last-Modified`, as its origin wrote it.
    public let lastModified: String?
    /// The tolerated fault of the original (``DecodedImage/damage``): damaged data in a JPEG, or with
    /// ``ImageDecoder/allowTruncated`` missing data; `nil`: none.
    public let damage: ImageCodecError?
    let derived: DerivedImage

    /// Why what is stored of the original was not used as it is; `nil` when it was, or when the request forbade it.
    public var unusedReason: UnusedReason? { derived.unusedReason(source) }

    init?(_ derived: DerivedImage, _ source: ImageSourceKind) {
        guard case .encoded(let bytes, let format, let width, let height) = derived.content,
            let entityTag = derived.entityTag
        else { return nil }
        self.bytes = bytes
        self.format = format
        self.width = width
        self.height = height
        self.source = source
        freshUntil = derived.freshUntil
        self.entityTag = entityTag
        freshness = derived.response.freshness
        lastModified = derived.response.lastModified
        damage = derived.damage
        self.derived = derived
    }
}

/// An image derived from an original, as the memory cache holds it.
final class DerivedImage: Sendable {
    enum Content: Sendable {
        case pixels(DecodedImage)
        case encoded([UInt8], ImageFormat, width: Int, height: Int)
    }

    let content: Content
    /// The store's number of the original: another representation has another one.
    let original: Int64
    /// The generation of the original's resource. After it, the original must be looked up before this is used.
    let generation: Generation
    /// The end of the original's freshness. After it, the original must be validated before this is used.
    let freshUntil: Date
    let response: Response
    /// The tolerated fault of the original.
    let damage: ImageCodecError?
    /// The tag of an encoded image; `nil` for pixels.
    let entityTag: EntityTag?

    /// The part of the original's response that is kept.
    struct Response: Sendable {
        let freshness: DerivedFreshness
        let lastModified: String?
        /// The time at which the original was found to be fresh. After a step of the clock to before it, the age is unknown.
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

    /// A hash of the bytes themselves, so that another version of a codec, which writes others, has another tag.
    private static func entityTag(of content: Content) -> EntityTag? {
        guard case .encoded(let bytes, _, _, _) = content else { return nil }
        let hash = bytes.withUnsafeBytes { cxxhash_128bits($0.baseAddress, $0.count) }
        let text = withUnsafeBytes(of: (hash.high64.bigEndian, hash.low64.bigEndian)) { Array($0).hexadecimal }
        return EntityTag(opaque: text, isWeak: false)
    }

    /// Why nothing stored was used when it came from there.
    func unusedReason(_ source: ImageSourceKind) -> UnusedReason? { source == .memory ? nil : response.unusedReason }

    /// The cost in memory, in bytes: width × height × 4 for pixels; for a file its length, and 3 KiB for what belongs to it.
    var cost: Int {
        switch content {
        case .pixels(let image): image.cost
        case .encoded(let bytes, _, _, _): bytes.count + 3072
        }
    }
}
