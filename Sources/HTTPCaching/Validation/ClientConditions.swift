import FoundationEssentials
import HTTPSemantics
import HTTPTypes

extension CacheRules {
    /// Returns true if the request has a precondition that yields 304 for the stored response (RFC 9111 section 4.3.2).
    ///
    /// `If-None-Match` takes precedence over `If-Modified-Since` (RFC 9110 section 13.2.2). `If-Match` and
    /// `If-Unmodified-Since` do not apply to caches and are ignored.
    func conditionIsFalse(in request: CacheRequest, _ response: StoredResponse, _ facts: ResponseFacts) -> Bool {
        var tagLines: [String] = []
        var dateLine: HTTPField?
        for field in request.fields {
            if field.name.isNamed("if-none-match") {
                tagLines.append(field.value)
            } else if dateLine == nil, field.name.isNamed("if-modified-since") {
                dateLine = field
            }
        }
        if !tagLines.isEmpty {
            let validators = ValidatorFields(response.fields, receivedAt: response.responseTime)
            return EntityTagCondition(lines: tagLines).matchesWeakly(validators.entityTag)
        }
        let received = response.responseTime.secondsSince1970
        // Not a date: "A recipient MUST ignore the If-Modified-Since header field" (RFC 9110 section 13.1.3).
        guard request.method == .get || request.method == .head, let dateLine,
            let date = dateLine.withUnsafeBytesOfValue({ HTTPDate.parse($0, now: received) })
        else { return false }
        // A Last-Modified earlier than the client's means that the resource was rolled back, which is a change.
        if let modified = facts.lastModified { return modified == date }
        return facts.date <= date
    }
}
