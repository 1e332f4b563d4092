import DiskStore
import HTTPCaching
import HTTPSemantics
import HTTPTypes
import Transfer

/// Receives blocks of a body whose head is known. Each response must prove to be of the same representation.
///
/// With an empty range it receives no block: the response then only confirms the representation.
///
/// `@unchecked Sendable`: `BodySink` guarantees that calls do not overlap.
final class BlockSink: BodySink, @unchecked Sendable {
    private let fetch: RangeFetch
    private let body: IncompleteBody
    private let basis: HeldPartial
    private let end: Int64
    private let cutter: BlockCutter

    init(_ fetch: RangeFetch, _ body: IncompleteBody, _ held: HeldPartial, _ range: Range<Int64>) {
        self.fetch = fetch
        self.body = body
        basis = held
        end = range.upperBound
        cutter = BlockCutter(range, of: body.total)
    }

    func attach(_ transfer: any TransferControl) {
        fetch.fetch.attach(transfer, priority: fetch.resolved.request.priority)
    }

    func held() -> HeldPartial? {
        var held = basis
        held.missing = cutter.isComplete ? [] : [cutter.position..<end]
        return held
    }

    func begin(_ head: ResponseHead, _ placement: BodyPlacement) throws {
        if case .whole(let length) = placement {
            // Asked for all of it, because no block is held.
            guard cutter.position == 0, end == body.total, length == body.total,
                head.resumeValidator == basis.validator
            else { throw RepresentationChanged() }
        }
        guard fetch.confirm(by: head) else { throw RepresentationChanged() }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult {
        try cutter.append(bytes) { block, offset in
            try body.write(block, at: offset)
            fetch.noteReceived(block.count)
        }
        return .accepted
    }

    func end(_ ending: AttemptEnding) throws {
        if ending == .discarded { throw RepresentationChanged() }
    }
}

/// The origin has another representation than the one whose blocks are held.
struct RepresentationChanged: Error {}

/// Receives the first blocks of a body about which nothing is known, in the response to a range.
///
/// `@unchecked Sendable`: `BodySink` guarantees that calls do not overlap.
final class FirstBlocksSink: BodySink, @unchecked Sendable {
    /// The response cannot be kept by blocks: it is not the range, has no strong validator, or must not be stored.
    struct NotDivisible: Error {
        let status: HTTPResponse.Status
        /// True if it could be kept, had the request no credentials.
        var isForCredentials = false
    }

    private let fetch: RangeFetch
    private let asked: ByteRange
    private var target: (body: IncompleteBody, cutter: BlockCutter)?

    init(_ fetch: RangeFetch, _ asked: ByteRange) {
        self.fetch = fetch
        self.asked = asked
    }

    func attach(_ transfer: any TransferControl) {
        fetch.fetch.attach(transfer, priority: fetch.resolved.request.priority)
    }

    func held() -> HeldPartial? { nil }

    /// After the head, the rest is fetched by ``BlockSink``, which proves the representation.
    func canRestart() -> Bool { target == nil }

    func begin(_ head: ResponseHead, _ placement: BodyPlacement) throws {
        guard target == nil, head.status == .partialContent, let field = head.fields[.contentRange],
            case .range(let range, let total?)? = ContentRange(field), isBeginOfAsked(range, of: total)
        else { throw NotDivisible(status: head.status) }
        let body = try fetch.begin(head, total: total)
        let blocks = RangePlan.wholeBlocks(in: range, of: total)
        try body.reserve(body.missing(in: blocks))
        target = (body, BlockCutter(range, of: total))
        fetch.opened(with: blocks)
    }

    /// Returns true for the range that was asked for, and for less of it, which a server may send (RFC 9110 section 15.3.7).
    private func isBeginOfAsked(_ range: Range<Int64>, of total: Int64) -> Bool {
        guard let expected = asked.resolved(length: total) else { return false }
        return range.lowerBound == expected.lowerBound && range.upperBound <= expected.upperBound
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult {
        guard let target else { return .accepted }
        try target.cutter.append(bytes) { block, offset in
            try target.body.write(block, at: offset)
            fetch.noteReceived(block.count)
        }
        return .accepted
    }

    func end(_ ending: AttemptEnding) throws {}
}
