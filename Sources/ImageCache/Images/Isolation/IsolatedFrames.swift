import ImageCodec
import ImageEffects
import WorkerProcesses

/// Decodes frames in a worker, a few ahead of their reader. Effects of an application run in this process.
///
/// The first request is for one frame. Each further one is for twice as many, up to a limit. Between two requests, the worker is free for
/// other work (``WorkerSession``).
final class IsolatedFrames: FrameReading {
    private struct Made {
        let number: Int
        let image: DecodedImage
        let duration: Duration
        /// In seconds of CPU time.
        let decodeTime: Double
        let processTime: Double
    }

    private let original: FrameOriginal
    private let isolation: ImageIsolation
    private let session: WorkerSession
    private let cancellation: ImageCancellation
    /// The budget of all frames.
    private let budget: ImageBudget
    private let steps: (sent: RenderSteps, own: RenderSteps?)
    /// Frames that have not been read, in order.
    private var made: [Made] = []
    /// The number of frames in the last request.
    private var count = 0
    /// True if no frames follow those in ``made``, because of the failure if there is one.
    private var isOver = false
    private var failure: ImageCodecError?
    private(set) var decoding = 0.0

    init(
        _ original: FrameOriginal, _ isolation: ImageIsolation, _ cancellation: ImageCancellation
    ) throws(ImageCodecError) {
        let request = original.request
        self.original = original
        self.isolation = isolation
        self.cancellation = cancellation
        session = try isolation.session()
        budget = original.budget(cancellation)
        steps = RenderSteps(processors: request.processors, output: .pixels).divided
    }

    func frame(_ number: Int) throws(ImageCodecError) -> AnimationFrame? {
        while let frame = next(from: number) {
            guard frame.number == number else { continue }
            let image = try steps.own?.processors.process(frame.image, within: budget) ?? frame.image
            return AnimationFrame(image, for: frame.duration)
        }
        defer { failure = nil }
        if let failure { throw failure }
        return nil
    }

    /// The next frame that has not been read, requested from the worker if necessary.
    private func next(from number: Int) -> Made? {
        if made.isEmpty, !isOver { request(from: number) }
        guard !made.isEmpty else { return nil }
        let frame = made.removeFirst()
        budget.charge(frame.decodeTime + frame.processTime)
        decoding += frame.decodeTime
        return frame
    }

    private func request(from first: Int) {
        count = min(max(1, count * 2), original.framesAtATime, original.header.shownFrames - first)
        do throws(ImageCodecError) { try request(first, count) } catch {
            (isOver, failure) = (true, error)
        }
    }

    private func request(_ first: Int, _ count: Int) throws(ImageCodecError) {
        let (file, decoder) = (original.file, original.request.decoder)
        var frames = ImageWorkRequest.Frames()
        frames.session = session.number
        frames.byteCount = Int(file.size)
        frames.job = ImageWorkRequest.Job(sizing: original.request.sizing, steps: steps.sent)
        (frames.first, frames.count, frames.spent) = (first, count, budget.spent)
        guard let descriptor = OpenDescriptor(reading: file.body.descriptor) else { throw .tooManyDescriptors }
        var failure: ImageCodecError?
        try isolation.run(
            ImageWorkRequest(decoder: decoder, work: .frames(frames)), descriptor, in: session,
            limit: decoder.limits.seconds, after: original.headerWork, file: (file.body.descriptor, Int(file.size)),
            isCancelled: { cancellation.isCancelled }
        ) { answer, _ in
            switch answer {
            case .frame(let number, let milliseconds, let content):
                return take(number, milliseconds, content, of: first..<first + count) ? false : nil
            case .end:
                isOver = made.count < count
                return true
            case .failure(let error):
                failure = error
                return true
            default: return nil
            }
        }
        if let failure { throw failure }
    }

    /// - Returns: False for an invalid answer.
    private func take(
        _ number: Int, _ milliseconds: Int, _ content: RenderedContent, of wanted: Range<Int>
    ) -> Bool {
        let next = made.last.map { $0.number + 1 } ?? wanted.lowerBound
        guard wanted.contains(number), number <= next, case .pixels(let image) = content.content,
            (0...Int(UInt32.max)).contains(milliseconds)
        else { return false }
        // All frames are repeated after a worker was killed.
        guard number == next else { return true }
        made.append(
            Made(
                number: number, image: image, duration: .milliseconds(milliseconds),
                decodeTime: content.decodeTime, processTime: content.processTime))
        return true
    }
}

extension ImageRenderer {
    /// The frames of a file, from a worker if there is one for it.
    func frames(
        of original: FrameOriginal, _ cancellation: ImageCancellation
    ) throws(ImageCodecError) -> any FrameReading {
        guard let isolation, isolation.isUsed(for: original.header.format),
            original.header.decoderIdentity == nil
        else {
            return try OwnFrames(original, cancellation)
        }
        return try IsolatedFrames(original, isolation, cancellation)
    }
}
