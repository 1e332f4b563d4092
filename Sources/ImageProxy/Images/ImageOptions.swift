import ImageCache

/// The options of an image's URL, with the names of Cloudflare's image resizing: `w=256,h=256,fit=cover,format=auto`.
///
/// Equivalent texts give equal values, and so one image in the cache.
struct ImageOptions: Hashable, Sendable {
    /// The shape of the result: the way in which an image of other proportions is fitted into the box.
    ///
    /// A shape has one name of each family: that of CSS `object-fit` and the sharp library, which the library and the
    /// command use, and that of Cloudflare's image resizing. `cover` and `contain` are names of both; `contain` is
    /// Cloudflare's here.
    enum Fit: CaseIterable, Sendable {
        /// The largest size within the box, never enlarged: the default.
        case inside
        /// The largest size within the box, enlarged if the image is smaller.
        case contain
        /// Fills the box, enlarged if the image is smaller; cropped.
        case cover
        /// Equals `cover`, but never enlarged.
        case crop
        /// Equals `contain`, with the remaining area filled with `background`.
        case pad
        /// The exact size of the box, regardless of the proportions.
        case fill
        /// The smallest size that covers the box, never enlarged; nothing is cropped.
        case outside

        /// The names, the one that is documented first at the beginning.
        var names: [String] {
            switch self {
            case .inside: ["inside", "scale-down"]
            case .contain: ["contain"]
            case .cover: ["cover"]
            case .crop: ["crop"]
            case .pad: ["pad"]
            case .fill: ["fill", "squeeze"]
            case .outside: ["outside"]
            }
        }

        /// True if both sides of the box must be given.
        var needsBothSides: Bool { self != .inside && self != .contain }
    }

    enum Format: String, CaseIterable, Sendable {
        /// AVIF (if the image is large) or WebP for clients that accept it, else the original's format, which is GIF for an animation.
        case auto
        case avif, webp, jpeg, png, gif
        /// Texts in place of an image.
        case thumbhash, blurhash, color

        var placeholder: Placeholder? { Placeholder(rawValue: rawValue) }
        /// True if the result depends on `Accept`.
        var varies: Bool { self == .auto || placeholder != nil }
    }

    /// In CSS pixels, like the height; a missing side follows from the proportions.
    var width: Int?
    var height: Int?
    var fit = Fit.inside
    var format = Format.auto
    /// For JPEG, WebP and AVIF, on the scale of JPEG.
    var quality = 80
    var devicePixelRatio = 1.0
    var gravity = ImageSizing.Position.center
    /// The colour behind transparent pixels and around a padded image.
    var background: ImageSizing.Color?
    /// The radius in pixels of the result; 0: none.
    var blur = 0
    var keepsMetadata = false
    /// Of an animation: a still image; nil: all frames, if ``keepsAnimation``, else the first one.
    var frame: Int?
    /// False for a still image of an animation.
    var keepsAnimation = true
    /// The point that a crop keeps; nil: ``gravity`` says it.
    var focalPoint: ImageSizing.Position?
    var effects = ImageEffects()
    /// True if clients' hints may choose what the URL leaves open.
    var takesHints = false
    /// True for `width=auto`: the client tells the width.
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
    /// The target size; nil: the original's.
    var sizing: ImageSizing? {
        guard width != nil || height != nil else {
            // Placeholders are computed from little.
            return format.placeholder == nil ? nil : .placeholder
        }
        var sizing = ImageSizing(width: width ?? longest(beside: height), height: height ?? longest(beside: width))
        switch fit {
        case .inside, .contain: sizing.fit = .inside
        case .cover, .crop: sizing.fit = .cover
        case .pad: sizing.fit = .contain
        case .fill: sizing.fit = .fill
        case .outside: sizing.fit = .outside
        }
        sizing.allowsEnlargement = fit == .contain || fit == .cover || fit == .pad || fit == .fill
        // The position is normalised if it has no effect, so that it does not create another image.
        sizing.position = fit == .cover || fit == .crop || fit == .pad ? focalPoint ?? gravity : .center
        sizing.devicePixelRatio = devicePixelRatio
        // Transparent if the format supports it.
        sizing.background = fit == .pad ? background : nil
        return sizing
    }

    /// The greatest length of a side that follows from the proportions: an extremely narrow image must not become a
    /// giant one.
    private func longest(beside side: Int?) -> Int? {
        guard let side else { return nil }
        let area = Double(Self.largestArea) / (Double(side) * devicePixelRatio * devicePixelRatio)
        return max(1, min(longestFollowing, Int(min(Double(Self.longestSide) / devicePixelRatio, area))))
    }

    /// - Parameter accepted: The formats that the client prefers.
    func encoding(for accepted: AcceptedFormats) -> ThumbnailEncoding {
        var jpeg = ImageEncoder.JPEGOptions(quality: quality)
        if let background { jpeg.background = background }
        let avif = ImageEncoder.AVIFOptions(likeJPEG: quality)
        let webP = ImageEncoder.WebPOptions(quality: Double(quality))
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
