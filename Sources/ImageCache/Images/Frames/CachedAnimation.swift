public import FoundationEssentials
public import ImageCodec

/// An image file and its frames: those of an animated GIF or WebP, or the only one of another file.
///
///     let animation = try await cache.animation(for: "https://example.com/cat.gif", resizedTo: .fit(200, 200))
///     for try await frame in animation.frames {
///         show(frame.image)
///         try await Task.sleep(for: frame.duration)
///     }
///
/// All frames are those of one file, whatever is replaced, evicted or removed meanwhile.
public struct CachedAnimation: Sendable {
    /// The number of frames by the file's header; 1 for a still image, and for an AVIF.
    public let frameCount: Int
    /// The number of times that the animation is shown; 0: for ever. 1 for a still image.
    public let loopCount: Int
    /// The time of all frames; zero for a still image.
    public let duration: Duration
    /// The origin of the file.
    public let source: CachedFile.Source
    /// The frames, from the first one with each iteration.
    public let frames: ImageFrames

    init(_ original: FrameOriginal) {
        frameCount = original.header.shownFrames
        loopCount = original.header.loops
        duration = original.header.duration
        source = original.file.source
        frames = ImageFrames(original: original)
    }
}

/// The frames of an image, each composed with those before it, resized and processed when it is asked for.
///
/// An iteration holds one canvas of the original's size and one frame. Frames stay in the cache's memory as images do: each counts as
/// width × height × 4 bytes, and those with the oldest access go first. An iteration takes from there whatever it finds, and composes
/// the rest; an animation whose frames all fit is decoded once, however often it is shown. Frames of a file that may not be stored are
/// not kept.
///
/// With ``DownloadCache/Configuration/decoderIsolation`` a worker decodes them, at most eight and 4 MiB ahead. A crash is the end of the
/// iteration, after the frames before it. While an iteration pauses, its worker may be taken for other work; frames are then composed again.
public struct ImageFrames: AsyncSequence, Sendable {
    public typealias Element = AnimationFrame

    let original: FrameOriginal

    public func makeAsyncIterator() -> Iterator { Iterator(pass: FramePass(original)) }

    /// One pass over the frames. Each waits for its turn among the cache's decodes, by the request's priority.
    public struct Iterator: AsyncIteratorProtocol {
        let pass: FramePass
        private var next = 0

        init(pass: FramePass) { self.pass = pass }

        /// The next frame; `nil` after the last.
        ///
        /// - Throws: ``ImageCacheError/Code/undecodable(_:)``: a damaged frame, or more time than the request's limits give all frames
        ///   together; ``ImageCacheError/Code/cancelled``.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(ImageCacheError) -> AnimationFrame? {
            defer { next += 1 }
            do throws(ImageCacheError) { return try await pass.frame(next) } catch { throw error.with(url: pass.url) }
        }
    }
}

extension DownloadCache {
    /// The frames of an animated image, or the only one of a still image, for showing them one after another.
    ///
    /// - Parameter request: The original, and the size and effects for each frame. Its ``ImageRequest/keepsAnimation``, its
    ///   ``ImageRequest/storing`` and the decoder's `frame` are not looked at: frames are kept in memory only.
    /// - Throws: The errors of ``file(for:)-(FileRequest)``, and ``ImageCacheError/Code/undecodable(_:)``, also for too many frames, too many
    ///   pixels in them, or too long a time (``DecodingLimits``).
    public func animation(for request: ImageRequest) async throws(ImageCacheError) -> CachedAnimation {
        do throws(ImageCacheError) {
            return CachedAnimation(try await pipeline.frames(for: request))
        } catch {
            throw error.with(url: request.file.url)
        }
    }

    /// The frames of the image at a URL, in a size; `nil`: the size of the original.
    public func animation(
        for url: String, resizedTo sizing: ImageSizing? = nil
    ) async throws(ImageCacheError) -> CachedAnimation {
        try await animation(for: ImageRequest(url, sizing))
    }

    /// The frames of the image at a URL, in a size; `nil`: the size of the original.
    public func animation(
        for url: URL, resizedTo sizing: ImageSizing? = nil
    ) async throws(ImageCacheError) -> CachedAnimation {
        try await animation(for: ImageRequest(url, sizing))
    }
}
