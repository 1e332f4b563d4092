public import FoundationEssentials
import HTTPSemantics
public import HTTPTypes

/// A stored response after an update.
public struct RefreshedResponse: Sendable, Hashable {
    /// The index of the candidate.
    public var candidate: Int
    /// The updated response to keep; the body is unchanged.
    public var response: StoredResponse
}

/// The meaning of a 304.
public enum NotModifiedOutcome: Sendable, Hashable {
    /// It confirms the first of these, which is served, and updates all of them.
    case refreshed([RefreshedResponse])
    /// It matches the client's own condition, and no stored response: forward it.
    case forwardToClient
    /// It identifies none of the stored responses: repeat the request without conditions.
    case repeatUnconditionally
}

extension CacheRules {
    /// Determines the meaning of a 304 to a validation for the stored responses (RFC 9111 sections 4.3.3 and 4.3.4).
    /// - Parameters:
    ///   - response: The 304.
    ///   - validation: The validation from ``decide(_:stored:now:)``.
    ///   - stored: The stored responses that were passed to it.
    ///   - request: The request that was passed to it.
    ///   - redirects: The redirects that were followed to the 304, in order.
    ///   - finalURL: The URL after redirects; `nil` if there were none. A 304 confirms only responses from there.
    ///   - requestTime: The time at which the validation was sent.
    ///   - responseTime: The time at which the 304 was received.
    public func afterNotModified(
        _ response: HTTPResponse,
        validation: CacheValidation,
        stored: [StoredResponse],
        request: CacheRequest,
        redirects: [StoredHead] = [],
        finalURL: String? = nil,
        requestTime: Date,
        responseTime: Date
    ) -> NotModifiedOutcome {
        let resource = finalURL ?? request.url
        let initial = validation.candidates.filter {
            stored.indices.contains($0) && resourceParameters.isSameResource(stored[$0].finalURL, resource)
        }
        var identified = identify(response.headerFields, among: initial, of: stored, receivedAt: responseTime)
        let isBare = !ValidatorFields(response.headerFields, receivedAt: responseTime).exists
        let hasOwnCondition = request.fields.contains(.ifNoneMatch) || request.fields.contains(.ifModifiedSince)
        if identified.isEmpty, isBare, initial.count == 1, !hasOwnCondition {
            // A 304 without any validator is unambiguous if only one response's validator was sent.
            identified = initial
        }
        guard let first = identified.first else { return hasOwnCondition ? .forwardToClient : .repeatUnconditionally }
        // The selected response is served if the 304 matches it; otherwise the most recent match.
        let answering = identified.contains(validation.candidate) ? validation.candidate : first
        let order = [answering] + identified.filter { $0 != answering }
        return .refreshed(
            order.map { index in
                RefreshedResponse(
                    candidate: index,
                    response: freshened(
                        stored[index], by: response.headerFields, request: index == answering ? request.fields : nil,
                        redirects: redirects, finalURL: finalURL, requestTime: requestTime, responseTime: responseTime))
            })
    }

    /// The stored responses that a 304 identifies: all with the same strong validator; otherwise the most recent one with the same weak
    /// validator. If the 304 has no validator, the only stored response, if that has none either.
    private func identify(
        _ fields: HTTPFields, among initial: [Int], of stored: [StoredResponse], receivedAt: Date
    ) -> [Int] {
        let new = ValidatorFields(fields, receivedAt: receivedAt)
        func validator(_ index: Int) -> ValidatorFields {
            ValidatorFields(stored[index].fields, receivedAt: stored[index].responseTime)
        }
        let hasStrong = new.entityTag.map { !$0.isWeak } ?? new.isLastModifiedStrong
        if hasStrong {
            return newestFirst(
                initial.filter { index in
                    let old = validator(index)
                    if let one = new.entityTag, let other = old.entityTag { return one.matchesStrongly(other) }
                    return new.isLastModifiedStrong
                        && CacheRules.sameDate(new.lastModified, old.lastModified, receivedAt)
                }, of: stored)
        }
        if new.exists {
            let matching = initial.filter { index in
                let old = validator(index)
                if let one = new.entityTag, let other = old.entityTag { return one.matchesWeakly(other) }
                return CacheRules.sameDate(new.lastModified, old.lastModified, receivedAt)
            }
            return Array(newestFirst(matching, of: stored).prefix(1))
        }
        return initial.count == 1 && !validator(initial[0]).exists ? initial : []
    }

    private func newestFirst(_ indices: [Int], of stored: [StoredResponse]) -> [Int] {
        indices.sorted { one, other in
            let first = ResponseFacts(stored[one].fields, receivedAt: stored[one].responseTime, rules: self).date
            let second = ResponseFacts(stored[other].fields, receivedAt: stored[other].responseTime, rules: self).date
            return first != second ? first > second : one < other
        }
    }

    static func sameDate(_ one: String?, _ other: String?, _ now: Date) -> Bool {
        guard let one, let other, let first = HTTPDate.parse(one, now: now) else { return false }
        return first == HTTPDate.parse(other, now: now)
    }
}
