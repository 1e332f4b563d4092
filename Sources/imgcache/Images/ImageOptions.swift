import ArgumentParser
import ImageCache
import ImageEffects
import Units

/// `--size WxH` and related options, in the terms of CSS `object-fit`.
struct SizingOptions: ParsableArguments {
    @Option(
        name: [.customShort("s"), .customLong("size")],
        help: ArgumentHelp(
            "The box in pixels, 1 to 65535 a side: 256 (a square), 256x192, 256x or x192.", valueName: "WxH"))
    var box = Box(width: 256, height: 256)

    @Option(help: "inside, contain, cover, fill or outside, as CSS object-fit and sharp have them.")
    var fit = Fit.inside

    @Option(
        help: ArgumentHelp(
            """
            With cover and contain: center, top, left, bottom-right …, '30%,70%' or 0.3x0.7; with cover also entropy, \
            attention or auto, the same.
            """,
            valueName: "where"))
    var position = Position(.center)

    @Flag(help: "Enlarge images that are smaller than the box.")
    var enlarge = false

    @Option(help: ArgumentHelp("The number of image pixels for one pixel of the box.", valueName: "ratio"))
    var dpr = 1.0

    @Option(
        help: ArgumentHelp(
            "The colour under transparent pixels and around the image: ffcc00, fc0, white or black (default: white in JPEG).",
            valueName: "colour"))
    var background: Colour?

    enum Fit: String, CaseIterable, ExpressibleByArgument {
        case inside, contain, cover, fill, outside

        var value: ImageSizing.Fit {
            switch self {
            case .inside: .inside
            case .contain: .contain
            case .cover: .cover
            case .fill: .fill
            case .outside: .outside
            }
        }
    }

    /// A missing side is computed from the other one.
    struct Box: ExpressibleByArgument, Equatable {
        var width: Int?
        var height: Int?

        init(width: Int?, height: Int?) {
            self.width = width
            self.height = height
        }

        init?(argument: String) {
            let sides = argument.lowercased().split(separator: "x", omittingEmptySubsequences: false)
            func side(_ text: Substring) -> Int?? {
                if text.isEmpty { return .some(nil) }
                guard let value = Int(text), value > 0, value <= 65_535 else { return nil }
                return .some(value)
            }
            guard sides.count <= 2, let first = side(sides[0]) else { return nil }
            guard sides.count == 2 else {
                guard let first else { return nil }
                self.init(width: first, height: first)
                return
            }
            guard let second = side(sides[1]), first != nil || second != nil else { return nil }
            self.init(width: first, height: second)
        }

        var defaultValueDescription: String { "256" }
    }

    struct Position: ExpressibleByArgument, Equatable {
        var value: ImageSizing.Position

        init(_ value: ImageSizing.Position) { self.value = value }

        init?(argument: String) {
            let name = argument.lowercased()
            if let value = name == "attention" ? .attention : ImageSizing.Position(option: name) {
                self.value = value
                return
            }
            let shares = argument.split(separator: ",").compactMap { part -> Double? in
                guard part.hasSuffix("%"), let value = Double(part.dropLast()), (0...100).contains(value) else {
                    return nil
                }
                return value / 100
            }
            guard shares.count == 2 else { return nil }
            value = .at(x: shares[0], y: shares[1])
        }

        var defaultValueDescription: String { "center" }
    }

    struct Colour: ExpressibleByArgument, Equatable {
        var value: ImageSizing.Color

        init?(argument: String) {
            guard let value = ImageSizing.Color(option: argument) else { return nil }
            self.value = value
        }
    }

    func validate() throws {
        guard dpr > 0, dpr <= 10 else { throw ValidationError("--dpr must be greater than 0 and at most 10.") }
    }

    /// - Parameter focalPoint: The point to keep instead of the position.
    func sizing(around focalPoint: ImageSizing.Position?) -> ImageSizing {
        var sizing = ImageSizing(width: box.width, height: box.height, fit: fit.value)
        // An option without effect does not create another image.
        if fit == .cover || fit == .contain { sizing.position = focalPoint ?? position.value }
        if fit == .contain { sizing.background = background?.value }
        sizing.allowsEnlargement = enlarge
        sizing.devicePixelRatio = dpr
        return sizing
    }
}

/// The option for writing animations.
struct AnimationOptions: ParsableArguments {
    @Flag(
        inversion: .prefixedNo,
        help: "Keep an animated GIF or WebP animated in WebP and GIF; without it, a still of the first frame.")
    var anim = true
}

/// The options for the written file.
struct EncodingOptions: ParsableArguments {
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case jpeg, png, webp, avif, gif

        /// The format for the extension of a file name.
        init?(ending name: String) {
            switch name.split(separator: ".").last?.lowercased() {
            case "jpg", "jpeg", "jpe", "jfif": self = .jpeg
            case "png": self = .png
            case "webp": self = .webp
            case "avif": self = .avif
            case "gif": self = .gif
            default: return nil
            }
        }

