/// The end of a connection's part of a body. It is thrown into the transfer to end it.
struct SegmentEnd: Error {}

/// Another response began on the stream of a divided body, so that the stream must be started again.
struct StreamRestart: Error {}

/// The response to an additional connection belongs to another representation than the stream's.
struct SegmentDifference: Error {}

/// Writes the bytes of an additional connection at their offsets in the body.
///
/// `@unchecked Sendable`: `BodySink` guarantees that calls do not overlap.
final class SegmentSink: BodySink, @unchecked Sendable {
    private let transfer: SegmentedTransfer
    private let id: SegmentPlanner.ID
    private let basis: HeldPartial
    /// The missing bytes of the range that the connection requests.
    private var rest: Range<Int64>

    /// - Parameters:
    ///   - basis: The partial that the connection resumes.
    ///   - range: The range that the connection requests.
    init(_ transfer: SegmentedTransfer, _ id: SegmentPlanner.ID, _ basis: HeldPartial, _ range: Range<Int64>) {
        self.transfer = transfer
        self.id = id
        self.basis = basis
        rest = range
    }

    func attach(_ control: any TransferControl) { transfer.controls.attach(control, of: id) }

    func held() -> HeldPartial? {
        var held = basis
        held.missing = rest.isEmpty ? [] : [rest]
        return held
    }

    func begin(_ head: ResponseHead, _ placement: BodyPlacement) throws {
        // The server may send less than was asked for.
        guard case .range(let range, basis.total) = placement, range.lowerBound == rest.lowerBound else {
            throw SegmentDifference()
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult {
        let result = try transfer.write(bytes, of: id)
        if result == .accepted { rest = min(rest.lowerBound + Int64(bytes.count), rest.upperBound)..<rest.upperBound }
        return result
    }

    func writeBatchComplete() { transfer.writeBatchComplete() }

    func end(_ ending: AttemptEnding) throws {
        if ending == .discarded { throw SegmentDifference() }
    }

    func canRestart() -> Bool { false }
}
