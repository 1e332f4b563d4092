public import FoundationEssentials
import HTTPSemantics
public import HTTPTypes

extension CacheRules {
    /// The stored responses to GET that a 200 to HEAD updates or invalidates (RFC 9111 section 4.3.5).
    ///
    /// A response of the same resource with the same validators and length is updated (section 3.2); one that differs
    /// in any of these is invalidated: it must be validated before it is used. Responses unaffected by the HEAD are
    /// omitted.
    ///
    /// - Parameters:
    ///   - response: The response to HEAD.
    ///   - request: The request that it answers.
    ///   - stored: The stored responses under the request's key.
    ///   - finalURL: The URL after redirects; `nil` if there were none.
    ///   - requestTime: The time at which the request was sent.
    ///   - responseTime: The time at which the head was received.
    public func afterHead(
        _ response: HTTPResponse, to request: CacheRequest, stored: [StoredResponse], finalURL: String? = nil,
        requestTime: Date, responseTime: Date
    ) -> [RefreshedResponse] {
        guard request.method == .head, response.status == .ok else { return [] }
        let new = ValidatorFields(response.headerFields, receivedAt: responseTime)
        var result: [RefreshedResponse] = []
        for (index, old) in stored.enumerated() where old.requestMethod == .get && old.status.code / 100 == 2 {
            var getRequest = request
            getRequest.method = .get
            guard isCandidate(old, getRequest, now: responseTime) else { continue }
            var updated: StoredResponse
            if resourceParameters.isSameResource(old.finalURL, finalURL ?? request.url),
                agrees(response.headerFields, new, with: old, receivedAt: responseTime)
            {
                updated = freshened(
                    old, by: response.headerFields, request: request.fields, requestTime: requestTime,
                    responseTime: responseTime)
            } else {
                updated = old
                updated.isInvalidated = true
            }
            result.append(RefreshedResponse(candidate: index, response: updated))
        }
        return result
    }

    private func agrees(
        _ fields: HTTPFields, _ new: ValidatorFields, with old: StoredResponse, receivedAt: Date
    ) -> Bool {
        let known = ValidatorFields(old.fields, receivedAt: old.responseTime)
        if let tag = new.entityTag {
            guard let other = known.entityTag, tag == other else { return false }
        }
        if let modified = new.lastModified, !CacheRules.sameDate(modified, known.lastModified, receivedAt) {
            return false
        }
        if let length = ContentLength.value(of: fields) {
            let stored: Int64? =
                switch old.extent {
                case .complete(let length): length ?? ContentLength.value(of: old.fields)
                case .partial(_, let total): total
                }
            if stored != length { return false }
        }
        return true
    }
}
