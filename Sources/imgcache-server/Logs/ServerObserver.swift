import ConcurrencyPrimitives
import HTTPServer
import ImageProxy
import ImageProxyAdmin

/// Counts each request, ranks it, and writes it to the access log.
struct ServerObserver: RequestObserver {
    let metrics: ServerMetrics
    let ranking: RequestRanking
    let log: AccessLog
    /// `nil` if requests are not traced.
    let spans: SpanExporter?

    func requestRefused(_ reason: RequestError.Reason) { metrics.refused(reason) }

    var readsRequests: Bool { log.isOn }

    func requestEnded(target: String, status: Int, outcome: String?, bytesSent: Int64, duration: Duration) {
        metrics.ended(status: status, outcome: outcome, bytesSent: bytesSent, duration: duration)
        ranking.note(
            RequestRanking.Sample(
                target: target, status: status, outcome: outcome, bytesSent: bytesSent, duration: duration))
    }

    func steps(of request: Request) -> (any RequestStepRecorder)? { spans?.trace(of: request) }

    func requestEnded(_ record: RequestRecord) {
        spans?.end(record)
        metrics.ended(record)
        if let sample = RequestRanking.Sample(record) { ranking.note(sample) }
        if log.isOn { log.record(record) }
    }
}
