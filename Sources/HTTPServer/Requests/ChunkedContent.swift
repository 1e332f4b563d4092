import HTTPSemantics
import HTTPTypes
import NIOCore

/// Decodes the chunked transfer coding (RFC 9112 section 7.1), strictly: sizes consist of hexadecimal digits only,
/// every line ends with CRLF, extensions after `;` are short and printable.
struct ChunkedContent {
    private enum Phase {
        case size
        case data(left: Int)
        case dataEnd
        case trailers
    }

    private var phase = Phase.size
    private var scanner = HeadScanner()
    private let limits: RequestLimits
    private(set) var content: [UInt8] = []

    /// The greatest length of a chunk's first line: its size and extensions.
    private static let longestSizeLine = 256

    private static let neverTrailers: Set<String> = [
        "connection", "content-length", "expect", "host", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    init(limits: RequestLimits) { self.limits = limits }

    /// Decodes the received bytes; returns true when the last chunk and the trailers are read.
    mutating func read(_ buffer: inout ByteBuffer) throws(RequestError) -> Bool {
        while true {
            switch phase {
            case .size:
                guard let size = try readSize(&buffer) else { return false }
                phase = size == 0 ? .trailers : .data(left: size)
            case .data(let left):
                let count = min(left, buffer.readableBytes)
                guard count > 0 else { return false }
                buffer.withUnsafeReadableBytes { content += $0.prefix(count) }
                buffer.moveReaderIndex(forwardBy: count)
                phase = count == left ? .dataEnd : .data(left: left - count)
            case .dataEnd:
                guard try readLineEnd(&buffer) else { return false }
                phase = .size
            case .trailers: return try readTrailers(&buffer)
            }
        }
    }

    private mutating func readSize(_ buffer: inout ByteBuffer) throws(RequestError) -> Int? {
        let (size, lineLength) = try Self.size(buffer.readableBytesUInt8Span)
        guard let lineLength else { return nil }
        guard content.count + size <= limits.body else { throw .contentTooLarge(limits) }
        buffer.moveReaderIndex(forwardBy: lineLength)
        return size
    }

    /// The size in a line and the line's length; no length if its end is missing.
    private static func size(_ bytes: Span<UInt8>) throws(RequestError) -> (size: Int, lineLength: Int?) {
        var size = 0
        var index = 0
        while index < bytes.count, let digit = bytes[index].hexadecimalValue {
            guard index < 15 else { throw .bad("bad-chunk", "A chunk's size has too many digits.") }
            size = size << 4 | Int(digit)
            index += 1
        }
        guard index < bytes.count else { return (0, nil) }
        guard index > 0, bytes[index] == .carriageReturn || bytes[index] == UInt8(ascii: ";") else {
            throw .bad("bad-chunk", "A chunk's size is not a hexadecimal number at the line's beginning.")
        }
        var form = ChunkExtension()
        while index < bytes.count, bytes[index] != .carriageReturn {
            guard form.takes(bytes[index]), index < longestSizeLine else {
                throw .bad("bad-chunk", "A chunk's extension is too long, or is none.")
            }
            index += 1
        }
        guard index == bytes.count || form.isWhole else {
            throw .bad("bad-chunk", "A chunk's extension ends in its middle.")
        }
        guard index + 1 < bytes.count else { return (0, nil) }
        guard bytes[index + 1] == .lineFeed else { throw .bad("bad-chunk", "A chunk's size is not followed by CRLF.") }
        return (size, index + 2)
    }

    private func readLineEnd(_ buffer: inout ByteBuffer) throws(RequestError) -> Bool {
        let isThere = try Self.beginsWithLineEnd(buffer.readableBytesUInt8Span)
        if isThere { buffer.moveReaderIndex(forwardBy: 2) }
        return isThere
    }

    private static func beginsWithLineEnd(_ bytes: Span<UInt8>) throws(RequestError) -> Bool {
        let isWrong =
            bytes.count > 0 && bytes[0] != .carriageReturn || bytes.count > 1 && bytes[1] != .lineFeed
        guard !isWrong else { throw .bad("bad-chunk", "A chunk's data are not followed by CRLF.") }
        return bytes.count > 1
    }

    /// Trailer fields are validated and dropped, as RFC 9110 section 6.5.1 allows: none is needed.
    private mutating func readTrailers(_ buffer: inout ByteBuffer) throws(RequestError) -> Bool {
        guard let end = try scanner.end(in: buffer.readableBytesUInt8Span) else {
            guard buffer.readableBytes <= limits.head else { throw .headTooLarge(limits) }
            return false
        }
        guard end <= limits.head else { throw .headTooLarge(limits) }
        let trailers = try FieldLines.fields(
            buffer.readableBytesUInt8Span.extracting(0..<(end - 2)), limit: limits.fields)
        // RFC 9110 section 6.5.1: fields for framing or routing must not be trailers.
        for field in trailers where Self.neverTrailers.contains(field.name.canonicalName) {
            throw .bad("bad-trailer", "A trailer field is one that only a head may have.")
        }
        buffer.moveReaderIndex(forwardBy: end)
        return true
    }
}
