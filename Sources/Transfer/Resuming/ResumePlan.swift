package import HTTPSemantics
package import HTTPTypes

/// The part of a body that one attempt requests, given the held bytes. A value: ``action(for:)`` interprets the response.
package struct ResumePlan: Equatable {
    package enum RequestedPart: Equatable {
        /// The whole body.
        case whole
        /// A missing range; `upperBound` is `Int64.max` if the total is unknown.
        case range(Range<Int64>)
        /// All bytes are held. Only the last byte is requested: its 206 proves validator and total.
        case lastByte(total: Int64)
    }

    package let requestedPart: RequestedPart
    /// The partial that the request continues; nil with ``RequestedPart/whole``.
    package let held: HeldPartial?
    /// The reason for not using held bytes, in words.
    let refusal: String?
    /// True if the request itself has preconditions, so that a 304 or a 412 refers to those.
    let isConditional: Bool
    let isHead: Bool
    /// True if bodies of all statuses are passed to the sink.
    let forwardsErrorResponses: Bool
    let signatures: SignatureParameters

    /// - Parameters:
    ///   - held: The bytes held by the sink.
    ///   - url: The URL of the request. If the held bytes belong to another resource, the whole body is requested.
    ///   - hasConditions: True if the request has preconditions about a stored body.
    ///   - provingTotal: The total from a 416 without a validator. The last byte of the total is requested.
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
        let mayContinue = held.validator == .digest || signatures.isSameResource(held.url, url)
        if let defect = mayContinue ? held.defect : "the held bytes are of another resource (\(held.url))" {
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

    /// The value of `CURLOPT_RANGE`. Open-ended up to the body's end: the response then reveals a changed total.
    package var range: String? {
        switch requestedPart {
        case .whole: nil
        case .lastByte(let total): ByteRange.from(total - 1, through: nil).text
        case .range(let range) where range.upperBound == held?.total:
            ByteRange.from(range.lowerBound, through: nil).text
        case .range(let range): ByteRange(range).text
        }
    }

    /// The value of `If-Range` (RFC 9110 section 13.1.5), sent with each range whose continuation a validator proves.
    package var ifRange: String? { requestedPart == .whole ? nil : held?.validator.fieldValue }

    /// The held partial, if it still misses bytes after a response with this part of the body; `nil` if the part completes it.
    package func partialAfter(_ placement: BodyPlacement) -> HeldPartial? {
        guard case .range(let range, let total) = placement, let end = held?.missing.last?.upperBound else {
            return nil
        }
        return range.upperBound < min(end, total) ? held : nil
    }
}
