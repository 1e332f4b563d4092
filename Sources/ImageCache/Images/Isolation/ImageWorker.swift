import ImageCodec
import WorkerProcesses

/// The work of a worker process: one request at a time, on one thread.
final class ImageWorker {
    /// Faults for tests (``DecoderFault``).
    let hasFaults: Bool
    /// The state of the session that the last request belongs to.
    var kept: (any WorkerSessionState)?

    init(hasFaults: Bool) { self.hasFaults = hasFaults }

    func answer(_ message: WorkerMessage, _ send: (WorkerMessage) -> Bool) {
        do throws(ImageCodecError) {
            try answer(message) { (answer, rows) in
                if let message = try? answer.message(rows: rows) { _ = send(message) }
            }
        } catch {
            if let message = try? ImageWorkAnswer.failure(error).message() { _ = send(message) }
        }
    }

    typealias Send = (ImageWorkAnswer, _ rows: OpenDescriptor?) -> Void

    private func answer(_ message: WorkerMessage, _ send: Send) throws(ImageCodecError) {
        var request = ImageWorkRequest()
        var coder = WireCoder(reading: message.bytes)
        do throws(WireCoder.Malformed) {
            try request.code(by: &coder)
            try coder.end()
        } catch {
            throw ImageCodecError(.failed, "a request that the worker does not understand")
        }
        // Other work needs the memory, even if the session will continue.
        if kept?.canContinue(with: request.work) != true { kept = nil }
        if case .closeMessage = request.work { return }
        guard let descriptor = message.descriptors.first else { throw ImageCodecError(.failed, "no file") }
        switch request.work {
        case .header(let byteCount):
            let source = ImageSource(descriptor: descriptor.number, of: descriptor, byteCount: byteCount)
            if hasFaults { DecoderFault.strike(descriptor.number, at: 0) }
            send(.header(try request.decoder.header(of: source)), nil)
            return
        case .render(let rendering): try render(rendering, request.decoder, descriptor, send)
        case .frames(let wanted): try render(wanted, request.decoder, descriptor, send)
        case .preview(let wanted): try render(wanted, request.decoder, descriptor, send)
        case .closeMessage: return
        }
        // Sent after the memory of the work was freed, as the program then checks the worker's memory.
        send(.end, nil)
    }

    private func render(
        _ rendering: ImageWorkRequest.Rendering, _ decoder: ImageDecoder, _ descriptor: OpenDescriptor, _ send: Send
    ) throws(ImageCodecError) {
        if hasFaults, case .file(let byteCount) = rendering.source {
            DecoderFault.strike(descriptor.number, endingAt: byteCount)
        }
        SharedMemory.isPreferredForRows = rendering.collectsRows
        SharedMemory.isPreferred = rendering.jobs.contains { $0.steps.output == .pixels }
        defer { SharedMemory.isPreferred = false }
        if let encoder = rendering.animationEncoder, let job = rendering.jobs.first,
            case .file(let byteCount) = rendering.source
        {
            let source = ImageSource(descriptor: descriptor.number, of: descriptor, byteCount: byteCount)
            send(
                .image(
                    job: 0,
                    Self.attempt { () throws(ImageCodecError) in
                        try job.steps.run(
                            onFramesOf: source, decoder, job.sizing, encoder,
                            within: job.budget(decoder.limits))
                    }), nil)
            return
        }
        let outputs = rendering.jobs.map { DecodingOutput($0.sizing, $0.budget(decoder.limits)) }
        // The rows are sent first, so that they are available when an image is received.
        if let memory = try decode(rendering, decoder, descriptor, outputs)?.shared?.surrender() {
            send(.rows, OpenDescriptor(owning: memory))
        }
        for (index, (job, output)) in zip(rendering.jobs, outputs).enumerated() {
            send(
                .image(
                    job: index,
                    Self.attempt { () throws(ImageCodecError) in
                        try job.steps.run(
                            on: try output.take(), of: rendering.header ?? ImageHeader.none, within: output.budget)
                    }), nil)
        }
    }

    /// - Returns: The rows, if they were requested.
    private func decode(
        _ rendering: ImageWorkRequest.Rendering, _ decoder: ImageDecoder, _ descriptor: OpenDescriptor,
        _ outputs: [DecodingOutput]
    ) throws(ImageCodecError) -> DecodedRows? {
        switch rendering.source {
        case .rows(let scale):
            guard let header = rendering.header,
                let rows = DecodedRows(header, scale, trusting: descriptor.number)
            else {
                throw ImageCodecError(.failed, format: .jpeg, "rows that cannot be read")
            }
            decoder.decode(rows, outputs, cancellation: nil)
            return nil
        case .file(let byteCount):
            let source = ImageSource(descriptor: descriptor.number, of: descriptor, byteCount: byteCount)
            let collector = rendering.collectsRows ? RowCollector() : nil
            decoder.decode(source, outputs, cancellation: nil, collecting: collector)
            return collector?.rows
        }
    }

    private static func attempt(
        _ work: () throws(ImageCodecError) -> RenderedContent
    ) -> Result<RenderedContent, ImageCodecError> {
        do throws(ImageCodecError) { return .success(try work()) } catch { return .failure(error) }
    }
}

extension ImageWorkRequest.Job {
    /// The remaining budget of the image.
    fileprivate func budget(_ limits: DecodingLimits) -> ImageBudget {
        let budget = ImageBudget(limits: limits)
        budget.charge(spent)
        return budget
    }
}
