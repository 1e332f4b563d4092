import ImageCodec
import ImageEffects

/// Renders the frames of a file in order. Used by one thread at a time, which it blocks.
protocol FrameReading: AnyObject {
    /// The CPU time of decoding so far, in seconds.
    var decoding: Double { get }

    /// A frame after those that were read before; `nil` after the last. No frames follow an error.
    func frame(_ number: Int) throws(ImageCodecError) -> AnimationFrame?
}

/// Decodes frames in this process.
final class OwnFrames: FrameReading {
    private let reader: AnimationReader
    private let processors: [ImageProcessor]
    private let budget: ImageBudget
    /// The number of the reader's next frame.
    private var position = 0

    init(_ original: FrameOriginal, _ cancellation: ImageCancellation) throws(ImageCodecError) {
        let request = original.request
        processors = request.processors
        budget = original.budget(cancellation)
        reader = try request.decoder.frames(of: ImageSource(original.file), to: request.sizing, within: budget)
    }

    var decoding: Double { budget.decoding }

    func frame(_ number: Int) throws(ImageCodecError) -> AnimationFrame? {
        while position < number {
            position += 1
            guard try reader.skip() else { return nil }
        }
        position += 1
        guard let frame = try reader.next() else { return nil }
        return AnimationFrame(try processors.process(frame.image, within: budget), for: frame.duration)
    }
}
