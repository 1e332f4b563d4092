import HTTPSemantics
package import HTTPTypes

extension HTTPField.Name {
    package static let forwarded = known("Forwarded")
    package static let traceParent = known("traceparent")
    static let xForwardedFor = known("X-Forwarded-For")
}
