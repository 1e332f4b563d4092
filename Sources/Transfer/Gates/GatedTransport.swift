import ConcurrencyPrimitives
import HTTPTypes

/// Asks a gate before another transport runs a request.
package struct GatedTransport: HTTPTransport {
    private let base: any HTTPTransport
    private let gate: any TransferGate

    package init(_ base: any HTTPTransport, by gate: any TransferGate) {
        self.base = base
        self.gate = gate
    }

    package var totals: TransferTotals { base.totals }

    package func run(
        _ request: TransferRequest, into sink: any BodySink, events: @escaping @Sendable (TransferEvent) -> Void
    ) async throws(TransferError) -> TransferResult {
        let admission = try await gate.admit(request)
        guard let report = admission.report else {
            return try await base.run(admission.request, into: sink, events: events)
        }
        let observed = ObservedSink(sink, gate, admission.request, report)
        do throws(TransferError) {
            var result = try await base.run(admission.request, into: observed, events: events)
            observed.report(result.head)
            result.head = observed.adjusted(result.head)
            return result
        } catch {
            // A redirect to another origin is a response of the gate's origin, regardless of what follows.
            observed.report(
                error.isOfRedirectTarget ? .responded(.found) : error.isOfOrigin ? .failed : .unknown)
            throw error
        }
    }

    package func shutDown() async { await base.shutDown() }
}

/// A sink that reports the first response head, even if the inner sink refuses the body, and passes each on as its gate adjusts it.
final class ObservedSink: BodySink {
    private let base: any BodySink
    private let gate: any TransferGate
    private let request: TransferRequest
    private let reporter: @Sendable (GateOutcome) -> Void
    private let hasReported = Locked(false)

    init(
        _ base: any BodySink, _ gate: any TransferGate, _ request: TransferRequest,
        _ reporter: @escaping @Sendable (GateOutcome) -> Void
    ) {
        self.base = base
        self.gate = gate
        self.request = request
        self.reporter = reporter
    }

    /// Reports an outcome, unless one was reported already.
    func report(_ outcome: GateOutcome) {
        let isFirst = hasReported.withLock { hasReported in
            defer { hasReported = true }
            return !hasReported
        }
        if isFirst { reporter(outcome) }
    }

    /// Reports the head of a response, unless an outcome was reported already.
    func report(_ head: ResponseHead) { report(.responded(gate.isOfOrigin(head) ? head.status : .found)) }

    func attach(_ transfer: any TransferControl) { base.attach(transfer) }
    func held() -> HeldPartial? { base.held() }

    func begin(_ head: ResponseHead, _ placement: BodyPlacement) throws {
        report(head)
        try base.begin(adjusted(head), placement)
    }

    /// A response of another origin, after a redirect, is passed on as it is.
    func adjusted(_ head: ResponseHead) -> ResponseHead {
        gate.isOfOrigin(head) ? gate.adjusted(head, to: request) : head
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult { try base.write(bytes) }
    func writeBatchComplete() { base.writeBatchComplete() }
    func end(_ ending: AttemptEnding) throws { try base.end(ending) }
    func canRestart() -> Bool { base.canRestart() }
    var segmentUnit: Int64? { base.segmentUnit }
    var segmentLimit: Int64? { base.segmentLimit }
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws { try base.write(bytes, at: offset) }
    func heldBytes(_ range: Range<Int64>) -> [UInt8]? { base.heldBytes(range) }
    func verifyBody() throws { try base.verifyBody() }
}

extension TransferError {
    /// True if the origin failed, or the network on the way to it.
    fileprivate var isOfOrigin: Bool {
        switch code {
        case .resolve, .connect, .tls, .timeout, .stalled, .tooSlow, .cut, .protocolViolation: true
        default: false
        }
    }
}
