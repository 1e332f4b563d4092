import ConcurrencyPrimitives
import HTTPTypes
import ImageProxy
import ImageProxyAdmin
import Logging
import Transfer

extension SpanExporter {
    /// Sends spans to the configured collector; nil if there is none.
    convenience init?(
        _ configuration: ServerConfiguration, over transport: any HTTPTransport, _ metrics: ServerMetrics,
        _ logger: Logger
    ) {
        guard let endpoint = configuration.otlpEndpoint else { return nil }
        var options = SpanExporter.Options()
        options.sampling = configuration.traceSampling
        options.service = configuration.viaName
        options.version = ServerCommand.version
        let url = (endpoint.hasSuffix("/") ? String(endpoint.dropLast()) : endpoint) + "/v1/traces"
        var fields = HTTPFields(setting: configuration.otlpFields)
        fields[.contentType] = "application/json"
        let isTaking = Locked(true)
        self.init(options) { [fields] message in
            let problem: String?
            do throws(TransferError) {
                let request = TransferRequest(url: url, method: .post, fields: fields, body: message)
                let status = try await transport.quickStatus(of: request)
                problem = status.kind == .successful ? nil : "status \(status.code)"
            } catch {
                problem = "\(error)"
            }
            let changed = isTaking.withLock { isTaking in
                defer { isTaking = problem == nil }
                return isTaking != (problem == nil)
            }
            if changed, let problem {
                logger.warning("traces are lost: the collector does not take them", metadata: ["cause": "\(problem)"])
            } else if changed {
                logger.notice("the collector takes traces again")
            }
            return problem == nil
        } counting: {
            metrics.countSpans(sent: $0, dropped: $1)
        }
    }
}

extension HTTPTransport {
    /// The status of the response to a request that succeeds within five seconds, without retries, or not at all.
    func quickStatus(of request: TransferRequest) async throws(TransferError) -> HTTPResponse.Status {
        var request = request
        request.options.connectTimeout = .seconds(5)
        request.options.maxTime = .seconds(5)
        request.options.retry.maxRetries = 0
        return try await run(request, into: NoBody()).head.status
    }
}
