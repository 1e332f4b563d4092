package import ConcurrencyPrimitives
import HTTPTypes

/// Fetches large bodies over several connections of another transport, if one connection is slower than the link.
///
/// A transfer begins as one stream. ``SegmentPlanner`` decides about additional connections. Each of them is a separate transfer that resumes the
/// same partial: it sends `Range` and `If-Range`, and its response is judged like any response to a resumed transfer. If the request has
/// ``FurtherSources``, some of the connections go there. A body without a ``BodySink/segmentUnit`` is fetched as one stream.
package struct SegmentingTransport: HTTPTransport {
    private let base: any HTTPTransport
    private let executor: BlockingExecutor?
    private let now: @Sendable () -> MonotonicTime

    /// - Parameter executor: The threads on which additional connections call the sinks.
    package init(_ base: any HTTPTransport, on executor: BlockingExecutor) {
        self.init(base, on: executor, now: { .now })
    }

    init(_ base: any HTTPTransport, on executor: BlockingExecutor? = nil, now: @escaping @Sendable () -> MonotonicTime)
    {
        self.base = base
        self.executor = executor
        self.now = now
    }

    package var totals: TransferTotals { base.totals }

    package func run(
        _ request: TransferRequest, into sink: any BodySink, events: @escaping @Sendable (TransferEvent) -> Void
    ) async throws(TransferError) -> TransferResult {
        guard request.mayBeDivided else {
            return try await base.run(request, into: sink, events: events)
        }
        return try await SegmentedTransfer(
            request, into: sink, over: base, on: executor, now: now, events: events
        ).run()
    }

    package func shutDown() async { await base.shutDown() }
}

extension TransferRequest {
    /// True if several connections may fetch the body. A requested rate limit applies to one stream.
    fileprivate var mayBeDivided: Bool {
        method == .get && body == nil && options.maxSegments > 1 && options.rateLimit == nil
            && !options.acceptsContentCoding && !fields.contains(.range) && !fields.contains(.ifRange)
    }

    /// The request of an additional connection. The planner handles its failures, and other transfers have priority.
    var ofSegment: TransferRequest {
        var request = withoutForwardedErrors
        request.conditions = nil
        request.furtherSources = nil
        request.priority = .background
        request.options.isSegment = true
        request.options.retry.maxRetries = 0
        return request
    }

    /// The request if the response must be a part of the body, which an error response is not. It identifies itself in the same way.
    package var withoutForwardedErrors: TransferRequest {
        guard options.forwardsErrorResponses else { return self }
        var request = self
        request.options.forwardsErrorResponses = false
        request.options.userAgent = options.userAgent ?? ""
        return request
    }
}
