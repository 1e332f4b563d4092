import ConcurrencyPrimitives
import ImageCodec
import Units

/// One pass over the frames of a file, on the decoding threads. The file is opened for the first frame that is not in memory.
final class FramePass: Sendable {
    private struct State {
        /// True after the first frame that was not in memory.
        var isOpened = false
        /// Also nil if the file could not be opened.
        var reader: (any FrameReading)?
    }

    private let original: FrameOriginal
    private let state = Locked(State())
    private let cancellation = ImageCancellation()

    var url: String { original.request.file.url }

    init(_ original: FrameOriginal) { self.original = original }

    deinit {
        guard let decoding = state.withLock({ $0.reader?.decoding }) else { return }
        original.renderer.counts.withLock { $0.times.decode.note(.seconds(decoding)) }
    }

    /// A frame in order; `nil` after the last.
    func frame(_ number: Int) async throws(ImageCacheError) -> AnimationFrame? {
        if Task.isCancelled { throw .cancelled }
        guard number < original.header.shownFrames else { return nil }
        if let frame = original.frame(number) { return frame }
        let outcome = await withTaskCancellationHandler {
            await rendered(number)
        } onCancel: {
            cancellation.cancel()
        }
        let frame = try outcome.get()
        if let frame { original.keep(frame, number) }
        return frame
    }

    private func rendered(_ number: Int) async -> Result<AnimationFrame?, ImageCacheError> {
        let (renderer, bytes) = (original.renderer, original.bytes)
        do throws(ImageCacheError) {
            let frame = try await renderer.slots.run(original.ticket, memory: { bytes }, on: renderer.executor) {
                [self] () throws(ImageCacheError) in try read(number)
            }
            return .success(frame)
        } catch {
            return .failure(error)
        }
    }

    /// Blocks the thread.
    private func read(_ number: Int) throws(ImageCacheError) -> AnimationFrame? {
        do throws(ImageCodecError) {
            return try state.withLock { (state) throws(ImageCodecError) in
                if !state.isOpened {
                    state.isOpened = true
                    state.reader = try open()
                }
                return try state.reader?.frame(number)
            }
        } catch {
            throw ImageCacheError(error, original.file)
        }
    }

    private func open() throws(ImageCodecError) -> any FrameReading {
        original.renderer.counts.withLock { counts in
            counts.decodes += 1
            if original.request.sizing != nil { counts.resizes += 1 }
        }
        return try original.renderer.frames(of: original, cancellation)
    }
}
