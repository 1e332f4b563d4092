import HTTPTypes
import NIOCore

/// Parses the requests of one connection from its bytes, however they are divided.
///
/// The only parser of requests: there is no second, more lenient one that could interpret the same bytes differently,
/// which enables request smuggling. No socket, no clock.
struct RequestReader {
    enum Step {
        /// The head is complete; content may follow.
        case head(RequestHead)
        /// The request is complete.
        case content([UInt8])
    }

    private enum Phase {
        case head
        case length(left: Int)
        case chunked(ChunkedContent)
    }

    private let limits: RequestLimits
    private var phase = Phase.head
    private var scanner = HeadScanner()
    private var line: RequestLine?
    private var content: [UInt8] = []
    private var skippedLines = 0

    init(limits: RequestLimits) { self.limits = limits }

    /// True if no byte of a request has been examined.
    var isBetweenRequests: Bool {
        if case .head = phase { scanner.hasExaminedNothing && skippedLines == 0 } else { false }
    }

    /// True if the request whose head is being read is known to be a HEAD, even if the rest of its line is invalid.
    ///
    /// - Parameter buffer: The bytes that ``next(_:)`` has left.
    func isReadingHEAD(from buffer: ByteBuffer) -> Bool {
        if let line { return line.method == .head }
        return buffer.readableBytesView.starts(with: "HEAD ".utf8)
    }

    /// The number of content bytes held here.
    var contentSize: Int {
        if case .chunked(let chunked) = phase { chunked.content.count } else { content.count }
    }

    /// The next step; nil if more bytes are needed.
    ///
    /// ``Step/head(_:)`` is always followed by ``Step/content(_:)``, which may be empty.
    mutating func next(_ buffer: inout ByteBuffer) throws(RequestError) -> Step? {
        switch phase {
        case .head:
            guard let head = try readHead(&buffer) else { return nil }
            switch head.framing {
            case .none: phase = .length(left: 0)
            case .length(let length): phase = .length(left: length)
            case .chunked: phase = .chunked(ChunkedContent(limits: limits))
            }
            return .head(head)
        case .length(let left):
            let count = min(left, buffer.readableBytes)
            if count > 0 {
                buffer.withUnsafeReadableBytes { content += $0.prefix(count) }
                buffer.moveReaderIndex(forwardBy: count)
            }
            guard count == left else {
                phase = .length(left: left - count)
                return nil
            }
            return finish(with: content)
        case .chunked(var chunked):
            // Moved out while it is changed, so that the content is not copied for every chunk.
            phase = .head
            let isWhole = try chunked.read(&buffer)
            if isWhole { return finish(with: chunked.content) }
            phase = .chunked(chunked)
            return nil
        }
    }

    private mutating func finish(with content: [UInt8]) -> Step {
        self.content = []
        phase = .head
        scanner = HeadScanner()
        line = nil
        skippedLines = 0
        return .content(content)
    }

    private mutating func readHead(_ buffer: inout ByteBuffer) throws(RequestError) -> RequestHead? {
        // RFC 9112 section 2.2: one empty line before a request is skipped; more are refused.
        if skippedLines == 0, scanner.firstLineEnd == nil, buffer.readableBytes >= 2,
            buffer.readableBytesUInt8Span[0] == .carriageReturn, buffer.readableBytesUInt8Span[1] == .lineFeed
        {
            buffer.moveReaderIndex(forwardBy: 2)
            // It may have scanned the CR already, if that arrived alone.
            scanner = HeadScanner()
            skippedLines = 1
        }
        let end = try scanner.end(in: buffer.readableBytesUInt8Span)
        if line == nil, let lineEnd = scanner.firstLineEnd {
            guard lineEnd <= limits.target + 96 else { throw RequestLine.targetTooLong(limits) }
            line = try RequestLine(buffer.readableBytesUInt8Span.extracting(0..<(lineEnd - 2)), limits: limits)
        }
        guard let end, let line, let lineEnd = scanner.firstLineEnd else {
            if line == nil, buffer.readableBytes > limits.target + 96 { throw RequestLine.targetTooLong(limits) }
            guard buffer.readableBytes <= limits.head else { throw .headTooLarge(limits) }
            return nil
        }
        guard end <= limits.head else { throw .headTooLarge(limits) }
        let fields = try FieldLines.fields(
            buffer.readableBytesUInt8Span.extracting(lineEnd..<(end - 2)), limit: limits.fields)
        buffer.moveReaderIndex(forwardBy: end)
        return try RequestHead(line, fields: fields, limits: limits)
    }
}

extension RequestError {
    static func headTooLarge(_ limits: RequestLimits) -> RequestError {
        RequestError(
            status: 431, code: "head-too-large", message: "The request's head is larger than \(limits.head) bytes.")
    }
}
