public import FoundationEssentials
import HTTPSemantics
public import HTTPTypes

extension CacheRules {
    /// A stored response together with another part of the same representation (RFC 9111 section 3.4, RFC 9110 section
    /// 15.3.7.3), or with all of it.
    ///
    /// `nil` when the two must not be joined: the strong validators are not the same, the totals differ, or the part does not
    /// fit its own `Content-Range`. When nothing is missing any more the result is a complete 200.
    /// - Parameters:
    ///   - stored: The partial response that is held.
    ///   - part: A 206 to a range request with the stored response's validator.
    ///   - bodyLength: How many bytes of the part's body were received; fewer than promised when it was cut.
    ///   - redirects: The redirects that were followed this time; `nil` keeps the stored ones.
    ///   - finalURL: Where they led; `nil`: where the stored response came from. A part of another resource is not joined.
    ///   - requestTime: When the range request was sent.
    ///   - responseTime: When the part's head was received.
    public func combined(
        _ stored: StoredResponse, with part: HTTPResponse, bodyLength: Int64, redirects: [StoredHead]? = nil,
        finalURL: String? = nil, requestTime: Date, responseTime: Date
    ) -> StoredResponse? {
        guard part.status == .partialContent, case .partial(let held, let total) = stored.extent,
            let content = ContentRange(part.headerFields), let range = content.range, bodyLength >= 0,
            bodyLength <= Int64(range.count), signatures.isSameResource(stored.finalURL, finalURL ?? stored.finalURL),
            CacheRules.agree(total, content.total),
            sharesStrongValidator(stored, part.headerFields, receivedAt: responseTime)
        else { return nil }
        var ranges = held
        if bodyLength > 0 { ranges.append(range.lowerBound..<(range.lowerBound + bodyLength)) }
        let joined = CacheRules.joined(ranges)
        let whole = total ?? content.total
        if let whole, let last = joined.last, last.upperBound > whole { return nil }
        var result = freshened(
            stored, by: part.headerFields, redirects: redirects, finalURL: finalURL, requestTime: requestTime,
            responseTime: responseTime)
        if let whole, joined == [0..<whole] {
            result.extent = .complete(length: whole)
            result.status = .ok
            result.fields = CacheRules.asWhole(result.fields, length: whole)
        } else {
            result.extent = .partial(held: joined, total: whole)
        }
        return result
    }

    private static func agree(_ one: Int64?, _ other: Int64?) -> Bool {
        guard let one, let other else { return true }
        return one == other
    }

    /// Whether both have the same strong validator: parts may be combined only then.
    private func sharesStrongValidator(_ stored: StoredResponse, _ fields: HTTPFields, receivedAt: Date) -> Bool {
        let old = ValidatorFields(stored.fields, receivedAt: stored.responseTime)
        let new = ValidatorFields(fields, receivedAt: receivedAt)
        if let one = old.entityTag, let other = new.entityTag { return one.matchesStrongly(other) }
        // A tag on one side only proves nothing, and a date beside it is not asked.
        guard old.entityTag == nil, new.entityTag == nil, old.isLastModifiedStrong, new.isLastModifiedStrong else {
            return false
        }
        return CacheRules.sameDate(old.lastModified, new.lastModified, receivedAt)
    }

    /// The union of byte ranges: ascending, disjoint, not adjacent.
    static func joined(_ ranges: [Range<Int64>]) -> [Range<Int64>] {
        var result: [Range<Int64>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) where !range.isEmpty {
            if let last = result.last, range.lowerBound <= last.upperBound {
                result[result.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                result.append(range)
            }
        }
        return result
    }
}
