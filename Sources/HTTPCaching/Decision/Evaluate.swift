public import FoundationEssentials
import HTTPSemantics
import HTTPTypes

extension CacheRules {
    enum Evaluation {
        case response(status: HTTPResponse.Status, body: ServedBody)
        /// The stored part does not cover the requested one.
        case notCovered
    }

    /// Evaluates a stored response, assumed valid, for a request: the request's own conditions first, then its range
    /// (RFC 9110 section 13.2.2, RFC 9111 section 4.3.2).
    func evaluate(_ response: StoredResponse, facts: ResponseFacts, for request: CacheRequest) -> Evaluation {
        let isSuccess = (200...299).contains(response.status.code)
        let hasConditions = response.status == .ok || response.status == .partialContent
        if hasConditions, conditionIsFalse(in: request, response, facts) {
            return .response(status: .notModified, body: .none)
        }
        if request.method == .head {
            return response.isComplete ? .response(status: response.status, body: .none) : .notCovered
        }
        // Range is defined for GET, and for a representation that would be sent with 200.
        let range =
            request.method == .get && isSuccess && rangeApplies(request, response)
            ? ByteRange(request.fields) : nil
        switch response.extent {
        case .complete(let length):
            guard let range, response.status == .ok, let length = length ?? ContentLength.value(of: response.fields)
            else {
                return .response(status: response.status, body: .whole)
            }
            guard let part = range.resolved(length: length) else {
                return .response(status: .rangeNotSatisfiable, body: .none)
            }
            return .response(status: .partialContent, body: .range(part, total: length))
        case .partial(let held, let total):
            guard let range, let part = CacheRules.resolve(range, held: held, total: total) else { return .notCovered }
            return .response(status: .partialContent, body: .range(part, total: total))
        }
    }

    /// The requested part of a partial response, if all of it is held.
    private static func resolve(_ range: ByteRange, held: [Range<Int64>], total: Int64?) -> Range<Int64>? {
        let wanted: Range<Int64>
        if let total {
            guard let part = range.resolved(length: total) else { return nil }
            wanted = part
        } else {
            // Without the total, only a range with both ends is known to be covered.
            guard case .from(let first, let last?) = range, last < Int64.max else { return nil }
            wanted = first..<(last + 1)
        }
        return held.contains { $0.lowerBound <= wanted.lowerBound && wanted.upperBound <= $0.upperBound } ? wanted : nil
    }

    /// Evaluates `If-Range` (RFC 9110 section 13.1.5): the range applies only if its validator exactly and strongly
    /// matches the stored response's.
    private func rangeApplies(_ request: CacheRequest, _ response: StoredResponse) -> Bool {
        guard let condition = request.fields.first("if-range") else { return true }
        let validators = ValidatorFields(response.fields, receivedAt: response.responseTime)
        return validators.satisfies(ifRange: condition, receivedAt: response.responseTime)
    }

    /// The validator with which the rest of a partial response may be requested.
    func completingValidator(_ response: StoredResponse, for request: CacheRequest) -> String? {
        guard request.method == .get, !request.fields.contains(.range), case .partial = response.extent else {
            return nil
        }
        return ValidatorFields(response.fields, receivedAt: response.responseTime).strongText
    }

    /// The response to a request from a stored response that the origin has confirmed, or that may be served stale:
    /// evaluates the request's own conditions and range, but not freshness. `nil` if the stored part does not cover the
    /// requested one.
    /// - Parameters:
    ///   - stored: The stored response.
    ///   - candidate: The value of ``ServedResponse/candidate``.
    ///   - request: The request, with its own conditions and range.
    ///   - now: The time at which ages are calculated.
    ///   - staleness: The reason for serving it stale; `nil` after a confirmation.
    public func served(
        _ stored: StoredResponse, candidate: Int = 0, for request: CacheRequest, now: Date,
        staleness: StaleReason? = nil
    ) -> ServedResponse? {
        let facts = ResponseFacts(stored.fields, receivedAt: stored.responseTime, rules: self)
        guard case .response(let status, let body) = evaluate(stored, facts: facts, for: request) else { return nil }
        let freshness = freshness(of: stored, facts: facts, at: now, freshnessOverride: request.freshnessOverride)
        return ServedResponse(
            candidate: candidate, status: status, body: body, age: freshness.age,
            remainingLifetime: freshness.remaining,
            staleness: staleness, withheldFields: staleness == nil ? [] : facts.directives.noCacheFields)
    }
}
