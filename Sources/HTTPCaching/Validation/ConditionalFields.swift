import FoundationEssentials
public import HTTPTypes

extension CacheRules {
    /// The conditional fields that ask whether a stored response still holds: `If-None-Match` with its entity tag,
    /// `If-Modified-Since` with its `Last-Modified`, both when it has both (RFC 9111 section 4.3.1). Empty when it has neither.
    public func conditionalFields(for stored: StoredResponse) -> HTTPFields {
        var fields = HTTPFields()
        let validator = CacheValidator(stored.fields, receivedAt: stored.responseTime)
        if let tag = validator.entityTag { fields[.ifNoneMatch] = tag.text }
        if let modified = validator.lastModified { fields[.ifModifiedSince] = modified }
        return fields
    }

    func validation(
        _ reason: ForwardReason, of chosen: Selected, _ request: CacheRequest, _ directives: RequestDirectives,
        stored: [StoredResponse], now: Date
    ) -> CacheValidation {
        let response = stored[chosen.index]
        var fields = conditionalFields(for: response)
        var candidates = [chosen.index]
        if var tags = fields[.ifNoneMatch] {
            // Other stored responses that could be chosen, and the client's own tags, may be what the origin has.
            var known = [tags]
            for (index, other) in stored.enumerated() where index != chosen.index {
                guard couldAnswer(other, request, now: now),
                    let tag = CacheValidator(other.fields, receivedAt: other.responseTime).entityTag
                else { continue }
                candidates.append(index)
                if !known.contains(tag.text) { known.append(tag.text) }
            }
            if case .tags(let own) = EntityTagCondition(lines: request.fields[values: .ifNoneMatch]) {
                for tag in own where !known.contains(tag.text) { known.append(tag.text) }
            }
            tags = known.joined(separator: ", ")
            fields[.ifNoneMatch] = tags
        }
        if request.policy == .reloadRevalidatingCacheData { fields[.cacheControl] = "max-age=0" }
        return CacheValidation(
            candidate: chosen.index, candidates: candidates, fields: fields, reason: reason,
            mayServeStaleOnError: mayServeStale(
                response, facts: chosen.facts, freshness: chosen.freshness, after: .unreachable, request, directives),
            remainingLifetime: chosen.freshness.remaining)
    }
}
