/// Where a body goes, and what is already there.
///
/// All calls come in order, never concurrently (``TransferEngine``: from its one thread), and none after
/// ``HTTPTransport/run(_:into:events:)`` has returned. They must be quick: every transfer of the engine waits for them. For each attempt:
///
///     attach (once)  →  [ held → ( begin → ( write | writeBatchComplete )* → end )? → canRestart ]*
///
/// * A `begin` that returned is followed by exactly one `end`, also after a cancellation or an error of `write`.
/// * An `end(.discarded)` may come without a `begin`: a response head proved what is held to be worthless.
/// * Nothing but the body of a complete or partial representation ever arrives: not of an error status, of a redirect,
///   or of an answer to HEAD. With ``TransferOptions/forwardsErrorResponses`` each of them is a body of its own
///   (``BodyPlacement/whole(length:)``), but for HEAD and 304; what is held has nothing to do with one whose status is
///   not 200.
/// * A sink may throw from any call that can; the transfer then ends with ``TransferError/Code/refusedBySink``.
/// * A sink with a ``segmentUnit`` takes the parts of its body in any order, so that several connections can bring it: after a `begin`, and until
///   `run` returns, further ranges of the body may be written by their offsets, also after the `end` of the stream that began it.
///
/// A sink that passes a body on to another one implements every member, and calls the same member of the other one: a member that is left to its
/// default hides what the other one can do.
public protocol BodySink: AnyObject, Sendable {
    /// The running transfer; once, before everything else. The default does nothing.
    func attach(_ transfer: any TransferControl)

    /// The held partial: its validator and its missing ranges; nil: start at byte 0. Called before the first attempt, after
    /// each one that failed, and between ranges; never for a transfer that cannot be resumed (anything but a plain GET).
    func held() -> HeldPartial?

    /// A final head was judged and a body follows; `placement` says where. Throw to refuse it.
    func begin(_ head: ResponseHead, _ placement: BodyPlacement) throws

    /// The next bytes, at the current offset. They are valid only during the call.
    func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult

    /// After one or more calls of ``write(_:)``: what had arrived is given out, and the engine turns to something else.
    /// The default does nothing.
    func writeBatchComplete()

    /// The attempt's body has ended.
    func end(_ ending: AttemptEnding) throws

    /// After an attempt that failed: whether the body of another one would be taken. The default says yes.
    func canRestart() -> Bool

    /// The unit, in bytes, at whose multiples the body that has begun may be divided among connections. The default, `nil`: its bytes must come in
    /// order.
    var segmentUnit: Int64? { get }

    /// The offset before which further connections begin and end, for now. The default, `nil`: they may have any part of the body.
    var segmentLimit: Int64? { get }

    /// Takes bytes that a further connection brings, if there is a ``segmentUnit``: at the start of a missing range, at a multiple of the unit, or
    /// where an earlier write ended. They are valid only during the call. The default throws.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws

    /// The bytes of a range that are held. The default, `nil`: some of them are not, or cannot be read.
    func heldBytes(_ range: Range<Int64>) -> [UInt8]?

    /// Verifies the digest of a body without missing bytes. The default does nothing. Called between two transfers of one body.
    ///
    /// - Throws: An error that says which digest the body has, if it is not the expected one, or an error of the store.
    func verifyBody() throws
}

extension BodySink {
    public func attach(_ transfer: any TransferControl) {}
    public func writeBatchComplete() {}
    public func canRestart() -> Bool { true }
    public var segmentUnit: Int64? { nil }
    public var segmentLimit: Int64? { nil }
    public func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws { throw BodyMustComeInOrder() }
    public func heldBytes(_ range: Range<Int64>) -> [UInt8]? { nil }
    public func verifyBody() throws {}
}

/// Bytes were written at an offset of a body that takes them in order only.
private struct BodyMustComeInOrder: Error {}

/// The result of a write.
public enum WriteResult: Sendable {
    case accepted
    /// Not taken. The engine reads no further from the network, and offers the same bytes again after
    /// ``TransferControl/resume()``.
    case pause
}

/// Where the body that follows belongs.
public enum BodyPlacement: Sendable, Equatable {
    /// At byte 0; whatever was held is void. `length` is the whole body's, if the head tells it.
    case whole(length: Int64?)
    /// A missing range of the held partial, in a body of `total` bytes.
    case range(Range<Int64>, total: Int64)
    /// No byte follows: what is held, exactly `total` bytes, was proved to be the whole body.
    case alreadyComplete(total: Int64)
}

/// The end of an attempt's body.
public enum AttemptEnding: Sendable, Equatable {
    /// The body, or the range, is as long as the head promised. A body whose length nobody told (delimited by the
    /// connection's close, RFC 9112 section 6.3) is complete when the connection was closed cleanly; without TLS
    /// that cannot be told from a cut at a convenient place.
    case complete
    /// Not all of it came. What is there is right and may be kept.
    case cut
    /// The held bytes are invalid and must be dropped.
    case discarded
}

/// The part of a body that is held from earlier attempts.
public struct HeldPartial: Sendable, Equatable {
    public var validator: ResumeValidator
    /// The `Last-Modified` beside an entity-tag, if it counts as strong (``ValidatorFields/strongLastModified``): it stands in
    /// for the tag in a 206 that does not repeat it.
    public var lastModified: String?
    /// The whole body's length in bytes, if known.
    public var total: Int64?
    /// The missing ranges, in order, without overlap. The last range ends at `Int64.max` when the total is unknown. Empty:
    /// nothing is missing, and one byte is fetched to prove that this is still the representation.
    public var missing: [Range<Int64>]
    /// The final URL that the bytes came from.
    public var url: String

    public init(
        validator: ResumeValidator, lastModified: String? = nil, total: Int64?, missing: [Range<Int64>], url: String
    ) {
        self.validator = validator
        self.lastModified = lastModified
        self.total = total
        self.missing = missing
        self.url = url
    }
}

/// The proof that a later response is of the same representation, byte for byte: the only validators that `If-Range`
/// may carry (RFC 9110 section 13.1.5). ``ResponseHead/resumeValidator`` makes one.
public enum ResumeValidator: Sendable, Hashable {
    /// A strong entity-tag with its quotes.
    case etag(String)
    /// The value of a `Last-Modified` field that counts as strong (RFC 9110 section 8.8.2.2).
    case lastModified(String)
}
