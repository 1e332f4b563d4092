import HTTPSemantics
import HTTPTypes
import Units

/// Other hosts that have the requested body and may serve parts of it.
///
/// Used only for a body whose digest is verified as a whole: the validator and length of one resource prove nothing about another.
package struct FurtherSources: Sendable {
    package enum AsideReason: Sendable, Equatable {
        /// The source is far slower than others, or silent.
        case late
        case failed
        /// The source has another representation, or does not serve ranges of it.
        case differs
    }

    package enum Event: Sendable {
        /// The source is not used for this body any more, for this reason.
        case putAside(String, AsideReason)
        /// The transfer has ended.
        case ended(bytes: Int64, seconds: Double, hasFailed: Bool)
    }

    /// The requests for the body at those hosts, in the order in which they are tried.
    package var requests: [TransferRequest]
    /// Called with the index of a request, or with `nil` for the source that the transfer began with.
    package var tell: @Sendable (Int?, Event) -> Void

    package init(_ requests: [TransferRequest], tell: @escaping @Sendable (Int?, Event) -> Void) {
        self.requests = requests
        self.tell = tell
    }
}

extension HeldPartial {
    /// The partial for a source to resume, from its response to HEAD; `nil` if the source cannot resume it or has another body.
    ///
    /// - Parameter missing: The missing ranges of a body of `total` bytes.
    package init?(_ missing: [Range<Int64>], of total: Int64, at head: ResponseHead) {
        guard head.status == .ok, let validator = head.resumeValidator, head.declaredLength == .bytes(total) else {
            return nil
        }
        self.init(
            validator: validator, lastModified: head.validators.strongLastModified, total: total, missing: missing,
            url: head.finalURL)
    }
}

/// The state of one additional source.
struct FurtherSource {
    /// The partial that its connections resume, once its validator is known.
    var basis: HeldPartial?
    var bytes: Int64 = 0
    var startedAt: MonotonicTime?
    var lastByteAt: MonotonicTime?
    /// The failure of its last connection.
    var failure: String?
    /// The reason why it is not used any more; `nil` while it is used.
    var aside: FurtherSources.AsideReason?

    mutating func received(_ count: Int64, at now: MonotonicTime) {
        bytes += count
        lastByteAt = now
    }

    var ending: FurtherSources.Event? {
        guard let startedAt else { return nil }
        let seconds = lastByteAt.map { ($0 - startedAt).inSeconds } ?? 0
        return .ended(bytes: bytes, seconds: seconds, hasFailed: aside == .failed)
    }
}
