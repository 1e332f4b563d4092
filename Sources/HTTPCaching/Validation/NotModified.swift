public import FoundationEssentials
import HTTPSemantics
public import HTTPTypes

/// A stored response after it was updated.
public struct RefreshedResponse: Sendable, Hashable {
    /// Which of the candidates it was.
    public var candidate: Int
    /// What to keep from now on; the body is the same.
    public var response: StoredResponse
}

/// What a 304 means.
public enum NotModifiedOutcome: Sendable, Hashable {
    /// It confirms the first of these, which answers the request, and updates all of them.
    case refreshed([RefreshedResponse])
    /// It answers the client's own condition, and nothing stored: pass it on.
    case answersClient
    /// It names something else than what is stored: ask again, without conditions.
    case repeatUnconditionally
}

extension CacheRules {
    /// What a 304 to a validation means for the stored responses (RFC 9111 sections 4.3.3 and 4.3.4).
    /// - Parameters:
    ///   - response: The 304.
    ///   - validation: What ``decide(_:stored:now:)`` said to ask.
    ///   - stored: The responses that were given to it.
    ///   - request: The request that was given to it.
    ///   - redirects: The redirects that were followed to the 304, first one first.
    ///   - finalURL: Where they led; `nil`: there were none. A 304 confirms what came from there, and nothing else.
    ///   - requestTime: When the validation was sent.
    ///   - responseTime: When the 304 was received.
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
            // A 304 without any validator: where only one response's validator was sent, it can mean nothing else.
            identified = initial
        }
        guard let first = identified.first else { return hasOwnCondition ? .answersClient : .repeatUnconditionally }
        // What was chosen answers, if the 304 means it; else the most recent of those that it means.
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

    /// The stored responses that a 304 is about: all with the same strong validator; failing that, the most recent with the
    /// same weak one; failing any validator, the only one, if it has none either.
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
