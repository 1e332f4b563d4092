import ConcurrencyPrimitives
import FoundationEssentials
package import HTTPServer
import HTTPTypes

/// Chooses the requests to be traced, and sends their spans in batches to an OpenTelemetry collector (OTLP/HTTP with JSON).
package final class SpanExporter: Sendable {
    package struct Options: Sendable {
        /// The share of requests without a sampled `traceparent` that are traced, from 0 to 1.
        package var sampling = 0.01
        /// The name of the service.
        package var service = "imgcache"
        package var version = ""
        /// The most spans that wait. Further traces are dropped, and counted.
        package var mostWaiting = 8192
        /// The most spans of one message.
        package var batch = 512
        /// The time after which spans are sent that do not fill a message.
        package var interval = Duration.seconds(2)

        package init() {}
    }

    private struct State {
        var waiting: [(trace: String, span: Trace.Span)] = []
        var isClosed = false
    }

    private let options: Options
    private let send: @Sendable ([UInt8]) async -> Bool
    private let count: @Sendable (_ sent: Int, _ dropped: Int) -> Void
    private let state = Locked(State())
    private let wakeUp = Locked<Promise<Void>>(Promise())
    /// Wall time and clock at the same moment.
    private let epoch = (date: Date(), instant: ContinuousClock.now)

    /// - Parameters:
    ///   - send: Sends a message of JSON to the collector; returns false if it did not take it.
    ///   - count: Called with the numbers of spans that were sent, and dropped because too many waited or the collector did not take them.
    package init(
        _ options: Options, send: @escaping @Sendable ([UInt8]) async -> Bool,
        counting count: @escaping @Sendable (_ sent: Int, _ dropped: Int) -> Void
    ) {
        self.options = options
        self.send = send
        self.count = count
    }

    /// The trace of a request; nil if it is not traced. A client's decision holds, so that its traces are whole.
    package func trace(of request: Request) -> Trace? {
        if let value = request.head.fields[.traceParent], let context = TraceContext(value) {
            return context.isSampled ? Trace(continuing: context) : nil
        }
        guard options.sampling > 0, TraceNumbers.shared.isChosen(options.sampling) else { return nil }
        return Trace(continuing: nil)
    }

    /// Takes the spans of a request that has ended.
    package func end(_ record: RequestRecord) {
        guard let trace = record.request.steps as? Trace else { return }
        let spans = trace.finished(record)
        let (isTaken, isFull) = state.withLock { state in
            guard state.waiting.count + spans.count <= options.mostWaiting, !state.isClosed else {
                return (false, false)
            }
            state.waiting += spans.map { (trace.id, $0) }
            return (true, state.waiting.count >= options.batch)
        }
        if !isTaken { count(0, spans.count) }
        if isFull { wakeUp.withLock { $0 }.fulfill(()) }
    }

    /// Sends spans until ``close()``, then the rest.
    package func run() async {
        while !state.withLock({ $0.isClosed }) {
            let promise = Promise<Void>()
            wakeUp.withLock { $0 = promise }
            if state.withLock({ $0.waiting.count < options.batch && !$0.isClosed }) {
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { _ = await promise.value() }
                    group.addTask { [interval = options.interval] in try? await Task.sleep(for: interval) }
                    await group.next()
                    promise.fulfill(())
                    group.cancelAll()
                }
            }
            await sendWaiting()
        }
        await sendWaiting()
    }

    /// Ends ``run()``.
    package func close() {
        state.withLock { $0.isClosed = true }
        wakeUp.withLock { $0 }.fulfill(())
    }

    /// Ends ``run()``, which is the given task. Spans that the collector has not taken at the given time are dropped.
    package func end(_ running: Task<Void, Never>, by time: ContinuousClock.Instant) async {
        close()
        let limit = Task {
            try await Task.sleep(until: time, clock: .continuous)
            running.cancel()
        }
        await running.value
        limit.cancel()
    }

    private func sendWaiting() async {
        while true {
            let batch = state.withLock { state in
                let batch = state.waiting.prefix(options.batch)
                state.waiting.removeFirst(batch.count)
                return Array(batch)
            }
            guard !batch.isEmpty else { return }
            let isTaken = Task.isCancelled ? false : await send(message(batch))
            count(isTaken ? batch.count : 0, isTaken ? 0 : batch.count)
            // A collector that is away does not delay the end of the service by each message.
            if !isTaken, let rest = takeRestIfClosed() { return count(0, rest) }
        }
    }

    /// Drops what waits if no more spans come; returns their number.
    private func takeRestIfClosed() -> Int? {
        state.withLock { state in
            guard state.isClosed else { return nil }
            defer { state.waiting = [] }
            return state.waiting.count
        }
    }

    /// The spans as `ExportTraceServiceRequest` in the JSON of OTLP: ids are hexadecimal, 64-bit numbers are text.
    private func message(_ batch: [(trace: String, span: Trace.Span)]) -> [UInt8] {
        var (resource, scope, spans) = (JSONLine(), JSONLine(), JSONLine(reserving: batch.count * 512))
        resource.add(
            "attributes",
            [("service.name", options.service), ("service.version", options.version)].map { line($0.0, .text($0.1)) })
        scope.add("name", "imgcache")
        scope.add("version", options.version)
        spans.add("scope", scope)
        spans.add("spans", batch.lazy.map { self.line($0.span, of: $0.trace) })
        var (resourceSpans, message) = (JSONLine(), JSONLine())
        resourceSpans.add("resource", resource)
        resourceSpans.add("scopeSpans", CollectionOfOne(spans))
        message.add("resourceSpans", CollectionOfOne(resourceSpans))
        return message.finished()
    }

    private func line(_ span: Trace.Span, of trace: String) -> JSONLine {
        var line = JSONLine(reserving: 512)
        line.add("traceId", trace)
        line.add("spanId", span.id)
        if let parent = span.parent { line.add("parentSpanId", parent) }
        line.add("name", span.name)
        line.add("kind", span.kind.rawValue)
        line.add("startTimeUnixNano", nanoseconds(span.start))
        line.add("endTimeUnixNano", nanoseconds(span.end))
        line.add("attributes", span.attributes.lazy.map { self.line($0.name, $0.value) })
        var status = JSONLine()
        if span.failed { status.add("code", Self.error) }
        line.add("status", status)
        return line
    }

    /// `STATUS_CODE_ERROR`.
    private static let error = 2

    private func line(_ name: String, _ value: Trace.AttributeValue) -> JSONLine {
        var (line, content) = (JSONLine(reserving: 64), JSONLine(reserving: 64))
        switch value {
        case .text(let text): content.add("stringValue", text)
        case .number(let number): content.add("intValue", String(number))
        }
        line.add("key", name)
        line.add("value", content)
        return line
    }

    private func nanoseconds(_ instant: ContinuousClock.Instant) -> String {
        let passed = (instant - epoch.instant).components
        let start = epoch.date.timeIntervalSince1970
        let seconds = start.rounded(.down)
        let rest = Int64((start - seconds) * 1e9) + passed.attoseconds / 1_000_000_000
        return String((Int64(seconds) + passed.seconds) * 1_000_000_000 + rest)
    }
}
