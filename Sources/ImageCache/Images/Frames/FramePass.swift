import ConcurrencyPrimitives
import ImageCodec
import Units

/// One pass over the frames of a file, on the decoding threads. The file is read from the first frame that is not in memory.
final class FramePass: Sendable {
    private struct State {
        var reader: AnimationReader?
        var budget: ImageBudget?
        /// The frame that the reader is at.
        var position = 0
    }

    private let original: FrameOriginal
    private let state = Locked(State())
    private let cancellation = ImageCancellation()

    init(_ original: FrameOriginal) { self.original = original }

    deinit {
        guard let decoding = state.withLock({ $0.budget?.decoding }) else { return }
        original.renderer.counts.withLock { $0.times.decode.note(.seconds(decoding)) }
    }

    /// A frame, in order; `nil` after the last.
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
            let frame = try await renderer.slots.run(original.turn, memory: { bytes }, on: renderer.executor) {
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
            return try state.withLock { (state) throws(ImageCodecError) in try read(number, &state) }
        } catch {
            throw ImageCacheError(error, original.file)
        }
    }

    private func read(_ number: Int, _ state: inout State) throws(ImageCodecError) -> AnimationFrame? {
        let request = original.request
        let budget = state.budget ?? ImageBudget(limits: request.decoder.limits, cancellation: cancellation)
        if state.budget == nil {
            state.budget = budget
            original.renderer.counts.withLock { counts in
                counts.decodes += 1
                if request.sizing != nil { counts.resizes += 1 }
            }
            state.reader = try request.decoder.frames(
                of: ImageSource(original.file), to: request.sizing, within: budget)
        }
        guard let reader = state.reader else { return nil }
        while state.position < number {
            state.position += 1
            guard try reader.skip() else { return nil }
        }
        state.position += 1
        guard let frame = try reader.next() else { return nil }
        var image = frame.image
        for processor in request.processors { image = try processor.process(image, within: budget) }
        return AnimationFrame(image, for: frame.duration)
    }
}
