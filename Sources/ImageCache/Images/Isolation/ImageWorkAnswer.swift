import ImageCodec
import ImageEffects
import WorkerProcesses

/// An answer of a worker.
enum ImageWorkAnswer: Sendable {
    case header(ImageHeader)
    /// The image of a job, or its error.
    case image(job: Int, Result<RenderedContent, ImageCodecError>)
    /// A frame of an animation and its duration.
    case frame(Int, milliseconds: Int, RenderedContent)
    /// The requested rows, which are complete; they are in the message's descriptor.
    case rows
    /// All jobs are done.
    case end
    /// The error of the whole request.
    case failure(ImageCodecError)
}

extension ImageWorkAnswer {
    private enum Kind: Int {
        case header, image, rows, end, failure, frame
    }

    /// Encodes the answer. Its images must not be used afterwards.
    ///
    /// - Parameter rows: The descriptor of the rows.
    func message(rows: OpenDescriptor? = nil) throws(WireCoder.Malformed) -> WorkerMessage {
        var coder = WireCoder()
        var descriptors = rows.map { [$0] } ?? []
        switch self {
        case .header(var header):
            try Self.write(.header, &coder)
            try coder.code(&header)
        case .image(var job, .failure(var error)):
            var content: RenderedContent?
            try Self.write(.image, &coder)
            try coder.code(&job)
            try Self.code(&content, &coder, &descriptors)
            try coder.code(&error)
        case .image(var job, .success(let rendered)):
            var content: RenderedContent? = rendered
            try Self.write(.image, &coder)
            try coder.code(&job)
            try Self.code(&content, &coder, &descriptors)
        case .frame(var number, var milliseconds, let rendered):
            var content: RenderedContent? = rendered
            try Self.write(.frame, &coder)
            try coder.code(&number)
            try coder.code(&milliseconds)
            try Self.code(&content, &coder, &descriptors)
        case .rows: try Self.write(.rows, &coder)
        case .end: try Self.write(.end, &coder)
        case .failure(var error):
            try Self.write(.failure, &coder)
            try coder.code(&error)
        }
        return WorkerMessage(coder.bytes, descriptors: descriptors)
    }

    private static func write(_ kind: Kind, _ coder: inout WireCoder) throws(WireCoder.Malformed) {
        _ = try coder.code(case: kind.rawValue)
    }

    /// Reads an answer.
    init(_ message: WorkerMessage) throws(WireCoder.Malformed) {
        var coder = WireCoder(reading: message.bytes)
        var descriptors = message.descriptors
        var error = ImageCodecError(.failed, "")
        switch Kind(rawValue: try coder.code(case: 0)) {
        case .header:
            var header = ImageHeader.none
            try coder.code(&header)
            self = .header(header)
        case .image:
            var job = 0
            var content: RenderedContent?
            try coder.code(&job)
            try Self.code(&content, &coder, &descriptors)
            if content == nil { try coder.code(&error) }
            self = .image(job: job, content.map { .success($0) } ?? .failure(error))
        case .frame:
            var (number, milliseconds) = (0, 0)
            var content: RenderedContent?
            try coder.code(&number)
            try coder.code(&milliseconds)
            try Self.code(&content, &coder, &descriptors)
            guard let content else { throw WireCoder.Malformed() }
            self = .frame(number, milliseconds: milliseconds, content)
        case .rows: self = .rows
        case .end: self = .end
        case .failure:
            try coder.code(&error)
            self = .failure(error)
        case nil: throw WireCoder.Malformed()
        }
        try coder.end()
    }

    private static func code(
        _ content: inout RenderedContent?, _ coder: inout WireCoder, _ descriptors: inout [OpenDescriptor]
    ) throws(WireCoder.Malformed) {
        var isThere = content != nil
        try coder.code(&isThere)
        guard isThere else { return }
        var rendered = content ?? RenderedContent(content: .encoded([], .jpeg, width: 0, height: 0), damage: nil)
        try rendered.code(by: &coder, &descriptors)
        content = rendered
    }
}

extension RenderedContent {
    fileprivate mutating func code(
        by coder: inout WireCoder, _ descriptors: inout [OpenDescriptor]
    ) throws(WireCoder.Malformed) {
        try coder.code(&damage, from: ImageCodecError(.failed, ""))
        try coder.code(seconds: &decodeTime)
        try coder.code(seconds: &processTime)
        var (time, isEncoded) = (encodeTime ?? 0, encodeTime != nil)
        try coder.code(&isEncoded)
        try coder.code(seconds: &time)
        encodeTime = isEncoded ? time : nil
        var kind = 0
        if case .pixels = content { kind = 1 }
        switch (try coder.code(case: kind), content) {
        case (1, .pixels(let image)) where !coder.isReading:
            if let memory = try image.surrender(by: &coder) { descriptors.append(OpenDescriptor(owning: memory)) }
        case (1, _): content = .pixels(try DecodedImage(from: &coder, descriptors.first?.number))
        case (0, .encoded(var bytes, var format, var width, var height)):
            try coder.code(&bytes)
            try Self.code(&format, &coder)
            try coder.code(&width)
            try coder.code(&height)
            content = .encoded(bytes, format, width: width, height: height)
        default: throw WireCoder.Malformed()
        }
    }

    /// Encodes a format of an image, or of a text derived from one.
    private static func code(
        _ format: inout ImageFormat, _ coder: inout WireCoder
    ) throws(WireCoder.Malformed) {
        let texts = [ImageFormat.json, .plainText]
        let number = try coder.code(case: texts.firstIndex(of: format) ?? texts.count)
        guard number == texts.count else {
            guard texts.indices.contains(number) else { throw WireCoder.Malformed() }
            return format = texts[number]
        }
        try coder.code(&format)
    }
}
