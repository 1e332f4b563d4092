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
    /// True if the response has all of the body instead of a range.
    private var isWhole = false
    /// The number of the following bytes that are not wanted.
    private var skipped: Int64 = 0

    init(_ fetch: RangeFetch, _ body: IncompleteBody, _ held: HeldPartial, _ range: Range<Int64>) {
        self.fetch = fetch
        self.body = body
        basis = held
        end = range.upperBound
        cutter = BlockCutter(range, of: body.total)
    }

    func attach(_ transfer: any TransferControl) {
        fetch.fetch.attach(transfer, priority: fetch.resolved.request.priority, of: self)
    }

    func held() -> HeldPartial? {
        var held = basis
        held.missing = cutter.isComplete ? [] : [cutter.position..<end]
        return held
    }

    func begin(_ head: ResponseHead, _ placement: BodyPlacement) throws {
        (isWhole, skipped) = (false, 0)
        if case .whole(let length) = placement {
            // Asked for all of it, because no block is held, or by a server that ignores ranges.
            guard length ?? body.total == body.total, cutter.position <= RangePlan.skipped, fetch.isOfHeld(head, basis)
            else { throw RepresentationChanged() }
            (isWhole, skipped) = (true, cutter.position)
        }
        guard fetch.confirm(by: head) else { throw RepresentationChanged() }
        if isWhole, cutter.isComplete { throw BlocksComplete() }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult {
        let unwanted = min(skipped, Int64(bytes.count))
        skipped -= unwanted
        try cutter.append(UnsafeRawBufferPointer(rebasing: bytes[Int(unwanted)...])) { block, offset in
            try body.write(block, at: offset)
            fetch.noteReceived(block.count)
        }
        if isWhole, cutter.isComplete, end < body.total { throw BlocksComplete() }
        return .accepted
    }

    func end(_ ending: AttemptEnding) throws {
        if ending == .discarded || ending == .complete && !isComplete { throw RepresentationChanged() }
    }

    /// False for a whole body that ended before the wanted bytes did.
    private var isComplete: Bool { !isWhole || cutter.isComplete }
}

/// Ends a transfer after all wanted blocks, although the body has more bytes.
struct BlocksComplete: Error {}

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
