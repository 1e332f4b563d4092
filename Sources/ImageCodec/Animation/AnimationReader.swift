internal import CImageCodec

/// Reads the frames of an image file in order. Each is composited with the frames before it, as browsers do, and resized.
///
/// One canvas and one frame are in memory at a time. Reading blocks the calling thread; a reader is used by one thread at a time.
///
///     let reader = try ImageDecoder().frames(of: ImageSource(path: "animation.gif"), to: .fit(200, 200))
///     while let frame = try reader.next() { show(frame.image, for: frame.duration) }
public final class AnimationReader {
    /// The width of a frame in pixels.
    public let width: Int
    public let height: Int
    /// The number of frames by the file's header; 1 for a still image, and for an AVIF.
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
    /// The filter of the last frame.
    private var usedResizer: RowResizer?
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
        let header = try decoder.header(of: source, within: budget).showingFrames
        self.header = header
        try decoder.limits.check(framesOf: header)
        plan = try decoder.target(sizing, of: header).plan
        (width, height) = (plan.seen.result.width, plan.seen.result.height)
        frameCount = header.shownFrames
        loopCount = header.loops
        duration = header.duration
        conversion = try budget.measured { [color = decoder.color] (_) throws(ImageCodecError) in
            try ColorConversion(header, color)
        }
        guard header.isAnimated else {
            frames = .still(source)
            return
        }
        frames = .composed(
            try budget.measured { (watch) throws(ImageCodecError) in
                try decoder.composer(of: source, header.format, watch)
            })
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
            return AnimationFrame(image, for: .zero)
        case .composed(let composer):
            return try step(composer) { (frame) throws(ImageCodecError) in try resized(frame) }
        }
    }

    /// Passes over the next frame: it is composed, for those after it, and not resized.
    ///
    /// - Returns: False after the last frame.
    package func skip() throws(ImageCodecError) -> Bool {
        // The first frame's content may select the part of all.
        guard case .composed(let composer) = frames, plan.seen.cut == nil || place != nil else {
            return try next() != nil
        }
        return try step(composer) { (_) throws(ImageCodecError) in true } ?? false
    }

    /// Composes the next frame; the first error is the end.
    private func step<Result>(
        _ composer: any FrameComposing, _ work: (ComposedFrame) throws(ImageCodecError) -> Result
    ) throws(ImageCodecError) -> Result? {
        do throws(ImageCodecError) {
            return try budget.decoding { () throws(ImageCodecError) in
                let frame = try budget.measured { (watch) throws(ImageCodecError) in try composer.next(&watch) }
                damage = composer.damage
                guard let frame else {
                    frames = .ended
                    return nil
                }
                return try work(frame)
            }
        } catch {
            frames = .ended
            throw error
        }
    }

    /// The filter for the next frame. All frames share its weights.
    private func resizer(hasAlpha: Bool) throws(ImageCodecError) -> RowResizer {
        if let usedResizer {
            try usedResizer.restart(hasAlpha: hasAlpha)
            return usedResizer
        }
        let resizer = try RowResizer(
            Resizing(header, .whole, plan, hasAlpha: hasAlpha, linear: decoder.usesLinearLight))
        usedResizer = resizer
        return resizer
    }

    private func resized(_ frame: ComposedFrame) throws(ImageCodecError) -> AnimationFrame {
        let resizer = try resizer(hasAlpha: !frame.isOpaque)
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
        return AnimationFrame(image, for: .milliseconds(frame.milliseconds))
    }
}

extension ImageDecoder {
    /// Reads the frames of an animated GIF or WebP, or the only frame of a still image.
    ///
    /// - Parameters:
    ///   - sizing: The size of the frames, or nil for the stored size. A crop that depends on the content is chosen by the first frame.
    ///   - budget: The budget of all frames together, which later operations may share. Default: a new one with ``limits``.
    /// - Throws: The errors of ``decode(_:to:within:)``. `limitExceeded` also for too many frames, or too many pixels or seconds in total.
    public func frames(
        of source: ImageSource, to sizing: ImageSizing? = nil, within budget: ImageBudget? = nil
    ) throws(ImageCodecError) -> AnimationReader {
        try AnimationReader(source, sizing, self, budget ?? ImageBudget(limits: limits))
    }
}