        var ending: String { self == .jpeg ? "jpg" : rawValue }
    }

    @Option(
        name: .customLong("format"),
        help: "The format: jpeg, png, webp, avif or gif (default: by the extension of -o, else jpeg)."
    )
    var format: Format?

    @Option(name: [.customShort("Q"), .customLong("quality")], help: "The quality of JPEG, WebP and AVIF, 1 to 100.")
    var quality = 80

    @Option(
        help: ArgumentHelp(
            "The most bytes of a JPEG, WebP or AVIF: its quality is lowered as far as needed, to 10 at most.",
            valueName: "size"))
    var maxBytes: ByteSize?

    @Flag(help: "A progressive JPEG.")
    var progressive = false

    @Option(help: "Chroma subsampling of a JPEG: 420, 422 or 444.")
    var subsampling = 420

    @Option(help: "Compression of a PNG, 0 to 9.")
    var level = 6

    @Option(help: "The speed of encoding AVIF, 0 (small files) to 10.")
    var speed = 8

    @Flag(help: "A lossless WebP.")
    var lossless = false

    @Option(help: "The most colours of a GIF, or of each of its frames, 2 to 256.")
    var colors = 256

    @Flag(inversion: .prefixedNo, help: "Mix two colours in a GIF where a pixel's own is missing.")
    var dither = true

    func validate() throws {
        guard (1...100).contains(quality) else { throw ValidationError("--quality must be an integer from 1 to 100.") }
        guard (0...9).contains(level) else { throw ValidationError("--level must be an integer from 0 to 9.") }
        guard (0...10).contains(speed) else { throw ValidationError("--speed must be an integer from 0 to 10.") }
        guard (2...256).contains(colors) else { throw ValidationError("--colors must be an integer from 2 to 256.") }
        guard [420, 422, 444].contains(subsampling) else {
            throw ValidationError("--subsampling must be 420, 422 or 444.")
        }
    }

    func format(for output: String?) -> Format { format ?? output.flatMap { Format(ending: $0) } ?? .jpeg }

    func encoder(_ format: Format, background: ImageSizing.Color?) -> ImageEncoder {
        let limit = maxBytes.map { Int(clamping: $0.bytes) }
        switch format {
        case .jpeg:
            var options = ImageEncoder.JPEGOptions(quality: quality)
            options.maxBytes = limit
            options.isProgressive = progressive
            options.subsampling = subsampling == 444 ? .none444 : subsampling == 422 ? .yes422 : .yes420
            if let background { options.background = background }
            return ImageEncoder(.jpeg(options))
        case .png: return .png(level: level)
        case .webp:
            var options = ImageEncoder.WebPOptions(quality: Double(quality), isLossless: lossless)
            options.maxBytes = limit
            return ImageEncoder(.webp(options))
        case .avif:
            var options = ImageEncoder.AVIFOptions(likeJPEG: quality)
            options.speed = speed
            options.maxBytes = limit
            return ImageEncoder(.avif(options))
        case .gif: return .gif(colors: colors, isDithered: dither)
        }
    }
}

/// The options for reading the original.
struct DecodingOptions: ParsableArguments {
    @Flag(help: "Keep the Exif block, with the orientation reset.")
    var keepMetadata = false

    @Flag(help: "Keep the embedded colour profile and its pixels instead of converting to sRGB.")
    var keepProfile = false

    @Flag(help: "Average light instead of sRGB values when shrinking: for fine patterns and point lights.")
    var linear = false

    @Flag(help: "Accept truncated files, and use the available part.")
    var allowTruncated = false

    @Flag(help: "Refuse a JPEG with damaged data, with exit code 5, instead of warning about it.")
    var strict = false

    @Option(
        help: ArgumentHelp("A still of one frame of an animated GIF, WebP or AVIF, counted from 0.", valueName: "n"))
    var frame: Int?

    @Option(help: ArgumentHelp("Refuse images of more pixels (default 100000000).", valueName: "n"))
    var maxPixels: Int?

    @Option(
        name: .customLong("isolate-decoders"),
        help: ArgumentHelp(
            "Decode in worker processes that may open nothing, for strangers' files; it takes some 15 ms more. off: HEIF, JPEG XL and TIFF only, the others in this process.",
            valueName: "on|off"))
    var isolateDecoders = OnOrOff.off

    enum OnOrOff: String, ExpressibleByArgument { case on, off }

    var isolation: DecoderIsolation { isolateDecoders == .on ? .ownProgram : .ofWorkerFormats }

    /// Warns about a defect of an image that is processed nevertheless.
    ///
    /// - Throws: The defect, with `--strict`.
    func check(_ damage: ImageCodecError?, of source: String, quiet: Bool) throws {
        // Truncation is expected with --allow-truncated.
        guard let damage, damage.code != .truncated || strict else { return }
        let text = "\(FileRequest(source).urlWithoutUserinfo): \(damage)"
        if strict { throw Failure(.wrongBytes, text) }
        if !quiet { Output.warning("\(text); the available part is shown") }
    }

    var decoder: ImageDecoder {
        var decoder = ImageDecoder()
        decoder.keepsMetadata = keepMetadata
        decoder.color = keepProfile ? .keepProfile : .convertToSRGB
        decoder.usesLinearLight = linear
        decoder.allowTruncated = allowTruncated
        decoder.frame = frame ?? 0
        if let maxPixels { decoder.limits.pixels = maxPixels }
        return decoder
    }
}

extension DecoderIsolation {
    /// Worker processes for the formats alone that are never decoded in this process.
    static var ofWorkerFormats: DecoderIsolation {
        var isolation = DecoderIsolation.ownProgram
        isolation.formats = ImageFormat.inWorkersOnly
        return isolation
    }
}
