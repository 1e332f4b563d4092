import CXXHash
import Digests
import DiskStore
public import FoundationEssentials
public import HTTPCaching
public import HTTPSemantics
public import ImageCodec

/// The source of an image or thumbnail.
public enum ImageSourceKind: Sendable, Hashable {
    /// The memory cache.
    case memory
    /// The disk store, where it is stored next to an original of this source: ``CachedFile/Source/revalidated`` if the origin confirmed it.
    case thumbnail(CachedFile.Source)
    /// The store shared with other machines, one of which rendered the image from the same original.
    case remote
    /// Rendered for this request from an original of this source.
    case original(CachedFile.Source)
}

/// A decoded image. While this value exists, equal requests find the image even after the memory cache has purged it.
public struct CachedImage: Sendable {
    public let source: ImageSourceKind
    let derived: DerivedImage
    public let image: DecodedImage

    /// The reason why the stored original was not used, or `nil` if it was used or the request forbade its use.
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
    /// The time at which the original becomes stale (RFC 9111 section 4.2).
    public let freshUntil: Date
    /// A strong entity tag (RFC 9110 section 8.8.1): a hash of the bytes, which is the same on all machines.
    public let entityTag: EntityTag
    /// The freshness of the original's response, from which a `Cache-Control` field can be derived.
    public let freshness: DerivedFreshness
    /// The original's `Last-Modified` field, unchanged.
    public let lastModified: String?
    /// The tolerated defect of the original (``DecodedImage/damage``): damaged data in a JPEG, or missing data with
    /// ``ImageDecoder/allowTruncated``; `nil` if there is none.
    public let damage: ImageCodecError?
    let derived: DerivedImage

    /// The reason why the stored original was not used, or `nil` if it was used or the request forbade its use.
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

/// An image derived from an original, in the memory cache.
final class DerivedImage: Sendable {
    enum Content: Sendable {
        case pixels(DecodedImage)
        case encoded([UInt8], ImageFormat, width: Int, height: Int)
    }

    let content: Content
    /// The entry number of the original in the store, which differs between representations.
    let original: Int64
    /// The generation of the original's resource. When it is outdated, the original must be looked up before the image is used.
    let generation: Generation
    /// The time at which the original becomes stale. After it, the original must be revalidated before the image is used.
    let freshUntil: Date
    let response: Response
    /// The tolerated defect of the original.
    let damage: ImageCodecError?
    /// The entity tag of an encoded image; `nil` for pixels.
    let entityTag: EntityTag?

    /// The retained part of the original's response.
    struct Response: Sendable {
        let freshness: DerivedFreshness
        let lastModified: String?
        let responseTime: Date
        /// The reason why the stored original was not used.
        let unusedReason: UnusedReason?

        init(_ file: CachedFile, rules: CacheRules, at now: Date) {
            freshness = DerivedFreshness(of: file.response, rules: rules, at: now)
            lastModified = file.response.fields[.lastModified]
            responseTime = file.response.responseTime
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

    /// A hash of the bytes, which changes when another version of a codec produces other bytes.
    private static func entityTag(of content: Content) -> EntityTag? {
        guard case .encoded(let bytes, _, _, _) = content else { return nil }
        let hash = bytes.withUnsafeBytes { cxxhash_128bits($0.baseAddress, $0.count) }
        let text = withUnsafeBytes(of: (hash.high64.bigEndian, hash.low64.bigEndian)) { Array($0).hexadecimal }
        return EntityTag(opaque: text, isWeak: false)
    }

    /// The reason why the stored original was not used; `nil` for an image from memory.
    func unusedReason(_ source: ImageSourceKind) -> UnusedReason? { source == .memory ? nil : response.unusedReason }

    /// The cost in memory in bytes: width × height × 4 for pixels; for a file its length and 3 KiB for its metadata.
    var cost: Int {
        switch content {
        case .pixels(let image): image.cost
        case .encoded(let bytes, _, _, _): bytes.count + 3072
        }
    }
}
