/// An IIIF image of an original whose size is known: the part in pixels, and the size before the rotation.
struct IIIFRendering: Equatable {
    let image: IIIFImage
    private(set) var x = 0
    private(set) var y = 0
    /// The part's size.
    private(set) var partWidth: Int
    private(set) var partHeight: Int
    /// The size that the part gets.
    private(set) var width = 0
    private(set) var height = 0
    /// True if the part is the whole image.
    let isFull: Bool

    /// - Parameters:
    ///   - width: The width of the upright original.
    /// - Throws: An error if the region is outside the original, or the size is not allowed.
    init(_ image: IIIFImage, ofWidth width: Int, height: Int) throws(ImageOptionError) {
        self.image = image
        (partWidth, partHeight) = (width, height)
        switch image.region {
        case .full: break
        case .square:
            let side = min(width, height)
            (x, y, partWidth, partHeight) = ((width - side) / 2, (height - side) / 2, side, side)
        case .pixels(let x, let y, let partWidth, let partHeight):
            guard x < width, y < height else { throw Self.outside(width, height) }
            (self.x, self.y) = (x, y)
            (self.partWidth, self.partHeight) = (min(partWidth, width - x), min(partHeight, height - y))
        case .percent(let x, let y, let partWidth, let partHeight):
            guard x < 100, y < 100 else { throw Self.outside(width, height) }
            (self.x, self.partWidth) = Self.range(x, partWidth, width)
            (self.y, self.partHeight) = Self.range(y, partHeight, height)
        }
        isFull = partWidth == width && partHeight == height
        (self.width, self.height) = try size()
    }

    private static func outside(_ width: Int, _ height: Int) -> ImageOptionError {
        .option("region", "is outside the image of \(width)x\(height) pixels")
    }

    /// The pixels of a range in percent: at least one.
    private static func range(_ start: Double, _ length: Double, _ whole: Int) -> (Int, Int) {
        func pixel(_ percent: Double) -> Int { Int((min(percent, 100) * Double(whole) / 100).rounded()) }
        let first = min(pixel(start), whole - 1)
        return (first, max(1, pixel(start + length) - first))
    }

    // MARK: Size

    private func size() throws(ImageOptionError) -> (width: Int, height: Int) {
        let size: (width: Int, height: Int)
        switch image.size {
        case .max: size = image.allowsEnlargement ? largest : largestUnenlarged
        case .width(let width): size = (width, Self.following(width, partHeight, partWidth))
        case .height(let height): size = (Self.following(height, partWidth, partHeight), height)
        case .exactly(let width, let height): size = (width, height)
        case .percent(let percent):
            size = (Self.share(percent, partWidth), Self.share(percent, partHeight))
            guard size.width > 0, size.height > 0 else { throw .option("size", "is less than one pixel") }
        case .within(let width, let height):
            guard image.allowsEnlargement || width <= partWidth || height <= partHeight else { throw tooLarge }
            size = within(width, height)
        }
        guard image.allowsEnlargement || size.width <= partWidth && size.height <= partHeight else { throw tooLarge }
        let longest = ImageOptions.longestSide
        guard size.width <= longest, size.height <= longest, size.width * size.height <= ImageOptions.largestArea
        else { throw .option("size", "exceeds \(longest) pixels a side, or \(ImageOptions.largestArea) in all") }
        return size
    }

    private var tooLarge: ImageOptionError {
        .option("size", "must not exceed the region's \(partWidth)x\(partHeight) pixels without ^")
    }

    private static func following(_ side: Int, _ other: Int, _ own: Int) -> Int {
        max(1, Int((Double(side) * Double(other) / Double(own)).rounded()))
    }

    private static func share(_ percent: Double, _ side: Int) -> Int { Int((Double(side) * percent / 100).rounded()) }

    private func within(_ width: Int, _ height: Int) -> (width: Int, height: Int) {
        let factor = min(Double(width) / Double(partWidth), Double(height) / Double(partHeight))
        if factor > greatestFactor { return largest }
        return width * partHeight <= height * partWidth
            ? (width, Self.following(width, partHeight, partWidth))
            : (Self.following(height, partWidth, partHeight), height)
    }

    /// The factor that makes the part as large as the limits of this service allow.
    private var greatestFactor: Double {
        let (width, height, longest) = (Double(partWidth), Double(partHeight), Double(ImageOptions.longestSide))
        let area = Double(ImageOptions.largestArea) / (width * height)
        return min(longest / width, longest / height, area.squareRoot())
    }

    private var largest: (width: Int, height: Int) {
        func side(_ side: Int) -> Int { max(1, Int((Double(side) * greatestFactor + 1e-6).rounded(.down))) }
        return (side(partWidth), side(partHeight))
    }

    private var largestUnenlarged: (width: Int, height: Int) {
        greatestFactor < 1 ? largest : (partWidth, partHeight)
    }

    // MARK: URLs

    /// The image target of this service.
    func target(of original: String) -> String {
        var options = TranslatedOptions()
        if !isFull { options.set("crop", "\(x)x\(y)x\(partWidth)x\(partHeight)") }
        let isOnItsSide = image.rotation % 180 != 0
        if width != partWidth || height != partHeight {
            // A size here is that of the rotated image.
            options.set("width", isOnItsSide ? height : width)
            options.set("height", isOnItsSide ? width : height)
            options.set("fit", "fill")
        }
        if image.rotation != 0 { options.set("rotate", image.rotation) }
        // The reflection comes first there and last here, which exchanges the axes of an image on its side.
        if image.isMirrored { options.set("flip", isOnItsSide ? "v" : "h") }
        switch image.quality {
        case .default, .color: break
        case .gray: options.set("gray", "1")
        case .bitonal: options.set("gray", "bitonal")
        }
        options.set("format", IIIFImage.formats[image.format]?.rawValue ?? image.format)
        // The size is in pixels, whatever the client's screen is.
        options.set("dpr", "1")
        return options.target(of: original)
    }

    /// The canonical form of the URL: region, size, rotation, quality and format (section 4.8).
    var canonical: String {
        let region = isFull ? "full" : "\(x),\(y),\(partWidth),\(partHeight)"
        let rotation = "\(image.isMirrored ? "!" : "")\(image.rotation)"
        let quality = image.quality == .color ? .default : image.quality
        return "\(region)/\(canonicalSize)/\(rotation)/\(quality.rawValue).\(image.format)"
    }

    /// A `^` is percent-encoded, because no URL may contain it.
    private var canonicalSize: String {
        if (width, height) == largestUnenlarged { return "max" }
        let isEnlarged = width > partWidth || height > partHeight
        if isEnlarged, (width, height) == largest { return "%5Emax" }
        return "\(isEnlarged ? "%5E" : "")\(width),\(height)"
    }
}
