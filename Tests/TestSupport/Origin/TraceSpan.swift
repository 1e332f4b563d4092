import Foundation

/// A span in a message to an OpenTelemetry collector (OTLP, JSON).
public struct TraceSpan: Sendable {
    public let trace, id, name: String
    public let parent: String?
    public let kind: Int
    /// Nanoseconds since 1970.
    public let start, end: Int64
    public let attributes: [String: String]

    /// All spans of a message.
    public static func all(of message: [UInt8]) throws -> [TraceSpan] {
        func list(_ value: [String: Any]?, _ name: String) -> [[String: Any]] { value?[name] as? [[String: Any]] ?? [] }
        let message = try JSONSerialization.jsonObject(with: Data(message)) as? [String: Any]
        return list(message, "resourceSpans").flatMap { list($0, "scopeSpans") }.flatMap { list($0, "spans") }.map {
            span in
            let attributes = list(span, "attributes").map { attribute in
                (attribute["key"] as? String ?? "", (attribute["value"] as? [String: String])?.values.first ?? "")
            }
            func text(_ name: String) -> String { span[name] as? String ?? "" }
            return TraceSpan(
                trace: text("traceId"), id: text("spanId"), name: text("name"), parent: span["parentSpanId"] as? String,
                kind: span["kind"] as? Int ?? 0, start: Int64(text("startTimeUnixNano")) ?? 0,
                end: Int64(text("endTimeUnixNano")) ?? 0, attributes: Dictionary(attributes) { first, _ in first })
        }
    }
}
