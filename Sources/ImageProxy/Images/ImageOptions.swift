import ImageCache

/// The options of an image's URL, in the words of Cloudflare's image resizing: `w=256,h=256,fit=cover,format=auto`.
///
/// Two texts that mean the same give equal values, and so one image in the cache.
struct ImageOptions: Hashable, Sendable {
    /// The way in which an image of other proportions gets into the box.
    enum Fit: String, CaseIterable, Sendable {
        /// As large as fits, never enlarged: the default.
        case scaleDown = "scale-down"
        /// As large as fits, enlarged where it is smaller.
        case contain
        /// The box is filled, enlarged where the image is smaller; what stands over is cut off.
        case cover
        /// As `cover`, but never enlarged.
        case crop
        /// As `contain`, and what is left free of the box is filled with `background`.
        case pad
        /// Exactly the box, whatever the proportions.
        case squeeze
    }

    enum Format: String, CaseIterable, Sendable {
        /// WebP for who accepts it, else of the original's kind.
        case auto
        case webp, jpeg, png
    }

    /// In CSS pixels, as the height; one that is missing follows from the proportions.
    var width: Int?
    var height: Int?
    var fit = Fit.scaleDown
    var format = Format.auto
    /// For JPEG and WebP.
    var quality = 80
    var devicePixelRatio = 1.0
    var gravity = ImageSizing.Position.center
    /// The colour under transparent pixels and around a padded image.
    var background: ImageSizing.Color?
    /// A radius in pixels of the result; 0: none.
    var blur = 0
    var keepsMetadata = false

    /// Pixels of the result's longer side, and of its area.
    static let longestSide = 8192
    static let largestArea = 4096 * 8192
    /// A blur holds the whole result several times.
    static let largestBlurredArea = 2048 * 2048
}

extension ImageOptions {
    /// The size to bring the original to; nil: as it is.
    var sizing: ImageSizing? {
        guard width != nil || height != nil else { return nil }
        var sizing = ImageSizing(width: width ?? longest(beside: height), height: height ?? longest(beside: width))
        switch fit {
        case .scaleDown, .contain: sizing.fit = .inside
        case .cover, .crop: sizing.fit = .cover
        case .pad: sizing.fit = .contain
        case .squeeze: sizing.fit = .fill
        }
        sizing.allowsEnlargement = fit == .contain || fit == .cover || fit == .pad || fit == .squeeze
        // Where it makes no difference it makes no other image.
        sizing.position = fit == .cover || fit == .crop || fit == .pad ? gravity : .center
        sizing.devicePixelRatio = devicePixelRatio
        // Transparent where the format can be.
        sizing.background = fit == .pad ? background : nil
        return sizing
    }

    /// The longest side that may follow from the proportions: a sliver of an image must not become a giant one.
    private func longest(beside side: Int?) -> Int? {
        guard let side else { return nil }
        let area = Double(Self.largestArea) / (Double(side) * devicePixelRatio * devicePixelRatio)
        return max(1, Int(min(Double(Self.longestSide) / devicePixelRatio, area)))
    }

    var processors: [ImageProcessor] { blur > 0 ? [.blur(sigma: Double(blur) / 2)] : [] }

    /// - Parameter acceptsWebP: what the client says of it.
    func encoding(acceptsWebP: Bool) -> ThumbnailEncoding {
        var jpeg = ImageEncoder.JPEGOptions(quality: quality)
        if let background { jpeg.background = background }
        switch format {
        case .auto where acceptsWebP, .webp: return .encoder(.webp(quality: Double(quality)))
        case .auto: return .likeOriginal(jpeg)
        case .jpeg: return .encoder(ImageEncoder(.jpeg(jpeg)))
        case .png: return .encoder(.png())
        }
    }
}
