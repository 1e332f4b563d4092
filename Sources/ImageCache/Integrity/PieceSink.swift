import HTTPSemantics
import HTTPTypes
import Transfer

/// Receives one range of a body into memory, from a 206 with exactly this range and length of the body.
///
/// `@unchecked Sendable`: used by one transfer, and after it by the caller that ran it. `BodySink` guarantees that calls do not overlap.
final class PieceSink: BodySink, @unchecked Sendable {
    private let range: Range<Int64>
    private let total: Int64
    private(set) var bytes: [UInt8] = []

    struct Unsuitable: Error {}

    init(_ range: Range<Int64>, of total: Int64) {
        self.range = range
        self.total = total
    }

    func held() -> HeldPartial? { nil }

    func begin(_ head: ResponseHead, _ placement: BodyPlacement) throws {
        guard head.status == .partialContent, !head.hasContentCoding,
            ContentRange(head.fields) == .range(range, total: total)
        else { throw Unsuitable() }
        bytes = []
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult {
        guard self.bytes.count + bytes.count <= range.count else { throw Unsuitable() }
        self.bytes.append(contentsOf: bytes)
        return .accepted
    }

    func end(_ ending: AttemptEnding) {}

    var isWhole: Bool { bytes.count == range.count }
}
