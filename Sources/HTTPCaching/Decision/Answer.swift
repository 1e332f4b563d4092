public import FoundationEssentials
import HTTPSemantics
import HTTPTypes

extension CacheRules {
    enum Answer {
        case answer(status: HTTPResponse.Status, body: ServedBody)
        /// What is stored does not cover what is asked for.
        case notCovered
    }

    /// What a stored response, taken for valid, says to the request: its own conditions first, then its range (RFC 9110
    /// section 13.2.2, RFC 9111 section 4.3.2).
    func answer(from response: StoredResponse, facts: ResponseFacts, to request: CacheRequest) -> Answer {
        let isSuccess = (200...299).contains(response.status.code)
        let hasConditions = response.status == .ok || response.status == .partialContent
        if hasConditions, conditionIsFalse(in: request, response, facts) {
            return .answer(status: .notModified, body: .none)
        }
        if request.method == .head {
            return response.isComplete ? .answer(status: response.status, body: .none) : .notCovered
        }
        // Range is defined for GET, and for a representation that would be sent with 200.
        let range =
            request.method == .get && isSuccess && rangeApplies(request, response)
            ? ByteRange(request.fields) : nil
        switch response.extent {
        case .complete(let length):
            guard let range, response.status == .ok, let length = length ?? ContentLength.value(of: response.fields)
            else {
                return .answer(status: response.status, body: .whole)
            }
            guard let part = range.resolved(length: length) else {
                return .answer(status: .rangeNotSatisfiable, body: .none)
            }
            return .answer(status: .partialContent, body: .range(part, total: length))
        case .partial(let held, let total):
            guard let range, let part = CacheRules.resolve(range, held: held, total: total) else { return .notCovered }
            return .answer(status: .partialContent, body: .range(part, total: total))
        }
    }

    /// The part of a partial response that is asked for, when all of it is held.
    private static func resolve(_ range: ByteRange, held: [Range<Int64>], total: Int64?) -> Range<Int64>? {
        let wanted: Range<Int64>
        if let total {
            guard let part = range.resolved(length: total) else { return nil }
            wanted = part
        } else {
            // Without the total only a range with both ends can be known to be covered.
            guard case .from(let first, let last?) = range, last < Int64.max else { return nil }
            wanted = first..<(last + 1)
        }
        return held.contains { $0.lowerBound <= wanted.lowerBound && wanted.upperBound <= $0.upperBound } ? wanted : nil
    }

    /// `If-Range` (RFC 9110 section 13.1.5): where its validator is not exactly and strongly that of the stored response, the
    /// whole is sent.
    private func rangeApplies(_ request: CacheRequest, _ response: StoredResponse) -> Bool {
        guard let condition = request.fields.first("if-range") else { return true }
        let validators = ValidatorFields(response.fields, receivedAt: response.responseTime)
        return validators.satisfies(ifRange: condition, receivedAt: response.responseTime)
    }

    /// The validator by which the rest of a partial response may be asked for.
    func completingValidator(_ response: StoredResponse, for request: CacheRequest) -> String? {
        guard request.method == .get, !request.fields.contains(.range), case .partial = response.extent else {
            return nil
        }
        return ValidatorFields(response.fields, receivedAt: response.responseTime).strongText
    }

    /// The answer that a stored response gives to a request after the origin has confirmed it, or when it may be served stale:
    /// the request's own conditions and range are looked at, freshness is not. `nil` when what is stored does not cover
    /// what is asked for.
    /// - Parameters:
    ///   - stored: The response that answers.
    ///   - candidate: What ``ServedResponse/candidate`` shall be.
    ///   - request: The request, with its own conditions and range.
    ///   - now: The time to reckon ages by.
    ///   - staleness: Why it is served although it is stale; `nil` after a confirmation.
    public func served(
        _ stored: StoredResponse, candidate: Int = 0, for request: CacheRequest, now: Date,
        staleness: StaleReason? = nil
    ) -> ServedResponse? {
        let facts = ResponseFacts(stored.fields, receivedAt: stored.responseTime, rules: self)
        guard case .answer(let status, let body) = answer(from: stored, facts: facts, to: request) else { return nil }
        let freshness = freshness(of: stored, facts: facts, at: now, freshnessOverride: request.freshnessOverride)
        return ServedResponse(
            candidate: candidate, status: status, body: body, age: freshness.age,
            remainingLifetime: freshness.remaining,
            staleness: staleness, withheldFields: staleness == nil ? [] : facts.directives.noCacheFields)
    }
}
