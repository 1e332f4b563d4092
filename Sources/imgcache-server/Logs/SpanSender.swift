import ConcurrencyPrimitives
import FoundationEssentials
import HTTPTypes
import ImageProxy
import ImageProxyAdmin
import Logging
import Transfer

/// Sends the spans of traces to the configured collector.
struct SpanSender: Sendable {
    let exporter: SpanExporter

    /// Returns nil if no collector is configured.
    init?(
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
        exporter = SpanExporter(options) { [fields] message in
            let problem = await Self.send(message, to: url, fields, over: transport)
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

    /// Returns nil if the collector took the message, otherwise the reason.
    private static func send(
        _ message: [UInt8], to url: String, _ fields: HTTPFields, over transport: any HTTPTransport
    ) async -> String? {
        var options = TransferOptions()
        options.connectTimeout = .seconds(5)
        options.maxTime = .seconds(5)
        options.retry.maxRetries = 0
        let request = TransferRequest(url: url, method: .post, fields: fields, body: message, options: options)
        do throws(TransferError) {
            let status = try await transport.run(request, into: NoBody()).head.status
            return status.kind == .successful ? nil : "status \(status.code)"
        } catch {
            return "\(error)"
        }
    }
}
