import FoundationEssentials
import HTTPSemantics
public import HTTPTypes

extension CacheRules {
    /// The conditional fields that validate a stored response: `If-None-Match` with its entity tag, `If-Modified-Since`
    /// with its `Last-Modified`, both if it has both (RFC 9111 section 4.3.1). Empty if it has neither.
    public func conditionalFields(for stored: StoredResponse) -> HTTPFields {
        var fields = HTTPFields()
        let validator = ValidatorFields(stored.fields, receivedAt: stored.responseTime)
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
        if let tag = fields[.ifNoneMatch] {
            // The origin's response may match other selectable stored responses, and the client's own tags. Tags of
            // another resource (a redirect that varies) mean something else there.
            var known = [tag]
            for (index, other) in stored.enumerated() where index != chosen.index {
                guard resourceParameters.isSameResource(other.finalURL, response.finalURL),
                    let tag = tagForUnion(other, request, now: now)?.text
                else { continue }
                candidates.append(index)
                if !known.contains(tag) { known.append(tag) }
            }
            if case .tags(let own) = EntityTagCondition(lines: request.fields[values: .ifNoneMatch]) {
                for tag in own where !known.contains(tag.text) { known.append(tag.text) }
            }
            if known.count > 1 { fields[.ifNoneMatch] = known.joined(separator: ", ") }
            // The date is sent "if the request is not for a subrange, a single stored response is being validated".
            if candidates.count > 1 || request.fields.contains(.range) { fields[.ifModifiedSince] = nil }
        }
        if request.policy == .reloadRevalidatingCacheData { fields[.cacheControl] = "max-age=0" }
        return CacheValidation(
            candidate: chosen.index, candidates: candidates, fields: fields, reason: reason,
            mayServeStaleOnError: mayServeStale(
                response, facts: chosen.facts, freshness: chosen.freshness, after: .unreachable, request, directives),
            remainingLifetime: chosen.freshness.remaining)
    }

    /// The entity tag of another stored response for the union. A partial response contributes its tag only if it covers the requested
    /// range (RFC 9111 section 4.3.2).
    private func tagForUnion(_ other: StoredResponse, _ request: CacheRequest, now: Date) -> EntityTag? {
        guard isCandidate(other, request, now: now) else { return nil }
        if !other.isComplete {
            let facts = ResponseFacts(other.fields, receivedAt: other.responseTime, rules: self)
            guard case .response = evaluate(other, facts: facts, for: request) else { return nil }
        }
        return ValidatorFields(other.fields, receivedAt: other.responseTime).entityTag
    }
}
