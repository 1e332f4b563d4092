import HTTPTypes

/// The state that all connections of a server share: the handler, the observer, and the limits.
package final class Listener: Sendable {
    let settings: ConnectionSettings
    let handler: any RequestHandler
    let observer: (any RequestObserver)?
    package let admission: Admission
    let budget: ContentBudget
    package let connections: ConnectionRegistry
    let responses = RunningResponses()

    package init(
        settings: ConnectionSettings, handler: any RequestHandler, observer: (any RequestObserver)?,
        admission: Admission,
        connections: ConnectionRegistry
    ) {
        self.settings = settings
        self.handler = handler
        self.observer = observer
        self.admission = admission
        self.connections = connections
        budget = ContentBudget(settings.contentBudget)
    }

    /// Lets each connection finish its present request, and closes those that have not after `time`. Event loops may be
    /// shut down afterwards.
    package func drain(within time: Duration) async {
        await connections.drain(within: time)
        await responses.wait()
    }

    /// The response to a request that is not admitted.
    func response(to rejection: Admission.Rejection) -> Response {
        switch rejection {
        case .full(let shortage):
            let fault = RequestError.busy(
                shortage, .queue, "The requests that wait are", retryAfter: admission.retryAfter)
            observer?.requestRefused(fault.reason)
            return .failure(
                fault.status, fault.code, fault.message, fields: [.retryAfter: String(admission.retryAfter)])
        case .cancelled:
            return .failure(
                503, "cancelled", "The request was cancelled.", fields: [.retryAfter: String(admission.retryAfter)])
        }
    }
}
