import HTTPSemantics
import HTTPTypes

/// Other hosts that have the body that a request asks for, and may bring parts of it.
///
/// Only for a body whose digest is verified as a whole: validator and length of one resource prove nothing about another.
package struct FurtherSources: Sendable {
    package enum AsideReason: Sendable, Equatable {
        /// It is far slower than others, or silent.
        case late
        case failed
        /// It has another representation, or sends no ranges of it.
        case differs
    }

    package enum Event: Sendable {
        /// It brings no part of this body any more; in words, and as a kind.
        case putAside(String, AsideReason)
        /// The transfer is over.
        case ended(bytes: Int64, seconds: Double, hasFailed: Bool)
    }

    /// The requests of the body at those hosts, in the order in which they are tried.
    package var requests: [TransferRequest]
    /// Called with the index of a request; `nil`: the source that the transfer began with.
    package var tell: @Sendable (Int?, Event) -> Void

    package init(_ requests: [TransferRequest], tell: @escaping @Sendable (Int?, Event) -> Void) {
        self.requests = requests
        self.tell = tell
    }
}

extension HeldPartial {
    /// The partial that a source continues, by what it has said in response to HEAD; `nil`: it cannot, or has another body.
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

/// The course of one further source.
struct FurtherSource {
    /// The partial that its connections resume, when it has told its validator.
    var basis: HeldPartial?
    var bytes: Int64 = 0
    var startedAt: MonotonicTime?
    var lastByteAt: MonotonicTime?
    /// The failure of its last connection.
    var failure: String?
    /// The reason why it is asked no more.
    var aside: FurtherSources.AsideReason?

    mutating func received(_ count: Int64, at now: MonotonicTime) {
        bytes += count
        lastByteAt = now
    }

    var ending: FurtherSources.Event? {
        guard let startedAt else { return nil }
        let seconds = lastByteAt.map { ($0 - startedAt).seconds } ?? 0
        return .ended(bytes: bytes, seconds: seconds, hasFailed: aside == .failed)
    }
}
