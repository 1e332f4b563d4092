/// The end of a connection's part of a body. It is thrown into the transfer to end it.
struct SegmentEnd: Error {}

/// Another response began on the stream of a divided body, so that the stream must be started again.
struct StreamRestart: Error {}

/// The response to an additional connection belongs to another representation than the stream's.
struct SegmentDifference: Error {}

/// Writes the bytes of an additional connection at their offsets in the body.
final class SegmentSink: BodySink {
    private let transfer: SegmentedTransfer
    private let id: SegmentPlanner.ID
    private let basis: HeldPartial
    private let range: Range<Int64>

    /// - Parameters:
    ///   - basis: The partial that the connection resumes.
    ///   - range: The range that the connection requests.
    init(_ transfer: SegmentedTransfer, _ id: SegmentPlanner.ID, _ basis: HeldPartial, _ range: Range<Int64>) {
        self.transfer = transfer
        self.id = id
        self.range = range
        var basis = basis
        basis.missing = [range]
        self.basis = basis
    }

    func attach(_ control: any TransferControl) { transfer.controls.attach(control, of: id) }

    func held() -> HeldPartial? { basis }

    func begin(_ head: ResponseHead, _ placement: BodyPlacement) throws {
        guard case .range(range, basis.total) = placement else { throw SegmentDifference() }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult {
        try transfer.write(bytes, of: id)
    }

    func writeBatchComplete() { transfer.writeBatchComplete() }

    func end(_ ending: AttemptEnding) throws {
        if ending == .discarded { throw SegmentDifference() }
    }

    func canRestart() -> Bool { false }
}
