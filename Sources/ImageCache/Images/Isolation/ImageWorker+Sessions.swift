import ImageCodec
import ImageEffects
import WorkerProcesses

/// The state that a worker keeps between two requests of a session.
protocol WorkerSessionState: AnyObject {
    /// Returns false for other work.
    func canContinue(with work: ImageWorkRequest.Work) -> Bool
}

extension ImageWorker {
    func render(
        _ wanted: ImageWorkRequest.Frames, _ decoder: ImageDecoder, _ descriptor: OpenDescriptor, _ send: Send
    ) throws(ImageCodecError) {
        SharedMemory.isPreferred = true
        defer { SharedMemory.isPreferred = false }
        let frames: WorkerFrames
        if let kept = kept as? WorkerFrames {
            frames = kept
        } else {
            frames = try WorkerFrames(wanted, decoder, descriptor)
        }
        // No state is kept after an error.
        kept = nil
        try frames.advance(to: wanted)
        for number in wanted.first..<wanted.first + wanted.count {
            if hasFaults { DecoderFault.strike(descriptor.number, endingAt: wanted.byteCount, frame: number) }
            guard let frame = try frames.next() else { break }
            send(frame, nil)
        }
        kept = frames
    }

    func render(
        _ wanted: ImageWorkRequest.Preview, _ decoder: ImageDecoder, _ descriptor: OpenDescriptor, _ send: Send
    ) throws(ImageCodecError) {
        SharedMemory.isPreferred = true
        defer { SharedMemory.isPreferred = false }
        let preview = kept as? WorkerPreview ?? WorkerPreview(wanted, decoder)
        kept = nil
        if hasFaults { DecoderFault.strike(descriptor.number, endingAt: wanted.byteCount) }
        if let image = try preview.reading.image(of: descriptor.number, byteCount: wanted.byteCount) {
            send(.image(job: 0, .success(RenderedContent(content: .pixels(image), damage: nil))), nil)
        }
        kept = preview
    }
}

/// The decoder of a file that is still arriving.
final class WorkerPreview: WorkerSessionState {
    private let session: Int
    let reading: OwnPreview

    init(_ wanted: ImageWorkRequest.Preview, _ decoder: ImageDecoder) {
        session = wanted.session
        reading = OwnPreview(wanted.job.sizing, wanted.job.steps.processors, decoder)
    }

    func canContinue(with work: ImageWorkRequest.Work) -> Bool {
        if case .preview(let wanted) = work { wanted.session == session } else { false }
    }
}
