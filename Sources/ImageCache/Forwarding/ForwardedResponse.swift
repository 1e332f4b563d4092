public import HTTPTypes

/// An answer as a proxy sends it on: the head is there, the content may still be arriving.
///
/// Whoever asked keeps the value, or its content, until all of it is sent: letting go of it earlier stops the transfer, if
/// nobody else waits for the same body.
public struct ForwardedAnswer: Sendable {
    /// The status and the end-to-end fields (RFC 9110 section 7.6.1), with `Age`, `Cache-Status` (RFC 9211), and what a
    /// 206, 304 or 416 needs. `Content-Length` is there when the length is known.
    public let head: HTTPResponse
    /// `nil` when there is none: HEAD, 204, 304, 416.
    public let content: AnswerContent?
    /// How the cache came to it; what `Cache-Status` says.
    public let cacheStatus: CacheStatus

    init(_ head: HTTPResponse, _ content: AnswerContent?, _ status: CacheStatus) {
        self.head = head.with(status)
        self.content = content
        cacheStatus = status
    }

    /// An answer from the store.
    init(_ answer: CachedAnswer) {
        head = answer.head
        cacheStatus = answer.cacheStatus
        content = answer.range.map { AnswerContent(.stored(answer, $0), length: $0.upperBound - $0.lowerBound) }
    }
}

/// The content of a ``ForwardedAnswer``, piece by piece, as it arrives. It can be read once.
///
/// A piece is readable until the next one is asked for. The sequence throws when the origin fails for good in the middle,
/// or has another version by the time that a cut download could be continued: what was sent cannot be taken back then, and
/// the message must be left without a proper end (RFC 9112 section 8).
public struct AnswerContent: AsyncSequence, Sendable {
    public enum Piece: Sendable {
        /// These bytes of an open file: to be read with `pread` or `sendfile`.
        case stored(descriptor: Int32, range: Range<Int64>)
        /// Bytes that do not stand on disk, or not yet.
        case bytes([UInt8])
    }

    enum Source: Sendable {
        case stored(CachedAnswer, Range<Int64>)
        case growing(GrowingBody)
        case passed(PassedBody.Reader)
    }

    /// The content's length in bytes, if it is known.
    public let length: Int64?
    private let source: Source

    init(_ source: Source, length: Int64?) {
        self.source = source
        self.length = length
    }

    public func makeAsyncIterator() -> Iterator {
        switch source {
        case .stored(let answer, let range): Iterator(source: .stored(answer, range))
        case .growing(let body): Iterator(source: .growing(body.makeAsyncIterator()))
        case .passed(let reader): Iterator(source: .passed(reader))
        }
    }

    public struct Iterator: AsyncIteratorProtocol {
        enum Source {
            case stored(CachedAnswer, Range<Int64>)
            case growing(GrowingBody.Iterator)
            case passed(PassedBody.Reader)
            /// All is given out; the answer is held while the last piece is read.
            case over(CachedAnswer?)
        }

        var source: Source

        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(ImageCacheError) -> Piece? {
            switch source {
            case .stored(let answer, let range):
                source = .over(answer)
                guard let descriptor = answer.descriptor, !range.isEmpty else { return nil }
                return .stored(descriptor: descriptor, range: range)
            case .growing(var body):
                defer { source = .growing(body) }
                return try await body.next(isolation: actor)
            case .passed(let reader): return try await reader.next().map { .bytes($0) }
            case .over: return nil
            }
        }
    }
}
