import HTTPTypes

/// Fetches large bodies over several connections where one is slower than the link, by another transport.
///
/// A transfer begins as one stream. ``SegmentPlanner`` decides about further connections; each of them is a transfer of its own, which
/// resumes the same partial: it sends `Range` and `If-Range`, and its response is judged as that of a resumed transfer is. Where the
/// request has ``FurtherSources``, some of them go there. A body without a ``BodySink/segmentUnit`` comes as one stream.
package struct SegmentingTransport: HTTPTransport {
    private let base: any HTTPTransport
    private let now: @Sendable () -> MonotonicTime

    package init(_ base: any HTTPTransport) { self.init(base, now: { .now }) }

    init(_ base: any HTTPTransport, now: @escaping @Sendable () -> MonotonicTime) {
        self.base = base
        self.now = now
    }

    package var totals: TransferTotals { base.totals }

    package func run(
        _ request: TransferRequest, into sink: any BodySink, events: @escaping @Sendable (TransferEvent) -> Void
    ) async throws(TransferError) -> TransferResult {
        guard request.mayBeDivided else {
            return try await base.run(request, into: sink, events: events)
        }
        return try await SegmentedTransfer(request, into: sink, over: base, now: now, events: events).run()
    }

    package func shutDown() async { await base.shutDown() }
}

extension TransferRequest {
    /// True if several connections may bring the body. A rate that was asked for is that of one stream.
    fileprivate var mayBeDivided: Bool {
        method == .get && body == nil && options.maxSegments > 1 && options.rateLimit == nil
            && !options.acceptsContentCoding && !fields.contains(.range) && !fields.contains(.ifRange)
    }

    /// The request of a further connection. Its failures are the planner's business, and other transfers go first.
    var ofSegment: TransferRequest {
        var request = self
        request.conditions = nil
        request.furtherSources = nil
        request.priority = .background
        request.options.isSegment = true
        request.options.retry.maxRetries = 0
        if options.forwardsErrorResponses {
            request.options.forwardsErrorResponses = false
            request.options.userAgent = options.userAgent ?? ""
        }
        return request
    }
}
