import ImageCodec

/// A request to a worker. The message's descriptor is the file or the rows.
struct ImageWorkRequest: Sendable {
    enum Work: Sendable {
        /// Read the header of a file.
        case header(byteCount: Int)
        /// Decode a file once, and render an image for each job.
        case render(Rendering)
        /// Render some frames of a file.
        case frames(Frames)
        /// Decode a preview of a file that is still arriving, if there is a better one.
        case preview(Preview)
        /// Discard the state of a session. The message has no descriptor and gets no answer.
        case closeMessage
    }

    var decoder = ImageDecoder()
    var work = Work.header(byteCount: 0)
}

extension ImageWorkRequest {
    struct Rendering: Sendable {
        var source = Source.file(byteCount: 0)
        /// The header of the file; nil if no step needs it.
        var header: ImageHeader?
        /// True to return the decoded rows as well.
        var collectsRows = false
        /// The encoder for all frames of an animation, for the only job.
        var animationEncoder: ImageEncoder?
        var jobs: [Job] = []
    }

    /// The pixels' origin.
    enum Source: Sendable {
        case file(byteCount: Int)
        case rows(DecodingScale)
    }

    /// Consecutive frames. Their worker keeps the state for the next ones until it gets other work or a close message.
    struct Frames: Sendable {
        /// The number of the session.
        var session = 0
        var byteCount = 0
        var job = Job()
        /// The number of the first frame. A worker without the state composes the earlier frames again.
        var first = 0
        var count = 1
        /// The CPU time of the earlier frames in seconds.
        var spent = 0.0
    }

    /// The pixels of the first bytes of a file. Their worker keeps its state until it gets other work or a close message.
    struct Preview: Sendable {
        /// The number of the session.
        var session = 0
        /// The number of received bytes of the file.
        var byteCount = 0
        var job = Job()
    }

    struct Job: Sendable {
        var sizing: ImageSizing?
        var steps = RenderSteps()
        /// The CPU seconds of the image's budget that were spent on its header.
        var spent = 0.0
    }
}

extension ImageWorkRequest: WireCodable {
    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&decoder)
        switch try coder.code(case: work.number) {
        case 0:
            var count = if case .header(let own) = work { own } else { 0 }
            try coder.code(&count)
            work = .header(byteCount: count)
        case 1:
            var rendering = if case .render(let own) = work { own } else { Rendering() }
            try coder.code(&rendering)
            work = .render(rendering)
        case 2:
            var frames = if case .frames(let own) = work { own } else { Frames() }
            try coder.code(&frames)
            work = .frames(frames)
        case 3: work = .closeMessage
        case 4:
            var preview = if case .preview(let own) = work { own } else { Preview() }
            try coder.code(&preview)
            work = .preview(preview)
        default: throw WireCoder.Malformed()
        }
    }

    /// Encodes the request.
    func bytes() throws(ImageCodecError) -> [UInt8] {
        var (request, coder) = (self, WireCoder())
        do throws(WireCoder.Malformed) { try request.code(by: &coder) } catch {
            throw ImageCodecError(.failed, "a request that cannot be sent")
        }
        return coder.bytes
    }
}

extension ImageWorkRequest.Work {
    fileprivate var number: Int {
        switch self {
        case .header: 0
        case .render: 1
        case .frames: 2
        case .closeMessage: 3
        case .preview: 4
        }
    }
}

extension ImageWorkRequest.Frames: WireCodable {
    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&session)
        try coder.code(&byteCount)
        try coder.code(&job)
        try coder.code(&first)
        try coder.code(&count)
        try coder.code(&spent)
    }
}

extension ImageWorkRequest.Rendering: WireCodable {
    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&source)
        try coder.code(&header, from: ImageHeader.none)
        try coder.code(&collectsRows)
        try coder.code(&animationEncoder, from: .jpeg())
        try coder.code(&jobs, most: 100, from: ImageWorkRequest.Job())
    }
}

extension ImageWorkRequest.Preview: WireCodable {
    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&session)
        try coder.code(&byteCount)
        try coder.code(&job)
    }
}

extension ImageWorkRequest.Source: WireCodable {
    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        switch try coder.code(case: { if case .file = self { 0 } else { 1 } }()) {
        case 0:
            var count = if case .file(let own) = self { own } else { 0 }
            try coder.code(&count)
            self = .file(byteCount: count)
        case 1:
            var scale = if case .rows(let own) = self { own } else { DecodingScale.whole }
            try coder.code(&scale)
            self = .rows(scale)
        default: throw WireCoder.Malformed()
        }
    }
}

extension ImageWorkRequest.Job: WireCodable {
    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&sizing, from: ImageSizing())
        try coder.code(&steps)
        try coder.code(&spent)
    }
}
