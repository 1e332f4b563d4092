package import HTTPSemantics
package import HTTPTypes

/// What one attempt asks for, decided from what is held. A value: ``action(for:)`` says what the answer means.
package struct ResumePlan: Equatable {
    package enum RequestedPart: Equatable {
        /// The whole body.
        case whole
        /// A missing range; `upperBound` is `Int64.max` when the total is unknown.
        case range(Range<Int64>)
        /// Everything is held: only the last byte, whose 206 proves validator and total.
        case lastByte(total: Int64)
    }

    package let requestedPart: RequestedPart
    /// What the requestedPart builds on; nil with ``RequestedPart/whole``.
    package let held: HeldPartial?
    /// Why held bytes are not used, in words.
    let refusal: String?
    /// The request has preconditions of its own, so a 304 and a 412 are answers to those.
    let isConditional: Bool
    let isHead: Bool
    /// Every status is a body for the sink.
    let forwardsErrorResponses: Bool
    let signatures: SignatureParameters

    /// - Parameters:
    ///   - held: What the sink holds.
    ///   - url: What is asked. Of another resource than the held bytes' the whole is asked for.
    ///   - hasConditions: The request carries preconditions about a stored body.
    ///   - provingTotal: Ask for the last byte of that many, because a 416 gave this total without a validator.
    package init(
        method: HTTPRequest.Method, fields: HTTPFields, held: HeldPartial?, mayResume: Bool, url: String,
        signatures: SignatureParameters = .known, hasConditions: Bool = false, forwardsErrorResponses: Bool = false,
        provingTotal: Int64? = nil
    ) {
        self.forwardsErrorResponses = forwardsErrorResponses
        self.signatures = signatures
        isHead = method == .head
        isConditional =
            hasConditions
            || [.ifNoneMatch, .ifModifiedSince, .ifMatch, .ifUnmodifiedSince].contains { fields[$0] != nil }
        guard let held, mayResume, method == .get, held.heldBytes > 0 || held.defect != nil else {
            self.held = nil
            requestedPart = .whole
            refusal = nil
            return
        }
        let isSameResource = signatures.isSameResource(held.url, url)
        if let defect = isSameResource ? held.defect : "the held bytes are of another resource (\(held.url))" {
            self.held = nil
            requestedPart = .whole
            refusal = defect
            return
        }
        self.held = held
        refusal = nil
        if let total = provingTotal ?? (held.missing.isEmpty ? held.total : nil) {
            requestedPart = .lastByte(total: total)
        } else {
            requestedPart = held.missing.first.map(RequestedPart.range) ?? .whole
        }
    }

    /// The value of `CURLOPT_RANGE`. Open-ended up to the body's end: a total that has changed then shows in the answer.
    package var range: String? {
        switch requestedPart {
        case .whole: nil
        case .lastByte(let total): ByteRange.from(total - 1, through: nil).text
        case .range(let range) where range.upperBound == held?.total:
            ByteRange.from(range.lowerBound, through: nil).text
        case .range(let range): ByteRange(range).text
        }
    }

    /// The value of `If-Range` (RFC 9110 section 13.1.5): always sent with a range.
    package var ifRange: String? { requestedPart == .whole ? nil : held?.validator.fieldValue }
}
