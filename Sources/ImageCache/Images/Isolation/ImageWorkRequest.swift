import ImageCodec

/// A piece of work for a worker. The file, or the rows, are the message's descriptor.
struct ImageWorkRequest: Sendable {
    enum Work: Sendable {
        /// Read the header of a file.
        case header(byteCount: Int)
        /// Decode a file once, and finish an image for each job.
        case render(Rendering)
    }

    var decoder = ImageDecoder()
    var work = Work.header(byteCount: 0)
}

extension ImageWorkRequest {
    struct Rendering: Sendable {
        var source = Source.file(byteCount: 0)
        /// Of the file; nil where no step needs it.
        var header: ImageHeader?
        /// True to give the decoded rows back, too.
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

    struct Job: Sendable {
        var sizing: ImageSizing?
        var steps = PortableSteps()
    }
}

extension ImageWorkRequest: WireCodable {
    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&decoder)
        switch try coder.code(case: { if case .header = work { 0 } else { 1 } }()) {
        case 0:
            var count = if case .header(let own) = work { own } else { 0 }
            try coder.code(&count)
            work = .header(byteCount: count)
        case 1:
            var rendering = if case .render(let own) = work { own } else { Rendering() }
            try coder.code(&rendering)
            work = .render(rendering)
        default: throw WireCoder.Malformed()
        }
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
    }
}
