public import FoundationEssentials
import HTTPSemantics
public import HTTPTypes

extension CacheRules {
    /// A stored response updated with the fields of a 304 or of a response to HEAD (RFC 9111 section 3.2).
    ///
    /// Not updated: fields that must not be stored (section 3.1), `Content-Length`, and `Content-Encoding` and
    /// `Content-Range`, which describe how the stored body was received; in a shared cache also a `Set-Cookie` that is
    /// not explicitly shareable.
    /// - Parameters:
    ///   - stored: The stored response.
    ///   - fields: The fields of the newer one.
    ///   - request: The fields of the request that received it, if it selects the stored response: values of fields
    ///     that `Vary` newly names are taken from here.
    ///   - redirects: The redirects that were followed this time, which replace the stored ones. `nil` keeps the stored
    ///     ones.
    ///   - finalURL: The URL after redirects, of the same resource; `nil` keeps the stored URL.
    ///   - requestTime: The time at which the request for the newer response was sent.
    ///   - responseTime: The time at which its head was received.
    public func freshened(
        _ stored: StoredResponse, by fields: HTTPFields, request: HTTPFields? = nil, redirects: [StoredHead]? = nil,
        finalURL: String? = nil,
        requestTime: Date, responseTime: Date
    ) -> StoredResponse {
        var result = stored
        let new = storableFields(of: fields).filter { !CacheRules.isExcludedFromUpdate($0.name.canonicalName) }
        // HTTPFields holds fewer than 65,535 fields; a response with so many is ignored.
        if stored.fields.count + new.count < 60_000 {
            let replaced = Set(new.map(\.name.canonicalName))
            var merged = HTTPFields()
            merged.reserveCapacity(stored.fields.count + new.count)
            for field in stored.fields {
                let name = field.name.canonicalName
                // The stored age is outdated, with or without an age in the new response.
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
        result.requesterFields = requesterFields(of: fields)
        if !fields.contains(.date) { result.fields[.date] = HTTPDate.format(responseTime) }
        if let finalURL { result.finalURL = finalURL }
        if let redirects { result.redirects = redirects.map(storable) }
        if let request {
            let names = selectingNames(result.fields, result.redirects)
            result.selectingFields.add(SelectingFields(names, of: request))
            // Otherwise a response that names other fields each time would make the record grow without a limit.
            if result.selectingFields.values.count > CacheRules.mostVaryMembers {
                result.selectingFields.keep(names)
            }
        }
        result.requestTime = requestTime
        result.responseTime = responseTime
        result.isInvalidated = false
        return result
    }

    private static func isExcludedFromUpdate(_ canonicalName: String) -> Bool {
        switch canonicalName {
        case "content-length", "content-encoding", "content-range", "content-digest": true
        default: false
        }
    }
}
