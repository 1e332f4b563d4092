import FoundationEssentials
import HTTPSemantics
import HTTPTypes

// The payloads of the state machine's states: each holds what is known in its state, and nothing else.

extension TransferStateMachine {
    /// The next thing to do when there is a slot.
    enum Start {
        /// The first attempt; the sink was not asked yet.
        case first
        /// An attempt that builds on what the sink holds.
        case attempt(Basis)
        /// The next request of an attempt, because the last one was redirected.
        case redirect(Attempt, Hop, after: [RedirectHop])
    }

    /// The bytes that the requests of an attempt build on.
    enum Basis {
        case nothing
        case held(HeldPartial)
        /// A 416 gave this total, but no validator: the last byte is asked for, which proves both.
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
    /// A class only because the state is written for every piece of a body, and one reference is cheaper to copy; it
    /// never changes.
    final class SentRequest {
        let attempt: Attempt
        let hop: Hop
        /// The redirects that led to it.
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

    /// A request that is with the transport.
    struct Exchange {
        let request: SentRequest
        /// The time of the last head, of the last bytes of content in either direction; nil before the first.
        var lastActivity: MonotonicTime?
        /// Bytes of the request's content that have been sent.
        var uploaded: Int64 = 0
    }

    /// The stage of the response to a request.
    enum Stage {
        case awaitingHead(AwaitedHead)
        /// The sink was given a head, and has not answered. `end`: the exchange has ended meanwhile.
        case beginningBody(Response, end: ExchangeEnd?)
        /// The body is the sink's.
        case receivingBody(Response, Flow)
        /// The head has decided; the body is read to its end, or given up when it is longer than
        /// ``TransferStateMachine/discardLimit``.
        case discarding(Conclusion, Int64)
        /// The transport was told to stop.
        case stopping(Reason)

        /// True when ``BodySink/end(_:)`` has to follow.
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
            /// Not an interim head, but one that another may follow: libcurl answers some of them by itself.
            case complete(ReceivedHead)
        }

        var head = Progress.none
        /// Why a socket was not opened that libcurl asked for. Of a name's other addresses one may be connected to all the same.
        var addressRefusal: String?

        var isComplete: Bool {
            if case .complete = head { true } else { false }
        }
    }

    /// A response whose body the sink takes; immutable, a class for the same reason as ``SentRequest``.
    final class Response {
        let head: ResponseHead
        let placement: BodyPlacement
        /// The length that the body must have, if it is known.
        let length: Int64?

        init(head: ResponseHead, placement: BodyPlacement, length: Int64?) {
            self.head = head
            self.placement = placement
            self.length = length
        }
    }

    enum Flow: Equatable {
        case flowing
        /// The sink takes nothing at present.
        case pausedBySink
        /// Kept to its rate.
        case rateLimited(until: MonotonicTime)
    }

    /// The meaning of a head whose body is of no interest.
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

    /// A call of the sink that was ordered, and what its outcome decides.
    enum Consultation {
        /// ``BodySink/begin(_:_:)`` with a body that is held as a whole.
        case confirming(ResponseHead)
        /// ``BodySink/end(_:)``.
        case ending(EndedBody)
        /// ``BodySink/held()`` between two ranges.
        case betweenRanges(ResponseHead, before: HeldPartial)
        /// ``BodySink/canRestart()``.
        case retrying(RetryCause)
    }

    /// A body whose end the sink was told, and what follows.
    enum EndedBody {
        /// The whole is there.
        case complete(ResponseHead)
        /// One range of several.
        case range(ResponseHead, before: HeldPartial)
        case failed(TransferError)
        case startOver(String)
        case cancelled
    }

    /// A reason to try again.
    enum RetryCause {
        case failure(TransferError)
        case status(TransferResult, retryAfter: Duration?)
    }
}
