/// A sink that takes the parts of a body in any order, so that several connections can bring it.
///
/// A body begins with ``BodySink/begin(_:_:)`` as ever. Until the transfer ends, further ranges of it may then be written by their
/// offsets, also after ``BodySink/end(_:)`` of the stream that began it.
package protocol SegmentedBodySink: BodySink {
    /// The unit of the body's bytes, counted from its first, at whose multiples it may be divided. `nil`: the body that has begun must
    /// come in order.
    var segmentUnit: Int64? { get }

    /// The offset before which further connections begin and end, for now; `nil`: they may have any part of the body.
    var segmentLimit: Int64? { get }

    /// Takes bytes at an offset: at the start of a missing range, at a multiple of the unit, or where an earlier write ended.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws
}
