import ImageCache

/// The options of an image's URL, in the words of Cloudflare's image resizing: `w=256,h=256,fit=cover,format=auto`.
///
/// Equivalent texts give equal values, and so one image in the cache.
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
        /// WebP for clients that accept it, else the original's format.
        case auto
        case webp, jpeg, png
    }

    /// In CSS pixels, like the height; a missing side follows from the proportions.
    var width: Int?
    var height: Int?
    var fit = Fit.scaleDown
    var format = Format.auto
    /// For JPEG and WebP.
    var quality = 80
    var devicePixelRatio = 1.0
    var gravity = ImageSizing.Position.center
    /// The colour behind transparent pixels and around a padded image.
    var background: ImageSizing.Color?
    /// The radius in pixels of the result; 0: none.
    var blur = 0
    var keepsMetadata = false

    /// The greatest length of the result's longer side in pixels.
    static let longestSide = 8192
    static let largestArea = 4096 * 8192
    /// The greatest area of a blurred result: a blur holds it several times.
    static let largestBlurredArea = 2048 * 2048
}

extension ImageOptions {
    /// The target size; nil: the original's.
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
        // The position is normalised if it has no effect, so that it does not create another image.
        sizing.position = fit == .cover || fit == .crop || fit == .pad ? gravity : .center
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
        return max(1, Int(min(Double(Self.longestSide) / devicePixelRatio, area)))
    }

    var processors: [ImageProcessor] { blur > 0 ? [.blur(sigma: Double(blur) / 2)] : [] }

    /// - Parameter acceptsWebP: True if the client prefers WebP.
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
