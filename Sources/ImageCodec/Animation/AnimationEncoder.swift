internal import CImageCodec

/// Encodes the frames of an animation, one after another, into the bytes of a file.
///
/// Encoding blocks the calling thread; an encoder is used by one thread at a time.
public final class AnimationEncoder {
    private let file: any AnimationEncoding
    private let width: Int
    private let height: Int
    /// The profile and Exif of the first frame.
    private var (profile, exif): ([UInt8]?, [UInt8]?) = (nil, nil)
    private var count = 0
    /// The time of the frames so far.
    private var elapsed = Duration.zero

    /// - Parameters:
    ///   - encoder: The format and its options. Formats that hold an animation: WebP and GIF.
    ///   - width: The width of all frames in pixels.
    ///   - loopCount: The number of times that the animation is shown; 0: for ever.
    ///   - budget: The budget of all frames together. Default: unlimited.
    /// - Throws: `invalidArgument` for another format and for sizes and options that the format cannot hold, `outOfMemory`, and the
    ///   errors of `budget`.
    public init(
        _ encoder: ImageEncoder, width: Int, height: Int, loopCount: Int = 0, within budget: ImageBudget = .unlimited
    ) throws(ImageCodecError) {
        guard let encoding = encoder.options.encoding as? any AnimatedFormatEncoding else {
            throw ImageCodecError(.invalidArgument, format: encoder.format, "\(encoder.format) holds one image")
        }
        // The greatest side of any format that holds an animation.
        guard (1...65_535).contains(width), (1...65_535).contains(height), loopCount >= 0 else {
            throw ImageCodecError(.invalidArgument, "\(width) x \(height) pixels, shown \(loopCount) times")
        }
        (self.width, self.height) = (width, height)
        let needed = encoder.memory(width: width, height: height, isOpaque: false) + width * height * 20
        try budget.check(memory: needed, format: encoder.format)
        file = try encoding.animation(
            width: width, height: height, loops: loopCount, within: budget,
            memory: (budget.limits.memory - needed) / 3)
    }

    /// Adds a frame.
    ///
    /// - Throws: `invalidArgument` for a frame of another size.
    public func add(_ image: DecodedImage, for duration: Duration) throws(ImageCodecError) {
        guard image.width == width, image.height == height else {
            throw ImageCodecError(
                .invalidArgument, "a frame of \(image.width) x \(image.height) pixels, not \(width) x \(height)")
        }
        if count == 0 { (profile, exif) = (image.profile, image.exif) }
        count += 1
        let start = elapsed.wholeMilliseconds
        elapsed += min(max(.zero, duration), .seconds(1 << 30))
        // Fractions of many frames' times add up.
        try file.add(image, milliseconds: elapsed.wholeMilliseconds - start)
    }

    /// The file. The encoder is not used afterwards.
    ///
    /// - Throws: `invalidArgument` if no frame was added.
    public func finish() throws(ImageCodecError) -> [UInt8] {
        guard count > 0 else { throw ImageCodecError(.invalidArgument, "no frames") }
        return try file.finish(profile: profile, exif: exif)
    }
}

extension Duration {
    fileprivate var wholeMilliseconds: Int {
        Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000)
    }
}

/// A format that holds animations.
protocol AnimatedFormatEncoding: FormatEncoding {
    func animation(
        width: Int, height: Int, loops: Int, within budget: ImageBudget, memory: Int
    ) throws(ImageCodecError) -> any AnimationEncoding

    /// An upper bound of the bytes of a frame in a file: more than was measured for noise.
    func fileSize(pixels: Int) -> Int
}

/// An encoded file, its size in pixels, and the tolerated defect of its original.
package struct EncodedImage {
    package let bytes: [UInt8]
    package let width: Int
    package let height: Int
    package let damage: ImageCodecError?

    package init(bytes: [UInt8], width: Int, height: Int, damage: ImageCodecError?) {
        (self.bytes, self.width, self.height, self.damage) = (bytes, width, height, damage)
    }
}

/// A file of several frames, of one format. Not Sendable: used by one thread at a time.
protocol AnimationEncoding: AnyObject {
    func add(_ image: DecodedImage, milliseconds: Int) throws(ImageCodecError)
    func finish(profile: [UInt8]?, exif: [UInt8]?) throws(ImageCodecError) -> [UInt8]
}

extension ImageEncoder {
    /// True if a file of the format may hold an animation.
    public var holdsAnimations: Bool { options.encoding is any AnimatedFormatEncoding }

    /// The memory in bytes for encoding an animation and its file, in addition to the pixels of one frame.
    package func memory(ofAnimation frames: Int, width: Int, height: Int) -> Int {
        let pixels = width * height
        let file = (options.encoding as? any AnimatedFormatEncoding)?.fileSize(pixels: pixels) ?? 0
        // The canvases that frames are compared with, and the file, which is copied at the end.
        return memory(width: width, height: height, isOpaque: false) + pixels * 20 + file * frames * 2
    }

    /// Encodes the frames that a reader has left.
    ///
    /// - Parameter change: An effect on each frame; all results have one size.
    package func encode(
        _ reader: AnimationReader, within budget: ImageBudget,
        _ change: (DecodedImage) throws(ImageCodecError) -> DecodedImage = { (image) throws(ImageCodecError) in image }
    ) throws(ImageCodecError) -> EncodedImage {
        var encoder: AnimationEncoder?
        var (width, height) = (0, 0)
        while let frame = try reader.next() {
            let image = try change(frame.image)
            if encoder == nil {
                (width, height) = (image.width, image.height)
                encoder = try AnimationEncoder(
                    self, width: width, height: height, loopCount: reader.loopCount, within: budget)
            }
            try encoder?.add(image, for: frame.duration)
        }
        guard let encoder else { throw ImageCodecError(.corrupt, format: format, "no frames") }
        return EncodedImage(bytes: try encoder.finish(), width: width, height: height, damage: reader.damage)
    }

    /// Encodes a file in another size: all its frames, or the one that the decoder selects.
    ///
    /// - Parameters:
    ///   - keepsAnimation: True for all frames of an animation, if the format supports them.
    ///   - change: An effect on each frame, within the budget of the file; all results of an animation have one size.
    package func thumbnail(
        of source: ImageSource, _ sizing: ImageSizing?, _ decoder: ImageDecoder, keepsAnimation: Bool,
        _ change: (DecodedImage, ImageBudget) throws(ImageCodecError) -> DecodedImage = {
            (image, _) throws(ImageCodecError) in
            image
        }
    ) throws(ImageCodecError) -> EncodedImage {
        let budget = ImageBudget(limits: decoder.limits)
        if keepsAnimation, decoder.frame == 0, holdsAnimations,
            try decoder.header(of: source, within: budget).isAnimated
        {
            let reader = try decoder.frames(of: source, to: sizing, within: budget)
            return try encode(reader, within: budget) { (frame) throws(ImageCodecError) in try change(frame, budget) }
        }
        let image = try change(try decoder.decode(source, to: sizing, within: budget), budget)
        return EncodedImage(
            bytes: try encode(image, within: budget), width: image.width, height: image.height, damage: image.damage)
    }
}
