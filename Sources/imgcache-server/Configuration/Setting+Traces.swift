import HTTPSemantics
import HTTPTypes

extension Setting {
    /// The settings of traces.
    static let traces: [Setting] = [
        text(
            "otlp-endpoint", "URL", \.otlpEndpoint,
            "An OpenTelemetry collector, such as http://127.0.0.1:4318: traces are sent to /v1/traces there, as JSON (OTLP/HTTP)."
        ) { text in
            guard let url = try? HTTPURL(text) else { return "must be an http or https URL" }
            guard url.userinfo == nil else { return "must have no user; otlp-fields may have an Authorization" }
            // The path of traces is appended.
            return text.contains { "?#".contains($0) } ? "must have no query; otlp-fields may have a key" : nil
        },
        table(
            "otlp-fields", "NAME:VALUE;…", \.otlpFields, "Fields of the requests to the collector, such as a key."
        ) { name, value in
            HTTPField.Name(name) == nil ? "must be a field name" : valueProblem(value)
        }.secret,
        property(
            "trace-sampling", "SHARE", \.traceSampling,
            "The share of requests that are traced, from 0 to 1, unless the client's traceparent decides it.",
            read: { text in
                guard let share = Double(text), (0...1).contains(share) else { return .problem("must be from 0 to 1") }
                return .value(share)
            }, text: { String($0) }),
    ]
}
