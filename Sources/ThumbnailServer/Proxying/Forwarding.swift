import HTTPTypes
import ImageCache

/// What the proxy needs of the cache.
protocol Forwarding: Sendable {
    func exchange(_ request: FileRequest) async throws(ImageCacheError) -> ForwardedAnswer
    func readyAnswer(to request: FileRequest) -> ReadyAnswer?
}

struct ForwardedAnswer: Sendable {
    let head: HTTPResponse
    let content: AnswerContent?
}

struct ReadyAnswer: Sendable {
    let head: HTTPResponse
    let body: [UInt8]
}

struct AnswerContent: AsyncSequence, Sendable {
    enum Piece: Sendable {
        case stored(descriptor: Int32, range: Range<Int64>)
        case bytes([UInt8])
    }

    var length: Int64?
    fileprivate let answer: CachedAnswer

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var piece: Piece?
        mutating func next() async throws -> Piece? {
            defer { piece = nil }
            return piece
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        guard let descriptor = answer.descriptor, let range = answer.range else { return AsyncIterator() }
        return AsyncIterator(piece: .stored(descriptor: descriptor, range: range))
    }
}

extension ImageCache: Forwarding {
    func exchange(_ request: FileRequest) async throws(ImageCacheError) -> ForwardedAnswer {
        let answer = try await answer(to: request)
        let content = answer.range.map { AnswerContent(length: Int64($0.count), answer: answer) }
        return ForwardedAnswer(head: answer.head, content: content)
    }

    func readyAnswer(to request: FileRequest) -> ReadyAnswer? { nil }
}
