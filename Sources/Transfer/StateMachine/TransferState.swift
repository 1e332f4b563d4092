import FoundationEssentials
import HTTPSemantics
import HTTPTypes

// The payloads of the state machine's states. Each contains only the values that are known in its state.

extension TransferStateMachine {
    /// The next step when there is a slot.
    enum Start {
        /// The first attempt. The sink was not asked for its held bytes yet.
        case first
        /// An attempt that continues the bytes that the sink holds.
        case attempt(Basis)
        /// The next request of an attempt after a redirect.
        case redirect(Attempt, Hop, after: [RedirectHop])
    }

    /// The bytes that the requests of an attempt continue.
    enum Basis {
        case nothing
        case held(HeldPartial)
        /// A 416 gave this total without a validator. The last byte is requested, which proves both.
        case proving(HeldPartial, total: Int64)

        init(_ held: HeldPartial?) { self = held.map(Basis.held) ?? .nothing }

        var held: HeldPartial? {
            switch self {
            case .nothing: nil
            case .held(let held), .proving(let held, _): held
            }
        }

        var provingTotal: Int64? {
            if case .proving(_, let total) = self { total } else { nil }
        }

        func proving(total: Int64) -> Self { held.map { .proving($0, total: total) } ?? .nothing }
    }

    struct Attempt {
        let basis: Basis
        let startedAt: MonotonicTime
        let requestTime: Date
    }

    /// A request that was sent.
    ///
    /// A class, because the state is written for every piece of a body and one reference is cheap to copy. It is immutable.
    final class SentRequest: Sendable {
        let attempt: Attempt
        let hop: Hop
        /// The redirects that led to this request.
        let redirects: [RedirectHop]
        let plan: ResumePlan
        let sentAt: MonotonicTime

        init(attempt: Attempt, hop: Hop, redirects: [RedirectHop], plan: ResumePlan, sentAt: MonotonicTime) {
            self.attempt = attempt
            self.hop = hop
            self.redirects = redirects
            self.plan = plan
            self.sentAt = sentAt
        }
    }

    /// A request that the transport is performing.
    struct Exchange {
        let request: SentRequest
        /// The time of the last head or of the last content bytes in either direction; `nil` before the first.
        var lastActivity: MonotonicTime?
        /// The number of content bytes of the request that were sent.
        var uploaded: Int64 = 0
        /// The start of the period in which the rate is measured; `nil` while no body flows.
        var measured: (from: MonotonicTime, received: Int64)?
    }

    /// The stage of the response to a request.
    enum Stage {
        case awaitingHead(AwaitedHead)
        /// The sink receives the body. Its call for the head may still wait.
        case receivingBody(Response, Flow)
        /// The head was sufficient. The body is read to its end, or abandoned if it is longer than ``TransferStateMachine/discardLimit``.
        case discarding(Conclusion, Int64)
        /// The transport was stopped.
        case stopping(Reason)

        /// True if ``BodySink/end(_:)`` must follow.
        var isBodyOpen: Bool {
            switch self {
            case .receivingBody, .stopping(.failure(_, isBodyOpen: true)), .stopping(.restart(_, isBodyOpen: true)):
                true
            default: false
            }
        }
    }

    struct AwaitedHead {
        enum Progress {
            case none
            case begun(MonotonicTime)
            /// A head that is not interim, but that another one may follow: libcurl answers some responses by itself.
            case complete(ReceivedHead)
        }

        var head = Progress.none
        /// The reason why a socket for libcurl was refused. libcurl may still connect to another address of the name.
        var addressRefusal: String?

        var isComplete: Bool {
            if case .complete = head { true } else { false }
        }
    }

    /// A response whose body the sink receives. A class for the same reason as ``SentRequest``; immutable.
    final class Response: Sendable {
        let head: ResponseHead
        let placement: BodyPlacement
        /// The required length of the body, if it is known.
        let length: Int64?

        init(head: ResponseHead, placement: BodyPlacement, length: Int64?) {
            self.head = head
            self.placement = placement
            self.length = length
        }
    }

    enum Flow: Equatable {
        case flowing
        /// Too many bytes wait for the sink, or it wants no more for now.
        case pausedBySink
        /// The rate limit has paused the transfer.
        case rateLimited(until: MonotonicTime)
    }

    /// The meaning of a head whose body is not needed.
    enum Conclusion {
        case redirect(Hop, after: [RedirectHop])
        case alreadyComplete(ResponseHead, total: Int64)
        case proveTotal(Int64)
        case status(ResponseHead)
        case notModified(ResponseHead)

        var isRedirect: Bool {
            if case .redirect = self { true } else { false }
        }
    }

    /// The reason to end an exchange early.
    enum Reason {
        case failure(TransferError, isBodyOpen: Bool)
        case restart(String, isBodyOpen: Bool)
    }

    /// A call of the sink whose outcome decides the next step.
    enum Consultation {
        /// ``BodySink/begin(_:_:)`` with a body that is held completely.
        case confirming(ResponseHead)
        /// ``BodySink/end(_:)``.
        case ending(EndedBody)
        /// ``BodySink/held()`` between two ranges.
        case betweenRanges(ResponseHead, before: HeldPartial)
        /// ``BodySink/canRestart()``.
        case retrying(RetryCause)
    }

    /// A body whose end was reported to the sink, and the next step.
    enum EndedBody {
        /// The body is complete.
        case complete(ResponseHead)
        /// One of several ranges is complete, or the part of a range that the server sent.
        case range(ResponseHead, before: HeldPartial)
        case failed(TransferError)
        case startOver(String)
        case cancelled

        /// True if the transfer ends with this body.
        var isLast: Bool {
            switch self {
            case .complete, .cancelled: true
            case .range, .failed, .startOver: false
            }
        }

        /// The ending that is reported to the sink.
        var ending: AttemptEnding {
            switch self {
            case .complete, .range: .complete
            case .failed(let error): error.code == .tooLarge ? .discarded : .cut
            case .startOver: .discarded
            case .cancelled: .cut
            }
        }

        /// The ending if the sink has not received the whole body.
        var endingIfIncomplete: AttemptEnding { ending == .complete ? .cut : ending }
    }

    /// The reason for a retry.
    enum RetryCause {
        case failure(TransferError)
        case status(TransferResult)
    }
}
