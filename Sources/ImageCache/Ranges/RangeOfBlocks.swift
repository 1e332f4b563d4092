import DiskStore
import HTTPCaching
import HTTPTypes

/// A range of a body that is read by blocks: a sequence of its bytes, each piece as soon as its blocks are stored.
struct RangeOfBlocks: AsyncSequence, Sendable {
    typealias Piece = ForwardedBody.Piece

    let head: HTTPResponse
    let status: CacheStatus
    /// The bytes of the content; `nil` for a 416.
    let range: Range<Int64>?
    let reader: RangeReader

    func makeAsyncIterator() -> Iterator { Iterator(blocks: self) }

    struct Iterator: AsyncIteratorProtocol {
        private let range: Range<Int64>
        private var position: Int64
        /// `nil` when all bytes are there: the fetch may then be closed.
        private var reader: RangeReader?
        /// Retained while its last piece is read.
        private var body: PartialBody?

        init(blocks: RangeOfBlocks) {
            range = blocks.range ?? 0..<0
            position = range.lowerBound
            reader = blocks.reader
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws(ImageCacheError) -> Piece? {
            guard let reader, position < range.upperBound else { return nil }
            let end = try await reader.available(at: position, of: range)
            let body = if let open = self.body { open } else { try reader.fetch.openedBody() }
            self.body = body
            defer { position = end }
            if end == range.upperBound { self.reader = nil }
            return .stored(descriptor: body.descriptor, range: position..<end)
        }
    }
}
