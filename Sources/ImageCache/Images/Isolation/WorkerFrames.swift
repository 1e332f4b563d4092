import ImageCodec
import ImageEffects
import WorkerProcesses

/// The frames of a file in a worker. Each request of their session resumes after the previous one.
final class WorkerFrames: WorkerSessionState {
    private let session: Int
    private let processors: [ImageProcessor]
    private let reader: AnimationReader
    private let budget: ImageBudget
    /// The number of the next frame.
    private var position = 0
    /// The CPU seconds of the previous frames.
    private var spent = 0.0

    init(
        _ wanted: ImageWorkRequest.Frames, _ decoder: ImageDecoder, _ descriptor: OpenDescriptor
    ) throws(ImageCodecError) {
        session = wanted.session
        processors = wanted.job.steps.processors
        budget = ImageBudget(limits: decoder.limits)
        reader = try decoder.frames(
            of: ImageSource(descriptor: descriptor.number, of: descriptor, byteCount: wanted.byteCount),
            to: wanted.job.sizing, within: budget)
    }

    func canContinue(with work: ImageWorkRequest.Work) -> Bool {
        guard case .frames(let wanted) = work else { return false }
        return wanted.session == session && wanted.first >= position
    }

    /// Skips to the first requested frame.
    func advance(to wanted: ImageWorkRequest.Frames) throws(ImageCodecError) {
        while position < wanted.first {
            position += 1
            guard try reader.skip() else { return }
        }
        // Skipped frames are not charged again, because the number of repetitions depends on other work.
        budget.charge(max(0, wanted.spent - budget.spent))
        spent = wanted.spent
    }

    /// The next frame; nil after the last.
    func next() throws(ImageCodecError) -> ImageWorkAnswer? {
        let number = position
        position += 1
        guard let frame = try reader.next() else { return nil }
        let decoded = budget.spent
        let image = try processors.process(frame.image, within: budget)
        var content = RenderedContent(content: .pixels(image), damage: image.damage)
        (content.decodeTime, content.processTime) = (decoded - spent, budget.spent - decoded)
        spent = budget.spent
        return .frame(number, milliseconds: Int(frame.duration / .milliseconds(1)), content)
    }
}
