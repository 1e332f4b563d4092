import ConcurrencyPrimitives
import ImageCodec
import Testing
import WorkerProcesses

@testable import ImageCache

/// The time limit of one image. Each worker gets the remaining time.
struct ImageWorkerBudgetTests {
    private func outcome(spent: Double, isAnimation: Bool) throws -> Result<RenderedContent, ImageCodecError>? {
        let picture = try DecodedImage(width: 8, height: 8) { _ in }
        let file = ImageSource(try ImageEncoder.png().encode(picture))
        var decoder = ImageDecoder()
        decoder.limits.seconds = 20
        var rendering = ImageWorkRequest.Rendering()
        rendering.source = .file(byteCount: file.byteCount)
        let steps = RenderSteps(processors: [], output: .encoded(.webp()))
        rendering.jobs = [ImageWorkRequest.Job(sizing: .fit(4, 4), steps: steps, spent: spent)]
        if isAnimation { rendering.animationEncoder = .webp() }
        let request = ImageWorkRequest(decoder: decoder, work: .render(rendering))
        let message = WorkerMessage(
            try request.bytes(), descriptors: [OpenDescriptor(owning: try file.descriptor())])
        var outcome: Result<RenderedContent, ImageCodecError>?
        ImageWorker(hasFaults: false).answer(message) { answer in
            if case .image(_, let result) = try? ImageWorkAnswer(answer) { outcome = result }
            return true
        }
        return outcome
    }

    @Test(arguments: [false, true])
    func `an image whose header has used up its time is not rendered`(isAnimation: Bool) throws {
        guard case .success = try outcome(spent: 0, isAnimation: isAnimation) else {
            Issue.record("no image")
            return
        }
        guard case .failure(let error) = try outcome(spent: 20.5, isAnimation: isAnimation) else {
            Issue.record("an image")
            return
        }
        #expect(error.code == .limitExceeded, "\(error)")
    }
}
