package import ConcurrencyPrimitives
import HTTPSemantics
package import HTTPServer
import HTTPTypes

/// The spans of one request that is traced: one for the request, and one for each of its steps.
package final class Trace: RequestStepRecorder {
    /// A step of the work. Times are instants of ``Trace/clock``.
    package struct Span: Sendable {
        package enum Kind: Int, Sendable {
            case `internal` = 1
            case server = 2
            case client = 3
        }

        package let id: String
        package var parent: String?
        package var name: String
        package var kind: Kind
        package var start: ContinuousClock.Instant
        package var end: ContinuousClock.Instant
        package var failed: Bool
        package var attributes: [(name: String, value: AttributeValue)] = []
    }

    package enum AttributeValue: Sendable, Hashable {
        case text(String)
        case number(Int64)
    }

    /// The most spans of one trace; those after them are dropped.
    private static let mostSpans = 64

    package let id: String
    private let root: String
    private let parent: String?
    private let spans = Locked<[Span]>([])

    /// - Parameter context: The context that the client sent; nil: the trace begins here.
    package init(continuing context: TraceContext?) {
        id = context?.trace ?? TraceNumbers.shared.traceID()
        parent = context?.span
        root = TraceNumbers.shared.spanID()
    }

    package func record(
        _ step: RequestStep, from start: ContinuousClock.Instant, to end: ContinuousClock.Instant, failed: Bool
    ) {
        add(
            Span(
                id: TraceNumbers.shared.spanID(), parent: root, name: step.rawValue, kind: .internal, start: start,
                end: end,
                failed: failed))
    }

    /// Begins a transfer from an origin.
    ///
    /// - Returns: The context for the origin, and the function to be called at the end with the origin's status, or nil if it did not respond.
    package func beginTransfer(host: String) -> (context: TraceContext, end: @Sendable (Int?) -> Void) {
        let (id, start) = (TraceNumbers.shared.spanID(), ContinuousClock.now)
        let end = { @Sendable [self] (status: Int?) in
            var span = Span(
                id: id, parent: root, name: RequestStep.origin.rawValue, kind: .client, start: start, end: .now,
                failed: status.map { $0 >= 500 } ?? true)
            span.attributes = [("server.address", .text(host))]
            if let status { span.attributes.append(("http.response.status_code", .number(Int64(status)))) }
            add(span)
        }
        return (TraceContext(trace: self.id, span: id, isSampled: true), end)
    }

    private func add(_ span: Span) {
        spans.withLock { if $0.count < Self.mostSpans { $0.append(span) } }
    }

    /// Returns all spans, including the ended request's span.
    package func finished(_ record: RequestRecord) -> [Span] {
        let request = record.request
        let target = request.head.targetText
        let kind = target.hasPrefix(Router.imagePrefix) ? "image" : "file"
        var span = Span(
            id: root, parent: parent, name: "\(request.method.rawValue) \(kind)", kind: .server,
            start: request.received,
            end: request.received + record.duration, failed: record.status == 0 || record.status >= 500)
        let path = MaskedText.masked(target)
        span.attributes = [
            ("http.request.method", .text(request.method.rawValue)),
            ("url.path", .text(String(path.prefix { $0 != "?" }))),
            ("http.response.body.size", .number(record.bytesSent)),
            ("imgcache.cache", .text(record.outcome ?? CacheOutcome.none.rawValue)),
            ("imgcache.request_id", .text(request.id)),
        ]
        // A client that has left got none.
        if record.status > 0 {
            span.attributes.append(("http.response.status_code", .number(Int64(record.status))))
        }
        if let query = path.firstIndex(of: "?") {
            span.attributes.append(("url.query", .text(String(path[path.index(after: query)...]))))
        }
        if let error = record.error { span.attributes.append(("error.type", .text(error))) }
        return spans.withLock { $0 } + [span]
    }
}
