internal import CImageCodec

/// Reads the frames of an image file one after another: each is composed with those before it, as browsers do, and brought to a size.
///
/// One canvas and one frame are in memory at a time. Reading blocks the calling thread; a reader is used by one thread at a time.
///
///     let reader = try ImageDecoder().frames(of: ImageSource(path: "animation.gif"), to: .fit(200, 200))
///     while let frame = try reader.next() { show(frame.image, for: frame.duration) }
public final class AnimationReader {
    /// The width of a frame in pixels.
    public let width: Int
    public let height: Int
    /// The number of frames by the file's header; 1 for a still image.
    public let frameCount: Int
    /// The number of times that the animation is shown; 0: for ever.
    public let loopCount: Int
    /// The time of all frames.
    public let duration: Duration
    /// The defect at which the frames end, with ``ImageDecoder/allowTruncated``.
    public private(set) var damage: ImageCodecError?

    private let decoder: ImageDecoder
    private let header: ImageHeader
    private let budget: ImageBudget
    private let sizing: ImageSizing?
    private let plan: StoredPlan
    private let conversion: ColorConversion
    private var frames: Frames
    /// The part that the first frame's content has selected.
    private var place: (x: Int, y: Int)?

    private enum Frames {
        case still(ImageSource)
        case composed(any FrameComposing)
        case ended
    }

    init(
        _ source: ImageSource, _ sizing: ImageSizing?, _ decoder: ImageDecoder, _ budget: ImageBudget
    ) throws(ImageCodecError) {
        (self.decoder, self.budget, self.sizing) = (decoder, budget, sizing)
        let header = try decoder.header(of: source).showingFrames
        self.header = header
        try decoder.limits.check(framesOf: header)
        plan = try decoder.target(sizing, of: header).plan
        (width, height) = (plan.seen.result.width, plan.seen.result.height)
        frameCount = header.frameCount
        loopCount = Int(header.description.loops)
        duration = .milliseconds(Int64(clamping: header.description.milliseconds))
        conversion = try budget.measured { [color = decoder.color] (_) throws(ImageCodecError) in
            ColorConversion(header, color)
        }
        frames = header.isAnimated ? .composed(try Self.composer(source, header, decoder, budget)) : .still(source)
    }

    private static func composer(
        _ source: ImageSource, _ header: ImageHeader, _ decoder: ImageDecoder, _ budget: ImageBudget
    ) throws(ImageCodecError) -> any FrameComposing {
        guard header.format == .gif else { return try WebPComposer(source) }
        return try budget.measured { (watch) throws(ImageCodecError) in
            try GIFComposer(
                source, limits: decoder.limits.lowered(allowTruncated: decoder.allowTruncated, watch))
        }
    }

    /// The next frame; `nil` after the last.
    ///
    /// - Throws: `corrupt` and `truncated` for a damaged frame, and the errors of the budget.
    public func next() throws(ImageCodecError) -> AnimationFrame? {
        switch frames {
        case .ended: return nil
        case .still(let source):
            frames = .ended
            let image = try decoder.decode(source, to: sizing, within: budget)
            damage = image.damage
            return AnimationFrame(image, milliseconds: 0)
        case .composed(let composer):
            do throws(ImageCodecError) {
                return try budget.decoding { () throws(ImageCodecError) in try next(composer) }
            } catch {
                frames = .ended
                throw error
            }
        }
    }

    private func next(_ composer: any FrameComposing) throws(ImageCodecError) -> AnimationFrame? {
        let frame = try budget.measured { (watch) throws(ImageCodecError) in try composer.next(&watch) }
        damage = composer.damage
        guard let frame else {
            frames = .ended
            return nil
        }
        let resizer = try RowResizer(
            Resizing(header, .whole, plan, hasAlpha: true, linear: decoder.usesLinearLight))
        try budget.measured { (watch) throws(ImageCodecError) in
            try resizer.push(frame.canvas, count: header.height, step: header.width * 4, &watch)
        }
        try conversion.apply(to: resizer.pixels, budget)
        var image = DecodedImage(width: plan.window.width, height: plan.window.height, pixels: resizer.pixels)
        image.profile = conversion.keptProfile
        if decoder.keepsMetadata {
            image.exif = decoder.appliesOrientation ? header.exif?.reset : header.exif?.bytes
        }
        image.damage = damage
        image = try image.oriented(plan.orientation, within: budget)
            .completed(plan.seen, sizing, at: &place, within: budget)
        return AnimationFrame(image, milliseconds: frame.milliseconds)
    }
}

extension ImageDecoder {
    /// Reads the frames of a file: of an animated GIF or WebP, or the only one of a still image.
    ///
    /// - Parameters:
    ///   - sizing: The size of the frames; nil: the stored one. A part that is selected by content is that of the first frame.
    ///   - budget: The budget of all frames together, which may be shared with later operations. Default: a new one with ``limits``.
    /// - Throws: The errors of ``decode(_:to:within:)``; `limitExceeded` also for too many frames, pixels of all frames, or seconds.
    public func frames(
        of source: ImageSource, to sizing: ImageSizing? = nil, within budget: ImageBudget? = nil
    ) throws(ImageCodecError) -> AnimationReader {
        try AnimationReader(source, sizing, self, budget ?? ImageBudget(limits: limits))
    }
}
