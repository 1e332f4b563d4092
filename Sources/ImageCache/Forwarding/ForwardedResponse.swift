public import HTTPTypes

/// The response to a forwarded request. The head is complete; the body may still be arriving.
///
/// Keep this value or its body until the body has been sent. Releasing it earlier stops the transfer, unless another request waits for the
/// same body.
public struct ForwardedResponse: Sendable {
    /// The status and the end-to-end fields (RFC 9110 section 7.6.1), with `Age`, `Cache-Status` (RFC 9211) and the fields of a 206, 304 or
    /// 416. `Content-Length` is present if the length is known.
    public let head: HTTPResponse
    /// The body; `nil` for HEAD, 204, 304 and 416.
    public let body: ForwardedBody?
    /// The handling by the cache; also in the `Cache-Status` field.
    public let cacheStatus: CacheStatus

    init(_ head: HTTPResponse, _ body: ForwardedBody?, _ status: CacheStatus) {
        self.head = head.with(status)
        self.body = body
        cacheStatus = status
    }

    /// A response whose head has its fields of the cache.
    init(head: HTTPResponse, _ body: ForwardedBody?, _ status: CacheStatus) {
        self.head = head
        self.body = body
        cacheStatus = status
    }

    /// A response from the store.
    init(_ response: CachedResponse) {
        head = response.head
        cacheStatus = response.cacheStatus
        body = response.range.map { ForwardedBody(.stored(response, $0), length: $0.upperBound - $0.lowerBound) }
    }

    /// A range whose blocks are sent as they arrive.
    init(_ blocks: RangeOfBlocks) {
        let body = blocks.range.map { ForwardedBody(.blocks(blocks), length: $0.upperBound - $0.lowerBound) }
        self.init(blocks.head, body, blocks.status)
    }
}

/// The body of a ``ForwardedResponse`` as a sequence of pieces. It can be read once.
///
/// A piece is valid until the next one is requested. The sequence throws if the origin fails for good in the middle, or if the
/// representation has changed when an interrupted download is resumed. The message to the client must then be left incomplete (RFC 9112
/// section 8).
public struct ForwardedBody: AsyncSequence, Sendable {
    /// A piece of a body: a part of a file, or bytes in memory.
    public enum Piece: Sendable {
        /// A range of an open file, for reading with `pread` or `sendfile`.
        case stored(descriptor: Int32, range: Range<Int64>)
        /// Bytes in memory, which are not on disk, or not yet.
        case bytes([UInt8])
    }

    indirect enum Source: Sendable {
        case stored(CachedResponse, Range<Int64>)
        case live(LiveBody)
        case blocks(RangeOfBlocks)
        case passthrough(PassthroughBody.Reader)
        /// Several bodies, each after its own prefix.
        case parts([Part])
    }

    /// A body, and the bytes before it.
    struct Part: Sendable {
        var prefix: [UInt8]
        var body: ForwardedBody?
    }

    /// The body's length in bytes, if it is known.
    public let length: Int64?
    private let source: Source

    init(_ source: Source, length: Int64?) {
        self.source = source
        self.length = length
    }

    /// The body, if all of it is a range of an open file.
    package var stored: CachedResponse? { if case .stored(let response, _) = source { response } else { nil } }

    /// True if the body comes from the origin at the reader's speed, and holds its connection until it is read.
    var isPassedThrough: Bool { if case .passthrough = source { true } else { false } }

    public func makeAsyncIterator() -> some AsyncIteratorProtocol<Piece, ImageCacheError> { pieces }

    private var pieces: Iterator {
        switch source {
        case .stored(let response, let range): Iterator(source: .stored(response, range))
        case .live(let body): Iterator(source: .live(body.makeAsyncIterator()))
        case .blocks(let blocks): Iterator(source: .blocks(blocks.makeAsyncIterator()))
        case .passthrough(let reader): Iterator(source: .passthrough(reader))
        case .parts(let parts): Iterator(source: .parts(parts[...]))
        }
    }

    struct Iterator: AsyncIteratorProtocol {
        enum Source {
            case stored(CachedResponse, Range<Int64>)
            case live(LiveBody.Iterator)
            case blocks(RangeOfBlocks.Iterator)
            case passthrough(PassthroughBody.Reader)
            case parts(ArraySlice<Part>)
            indirect case part(Iterator, then: ArraySlice<Part>)
            /// The response is retained while its last piece is read.
            case over(CachedResponse?)
        }

        var source: Source

        mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(ImageCacheError) -> Piece? {
            switch source {
            case .stored(let response, let range):
                source = .over(response)
                guard let descriptor = response.descriptor, !range.isEmpty else { return nil }
                return .stored(descriptor: descriptor, range: range)
            case .live(var body):
                defer { source = .live(body) }
                return try await body.next(isolation: actor)
            case .blocks(var blocks):
                defer { source = .blocks(blocks) }
                return try await blocks.next(isolation: actor)
            case .passthrough(let reader): return try await reader.next().map { .bytes($0) }
            case .parts(let parts):
                guard let part = parts.first else { return nil }
                let rest = parts.dropFirst()
                source = part.body.map { .part($0.pieces, then: rest) } ?? .parts(rest)
                return .bytes(part.prefix)
            case .part(var body, let rest):
                if let piece = try await body.next(isolation: actor) {
                    source = .part(body, then: rest)
                    return piece
                }
                source = .parts(rest)
                return try await next(isolation: actor)
            case .over: return nil
            }
        }
    }
}
