import HTTPTypes
import Logging
import Metrics
import NIOCore

/// What all connections share: who answers, what counts and logs, how many may run.
final class Listener: Sendable {
    let settings: ConnectionSettings
    let router: Router
    let metrics: ServerMetrics
    let log: AccessLog
    let admission: Admission
    let budget: ContentBudget
    let connections: ConnectionRegistry
    let answers = RunningAnswers()
    let logger: Logger
    /// The field that names a request.
    let idField: HTTPField.Name?

    init(
        settings: ConnectionSettings, router: Router, metrics: ServerMetrics, log: AccessLog, admission: Admission,
        connections: ConnectionRegistry, logger: Logger
    ) {
        self.settings = settings
        self.router = router
        self.metrics = metrics
        self.log = log
        self.admission = admission
        self.connections = connections
        budget = ContentBudget(settings.contentBudget)
        self.logger = logger
        idField = settings.idFieldName.flatMap { HTTPField.Name($0) }
    }

    /// The refusal that a request gets whose turn will not come.
    func response(to refusal: Admission.Refusal) -> Response {
        switch refusal {
        case .full(let shortage):
            let fault = RequestFault.busy(
                shortage, .queue, "The requests that wait are", retryAfter: admission.retryAfter)
            metrics.refused(fault.reason)
            return .failure(
                fault.status, fault.code, fault.message, fields: [.retryAfter: String(admission.retryAfter)])
        case .cancelled:
            return .failure(
                503, "cancelled", "The request was given up.", fields: [.retryAfter: String(admission.retryAfter)])
        }
    }
}
