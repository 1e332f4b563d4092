import ImageCache
import ImageEffects

/// The options of an image's URL, with the names of Cloudflare's image resizing: `w=256,h=256,fit=cover,format=auto`.
///
/// Equivalent texts give equal values, and therefore one image in the cache.
struct ImageOptions: Hashable, Sendable {
    /// Determines how an image of other proportions is fitted into the box.
    ///
    /// A fit has a name from CSS `object-fit` and the sharp library, which the library and the command use, and a name from Cloudflare's
    /// image resizing. `cover` and `contain` are names in both; here `contain` has Cloudflare's meaning.
    enum Fit: CaseIterable, Sendable {
        /// The largest size within the box, never enlarged. This is the default.
        case inside
        /// The largest size within the box, enlarged if the image is smaller.
        case contain
        /// Fills the box, enlarged if the image is smaller; cropped.
        case cover
        /// Equals `cover`, but never enlarged.
        case crop
        /// Equals `contain`, with the remaining area filled with `background`.
        case pad
        /// Equals `pad`, but the image is never enlarged.
        case extend
        /// The exact size of the box, regardless of the proportions.
        case fill
        /// The smallest size that covers the box, never enlarged; nothing is cropped.
        case outside

        /// The names, beginning with the documented one.
        var names: [String] {
            switch self {
            case .inside: ["inside", "scale-down"]
            case .contain: ["contain"]
            case .cover: ["cover"]
            case .crop: ["crop"]
            case .pad: ["pad"]
            case .extend: ["extend"]
            case .fill: ["fill", "squeeze"]
            case .outside: ["outside"]
            }
        }

        /// True if the image does not fill the box, and `background` fills the rest.
        var fillsBox: Bool { self == .pad || self == .extend }

        /// True if both sides of the box must be given.
        var needsBothSides: Bool { self != .inside && self != .contain }
    }

    enum Format: String, CaseIterable, Sendable {
        /// AVIF (if the image is large) or WebP for clients that accept it, otherwise the original's format. For an animation, that is GIF.
        case auto
        case avif, webp, jpeg, png, gif
        /// Texts that replace an image.
        case thumbhash, blurhash, color

        var placeholder: Placeholder? { Placeholder(rawValue: rawValue) }
        /// True if the result depends on `Accept`.
        var varies: Bool { self == .auto || placeholder != nil }
    }

    /// The width in CSS pixels, like the height. A missing side follows from the proportions.
    var width: Int?
    var height: Int?
    var fit = Fit.inside
    var format = Format.auto
    /// The quality of JPEG, WebP and AVIF, on the scale of JPEG.
    var quality = 80
    /// The most bytes of a JPEG, WebP or AVIF, or nil for no limit.
    var maxBytes: Int?
    var devicePixelRatio = 1.0
    var gravity = ImageSizing.Position.center
    /// The colour behind transparent pixels and around a padded image.
    var background: ImageSizing.Color?
    var keepsMetadata = false
    /// The frame of an animation to render as a still image. nil renders all frames if ``keepsAnimation`` is true, otherwise the first one.
    var frame: Int?
    /// False to render an animation as a still image.
    var keepsAnimation = true
    /// The other changes of the pixels. Their focal point, if there is one, replaces ``gravity``.
    var effects = ImageOperations()
    /// True if client hints may choose what the URL leaves open.
    var takesHints = false
    /// True for `width=auto`: the width comes from a client hint.
    var isWidthAuto = false
    /// The greatest length of a side that follows from the proportions, in CSS pixels.
    var longestFollowing = ImageOptions.longestSide

    /// The greatest length of the result's longer side in pixels.
    static let longestSide = 8192
    static let largestArea = 4096 * 8192
    /// The greatest area of a blurred result: a blur holds it several times.
    static let largestBlurredArea = 2048 * 2048
}

extension ImageOptions {
    /// The target size, or nil for the original's.
    var sizing: ImageSizing? {
        guard width != nil || height != nil else {
            // Placeholders are computed from a small image.
            return format.placeholder == nil ? nil : .placeholder
        }
        var sizing = ImageSizing(width: width ?? longest(beside: height), height: height ?? longest(beside: width))
        switch fit {
        case .inside, .contain: sizing.fit = .inside
        case .cover, .crop: sizing.fit = .cover
        case .pad, .extend: sizing.fit = .contain
        case .fill: sizing.fit = .fill
        case .outside: sizing.fit = .outside
        }
        sizing.allowsEnlargement = fit == .contain || fit == .cover || fit == .pad || fit == .fill
        // Use the default position where the position has no effect, so that it does not create another image.
        sizing.position = fit == .cover || fit == .crop || fit.fillsBox ? effects.focalPointInZoom ?? gravity : .center
        sizing.devicePixelRatio = devicePixelRatio
        // A nil background is transparent if the format supports it.
        sizing.background = fit.fillsBox ? background : nil
        return sizing
    }

    /// The pixels that the padding adds to a side, in CSS pixels.
    var border: Double { Double(effects.padding * 2) }

    /// The greatest length of a side that follows from the proportions. It prevents an extremely narrow image from becoming a huge one.
    private func longest(beside side: Int?) -> Int? {
        guard let side else { return nil }
        let area = Double(Self.largestArea) / ((Double(side) + border) * devicePixelRatio * devicePixelRatio)
        let longest = min(Double(Self.longestSide) / devicePixelRatio, area) - border
        return max(1, min(longestFollowing, Int(longest)))
    }

    /// - Parameter accepted: The formats that the client prefers.
    func encoding(for accepted: AcceptedFormats) -> ThumbnailEncoding {
        var jpeg = ImageEncoder.JPEGOptions(quality: quality)
        if let background { jpeg.background = background }
        var avif = ImageEncoder.AVIFOptions(likeJPEG: quality)
        var webP = ImageEncoder.WebPOptions(quality: Double(quality))
        (jpeg.maxBytes, avif.maxBytes, webP.maxBytes) = (maxBytes, maxBytes, maxBytes)
        switch format {
        case .auto where accepted.isAVIF && accepted.isWebP: return .avifIfLarge(avif, else: webP)
        case .auto where accepted.isWebP, .webp: return .encoder(ImageEncoder(.webp(webP)))
        case .avif: return .encoder(ImageEncoder(.avif(avif)))
        case .auto: return .likeOriginal(jpeg)
        case .jpeg: return .encoder(ImageEncoder(.jpeg(jpeg)))
        case .png: return .encoder(.png())
        case .gif: return .encoder(.gif())
        case .thumbhash: return .placeholder(.thumbHash, asJSON: accepted.isJSON)
        case .blurhash: return .placeholder(.blurHash, asJSON: accepted.isJSON)
        case .color: return .placeholder(.dominantColor, asJSON: accepted.isJSON)
        }
    }
}
