/// The destination of a body, which also reports the bytes that it already has.
///
/// Calls are made in order, never concurrently, and never after ``HTTPTransport/run(_:into:events:)`` has returned. ``TransferEngine`` makes them in
/// the task that called `run`, never on its own thread: a call may wait for a disk or a lock, and delays only its own transfer. The engine receives
/// up to 1 MiB more than the sink has accepted, and then pauses the transfer. The calls for each attempt:
///
///     attach (once)  →  [ held → ( begin → ( write | writeBatchComplete )* → end )? → canRestart ]*
///
/// * Calls may be late: when `begin` is called, the whole body may have arrived. `write` receives up to 256 KiB.
/// * A `begin` that returned is followed by exactly one `end`, also after a cancellation or an error of `write`.
/// * An `end(.discarded)` without a `begin` is possible, if a response head proves the held bytes invalid.
/// * A sink receives only bodies of complete or partial representations: never the body of an error status, of a redirect or of a response to HEAD.
///   With ``TransferOptions/forwardsErrorResponses`` it also receives those bodies, each as a whole one (``BodyPlacement/whole(length:)``), except
///   for HEAD and 304. Such a body leaves the held bytes unaffected unless its status is 200.
/// * A sink may throw from each method that can throw. The transfer then ends with ``TransferError/Code/refusedBySink``.
/// * A sink with a ``segmentUnit`` accepts the ranges of its body in any order, so that several connections can fetch it. After a `begin`, and
///   until `run` returns, further ranges may be written by their offsets, also after the `end` of the stream that began the body.
///
/// A sink that passes a body on to another sink must implement every member and call the same member of the other sink. A default implementation
/// would hide the other sink's abilities.
public protocol BodySink: AnyObject, Sendable {
    /// Receives the controls of the transfer. Called once, before all other methods. The default does nothing.
    func attach(_ transfer: any TransferControl)

    /// Returns the held partial with its validator and missing ranges; `nil` to start at byte 0. Called before the transfer is queued, after each
    /// failed attempt, and between ranges. Not called for a transfer that cannot be resumed: anything but a plain GET.
    func held() -> HeldPartial?

    /// Begins a body at `placement`, after a final response head. Throw to refuse the body.
    func begin(_ head: ResponseHead, _ placement: BodyPlacement) throws

    /// Writes the next bytes at the current offset. The bytes are valid only during the call.
    func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult

    /// Called after one or more calls of ``write(_:)``, when no more bytes are available for now: the sink can make the written bytes available to
    /// readers. The default does nothing.
    func writeBatchComplete()

    /// Ends the body of the attempt.
    func end(_ ending: AttemptEnding) throws

    /// Returns true if the sink accepts the body of another attempt. Called after a failed attempt. The default returns true.
    func canRestart() -> Bool

    /// The unit, in bytes, at whose multiples the current body may be divided among connections; `nil`, the default, if bytes must arrive in order.
    var segmentUnit: Int64? { get }

    /// The offset before which additional connections begin and end, at present; `nil`, the default, for no limit.
    var segmentLimit: Int64? { get }

    /// Writes the bytes of an additional connection, if there is a ``segmentUnit``. The offset is the start of a missing range, a multiple of the
    /// unit, or the end of an earlier write. The bytes are valid only during the call. The default throws.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws

    /// Returns the held bytes of a range; `nil`, the default, if some of them are missing or cannot be read.
    func heldBytes(_ range: Range<Int64>) -> [UInt8]?

    /// Verifies the digest of a body without missing bytes. The default does nothing. Called between two transfers of one body.
    ///
    /// - Throws: An error with the actual digest if it is not the expected one, or an error of the store.
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

/// The error of a write at an offset to a body that accepts bytes only in order.
private struct BodyMustComeInOrder: Error {}

/// The result of a write.
public enum WriteResult: Sendable {
    case accepted
    /// The bytes were not accepted. They are offered again after ``TransferControl/resume()``, unless the transfer is cancelled or its response cut.
    case pause
}

/// The position of the following body.
public enum BodyPlacement: Sendable, Equatable {
    /// The body starts at byte 0, and the held bytes are invalid. `length` is the length of the whole body, if the head announces it.
    case whole(length: Int64?)
    /// A missing range of the held partial, in a body of `total` bytes.
    case range(Range<Int64>, total: Int64)
    /// No byte follows: the held bytes, exactly `total`, were proved to be the whole body.
    case alreadyComplete(total: Int64)
}

/// The end of an attempt's body.
public enum AttemptEnding: Sendable, Equatable {
    /// The body, or the range, has the announced length. A body without an announced length is delimited by the end of the connection (RFC 9112
    /// section 6.3) and complete if the connection was closed cleanly. Without TLS this cannot be distinguished from a cut.
    case complete
    /// The body is incomplete. The received bytes are valid and may be kept.
    case cut
    /// The held bytes are invalid and must be dropped.
    case discarded
}

/// The part of a body that is held from earlier attempts.
public struct HeldPartial: Sendable, Equatable {
    public var validator: ResumeValidator
    /// The `Last-Modified` next to an entity-tag, if it counts as strong (``ValidatorFields/strongLastModified``). It replaces the entity-tag if a
    /// 206 does not repeat that.
    public var lastModified: String?
    /// The whole body's length in bytes, if known.
    public var total: Int64?
    /// The missing ranges, in order, without overlap. The last range ends at `Int64.max` if the total is unknown. If no range is missing, one byte
    /// is fetched to prove that the representation has not changed.
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

/// The proof that the bytes of a later response continue those that are held.
///
/// An entity-tag or a date proves each response to be of the same representation, byte for byte. `If-Range` may contain only these (RFC 9110
/// section 13.1.5), and ``ResponseHead/resumeValidator`` returns one of them.
public enum ResumeValidator: Sendable, Hashable {
    /// A strong entity-tag with its quotes.
    case etag(String)
    /// The value of a `Last-Modified` field that counts as strong (RFC 9110 section 8.8.2.2).
    case lastModified(String)
    /// The digest of the whole body, which the sink verifies at the end. Ranges are requested without `If-Range`, and only their lengths are
    /// compared: until the end, the bytes may be from two versions.
    case digest
}
