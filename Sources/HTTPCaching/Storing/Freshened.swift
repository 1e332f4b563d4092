public import FoundationEssentials
import HTTPSemantics
public import HTTPTypes

extension CacheRules {
    /// A stored response with the fields of a 304, or of a HEAD response, in place of its own (RFC 9111 section 3.2).
    ///
    /// Not taken over: fields that must not be stored (section 3.1), `Content-Length`, and `Content-Encoding` and
    /// `Content-Range`, which say how the stored body was received; in a shared cache a `Set-Cookie` that nothing says is for
    /// everybody.
    /// - Parameters:
    ///   - stored: The stored response.
    ///   - fields: The fields of the newer one.
    ///   - request: The fields of the request that got it, if that request selects the stored response: where `Vary` names
    ///     fields that it did not name before, their values are taken from here.
    ///   - redirects: The redirects that were followed this time; they take the place of the stored ones. `nil` keeps those.
    ///   - finalURL: Where they led, the same resource; `nil` keeps the stored URL.
    ///   - requestTime: When the request was sent that got the newer response.
    ///   - responseTime: When its head was received.
    public func freshened(
        _ stored: StoredResponse, by fields: HTTPFields, request: HTTPFields? = nil, redirects: [StoredHead]? = nil,
        finalURL: String? = nil,
        requestTime: Date, responseTime: Date
    ) -> StoredResponse {
        var result = stored
        let new = storableFields(of: fields).filter { !CacheRules.isExcludedFromUpdate($0.name.canonicalName) }
        // HTTPFields holds fewer than 65,535 fields; a response with so many is not believed at all.
        if stored.fields.count + new.count < 60_000 {
            let replaced = Set(new.map(\.name.canonicalName))
            var merged = HTTPFields()
            merged.reserveCapacity(stored.fields.count + new.count)
            for field in stored.fields {
                let name = field.name.canonicalName
                // The age that was true then is not now, whether or not the new response says one.
                if name == "age" || replaced.contains(name) { continue }
                merged.append(field)
            }
            merged.append(contentsOf: new)
            if mode == .shared, replaced.contains("set-cookie"),
                !CacheRules.isExplicitlyShared(ResponseFacts(merged, receivedAt: responseTime, rules: self))
            {
                merged[.setCookie] = nil
            }
            result.fields = merged
        }
        if !fields.contains(.date) { result.fields[.date] = HTTPDate.format(responseTime) }
        if let finalURL { result.finalURL = finalURL }
        if let redirects { result.redirects = redirects.map(storable) }
        if let request {
            result.selectingFields.add(
                SelectingFields(selectingNames(result.fields, result.redirects), of: request))
        }
        result.requestTime = requestTime
        result.responseTime = responseTime
        result.isInvalidated = false
        return result
    }

    private static func isExcludedFromUpdate(_ canonicalName: String) -> Bool {
        switch canonicalName {
        case "content-length", "content-encoding", "content-range": true
        default: false
        }
    }
}
