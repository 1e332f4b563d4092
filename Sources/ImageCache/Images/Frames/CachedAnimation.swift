public import FoundationEssentials
public import ImageCodec

/// An image file and its frames: several in an animated GIF or WebP, and one in another file.
///
///     let animation = try await cache.animation(for: "https://example.com/cat.gif", resizedTo: .fit(200, 200))
///     for try await frame in animation.frames {
///         show(frame.image)
///         try await Task.sleep(for: frame.duration)
///     }
///
/// All frames come from the same file, even if it is replaced, evicted or removed in the meantime.
public struct CachedAnimation: Sendable {
    /// The number of frames according to the file's header; 1 for a still image, and for an AVIF.
    public let frameCount: Int
    /// The number of times that the animation is shown: 0 for an endless animation, 1 for a still image.
    public let loopCount: Int
    /// The total duration of the frames; zero for a still image.
    public let duration: Duration
    /// The source of the file.
    public let source: CachedFile.Source
    private let original: FrameOriginal

    init(_ original: FrameOriginal) {
        frameCount = original.header.shownFrames
        loopCount = original.header.loops
        duration = original.header.duration
        source = original.file.source
        self.original = original
    }

    /// The frames; each iteration starts with the first one. A frame is composed, resized and processed when it is requested.
    ///
    /// An iteration uses the memory of one canvas in the original's size and of one frame. Frames are kept in the memory cache like images:
    /// each costs width × height × 4 bytes, and the least recently used are removed first. An iteration uses the frames in memory and
    /// composes the others, so an animation that fits in memory is decoded only once. Frames of a file that must not be stored are not kept.
    ///
    /// With ``DownloadCache/Configuration/decoderIsolation``, a worker decodes at most eight frames and 4 MiB ahead. A crash ends the
    /// iteration after the frames before it. While an iteration pauses, its worker may be used for other work; frames are then composed
    /// again.
    ///
    /// The sequence throws ``ImageCacheError/Code/undecodable(_:)`` for a damaged frame, or if all frames together exceed the time limit of
    /// the request; ``ImageCacheError/Code/cancelled``.
    public var frames: some AsyncSequence<AnimationFrame, ImageCacheError> & Sendable {
        ImageFrames(original: original)
    }
}

/// The frames of an image.
private struct ImageFrames: AsyncSequence, Sendable {
    let original: FrameOriginal

    func makeAsyncIterator() -> Iterator { Iterator(pass: FramePass(original)) }

    /// One pass over the frames. Each frame waits for its turn among other decodes, with the priority of the request.
    struct Iterator: AsyncIteratorProtocol {
        let pass: FramePass
        private var next = 0

        init(pass: FramePass) { self.pass = pass }

        mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(ImageCacheError) -> AnimationFrame? {
            defer { next += 1 }
            do throws(ImageCacheError) { return try await pass.frame(next) } catch { throw error.with(url: pass.url) }
        }
    }
}

extension DownloadCache {
    /// The frames of an animated image, or the only frame of a still image, for playback.
    ///
    /// - Parameter request: The original, the size and the effects of each frame. ``ImageRequest/keepsAnimation``, ``ImageRequest/storing``
    ///   and the decoder's `frame` are ignored; frames are kept only in memory.
    /// - Throws: The errors of ``file(for:)-(FileRequest)``, or ``ImageCacheError/Code/undecodable(_:)``, also if the number of frames,
    ///   their pixels or their duration exceed ``DecodingLimits``.
    public func animation(for request: ImageRequest) async throws(ImageCacheError) -> CachedAnimation {
        do throws(ImageCacheError) {
            return CachedAnimation(try await pipeline.frames(for: request))
        } catch {
            throw error.with(url: request.file.url)
        }
    }

    /// The frames of the image at a URL in a size; `nil` for the original size.
    public func animation(
        for url: String, resizedTo sizing: ImageSizing? = nil
    ) async throws(ImageCacheError) -> CachedAnimation {
        try await animation(for: ImageRequest(url, sizing))
    }

    /// The frames of the image at a URL in a size; `nil` for the original size.
    public func animation(
        for url: URL, resizedTo sizing: ImageSizing? = nil
    ) async throws(ImageCacheError) -> CachedAnimation {
        try await animation(for: ImageRequest(url, sizing))
    }
}
