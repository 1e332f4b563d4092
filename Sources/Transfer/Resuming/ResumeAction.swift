import HTTPSemantics
import HTTPTypes

/// The consequence of a final response head for the attempt that requested it.
package enum ResumeAction: Equatable {
    /// Passes the body to the sink. `length` is the required length of this response's body, if known. `dropping` is the reason for dropping held
    /// bytes.
    case take(BodyPlacement, length: Int64?, dropping: String?)
    /// The held bytes are proved to be the whole body; this response's body is ignored.
    case alreadyComplete(total: Int64)
    /// Requests the last byte of `total`: the lengths agree, but the response has no validator.
    case proveTotal(Int64)
    /// Drops the held bytes and requests the whole body.
    case restart(String)
    case notModified
    /// An error status or another head without a body for the sink. The held bytes remain.
    case status
    /// Fails: the response contradicts itself or the request.
    case fail(String)
}

extension ResumePlan {
    package func action(for head: ResponseHead) -> ResumeAction {
        if head.status == .notModified { return notModifiedAction() }
        if isHead { return .status }
        let action = bodyAction(for: head)
        // This response does not continue the held bytes, which remain.
        if forwardsErrorResponses, action == .status || head.status == .partialContent && requestedPart == .whole {
            return wholeAction(for: head, isHeldVoid: false)
        }
        return action
    }

    private func bodyAction(for head: ResponseHead) -> ResumeAction {
        switch head.status.code {
        case 206: return partialAction(for: head)
        case 200, 203: return wholeAction(for: head)
        case 200..<300: return requestedPart == .whole ? wholeAction(for: head) : .status
        case 412 where requestedPart != .whole && !isConditional:
            return .restart("412 to a range request: the server took If-Range for a failed precondition")
        case 416 where requestedPart != .whole: return unsatisfiedAction(for: head)
        default: return .status
        }
    }

    private func notModifiedAction() -> ResumeAction {
        if isConditional { return .notModified }
        return requestedPart == .whole
            ? .fail("304 Not Modified to a request without a precondition")
            : .restart("304 Not Modified to a range request")
    }

    private func wholeAction(for head: ResponseHead, isHeldVoid: Bool = true) -> ResumeAction {
        let dropping =
            !isHeldVoid
            ? nil
            : requestedPart == .whole
                ? refusal : "\(head.status.code) to a range request: the representation changed, or ranges are ignored"
        switch head.declaredLength {
        case .contradictory: return .fail("the response has an invalid Content-Length, or several")
        case .unknown: return .take(.whole(length: nil), length: nil, dropping: dropping)
        case .bytes(let length): return .take(.whole(length: length), length: length, dropping: dropping)
        }
    }

    private func partialAction(for head: ResponseHead) -> ResumeAction {
        guard let held, requestedPart != .whole else {
            return .fail("206 Partial Content to a request without a range")
        }
        if let type = head.fields[.contentType], type.lowercased().hasPrefix("multipart/byteranges") {
            return .restart("206 with multipart/byteranges to a request for one range")
        }
        if head.hasContentCoding { return .restart("206 with a Content-Encoding to a range of the plain body") }
        guard let field = head.fields[.contentRange] else { return .restart("206 without Content-Range") }
        guard case .range(let range, let announced)? = ContentRange(field), let total = announced ?? held.total else {
            return .restart("206 with Content-Range '\(field)', which gives no byte range of a known total")
        }
        if let known = held.total, known != total {
            return .restart("206 of \(total) bytes in all, \(known) were known")
        }
        switch proof(by: head) {
        case .holds: break
        case .absent(let reason), .broken(let reason): return .restart("206 \(reason)")
        }
        let expected = expectedRange(total: total)
        // A server may send less than was asked for (RFC 9110 section 15.3.7); the rest is then requested.
        guard range.lowerBound == expected.lowerBound, expected.contains(range.upperBound - 1) else {
            return .restart("206 with bytes \(ByteRange(range).text), asked for \(ByteRange(expected).text)")
        }
        switch head.declaredLength {
        case .contradictory: return .restart("206 with an invalid Content-Length, or several")
        case .bytes(let length) where length != Int64(range.count):
            return .restart("206 with Content-Length \(length) for a range of \(range.count) bytes")
        default: break
        }
        if case .lastByte = requestedPart { return .alreadyComplete(total: total) }
        return .take(.range(range, total: total), length: Int64(range.count), dropping: nil)
    }

    private func unsatisfiedAction(for head: ResponseHead) -> ResumeAction {
        guard let held, case .range(let asked) = requestedPart, held.missing.count == 1,
            let field = head.fields[.contentRange], case .unsatisfied(let total)? = ContentRange(field),
            total == asked.lowerBound, held.total == nil || held.total == total
        else { return .restart("416: the server has no such range") }
        switch proof(by: head) {
        case .broken(let reason): return .restart("416 \(reason)")
        // nginx's 416 has no validator. If-Range should have made it a 200 for another representation, but a server
        // that ignores If-Range would pass with one of the same length.
        case .absent: return .proveTotal(total)
        case .holds: return .alreadyComplete(total: total)
        }
    }

    private func expectedRange(total: Int64) -> Range<Int64> {
        switch requestedPart {
        case .lastByte, .whole: (total - 1)..<total
        case .range(let range): range.lowerBound..<max(range.lowerBound, min(range.upperBound, total))
        }
    }

    /// The evidence in a head about the representation.
    private enum Proof {
        /// The representation is the held one.
        case holds
        /// The representation cannot be determined, for this reason.
        case absent(String)
        /// The representation is another one, for this reason.
        case broken(String)
    }

    /// Checks the head for the validator of the held bytes. `If-Range` alone proves nothing: a server or cache that ignores it sends a part of its
    /// current representation.
    ///
    /// A 206 must repeat the entity-tag (RFC 9110 section 15.3.7). If a server omits it, the strong date that is held next to it is equivalent. A
    /// date must be repeated too, although the same section allows a response to `If-Range` to omit `Last-Modified`. An omission cannot be
    /// distinguished from a change, and fetching a body twice is better than joining two versions. nginx and Apache repeat the date.
    ///
    /// A validator is unique to its resource (RFC 9110 section 8.8.3). An equal validator of another resource, such as another release or a mirror,
    /// proves nothing: nginx derives it from date and size, which two different files may share.
    private func proof(by head: ResponseHead) -> Proof {
        guard let held else { return .absent("to nothing that is held") }
        let date: String
        switch held.validator {
        case .digest: return .holds
        case _ where !signatures.isSameResource(head.finalURL, held.url):
            return .broken("from another resource, where the validator proves nothing")
        case .etag(let etag):
            if let sent = head.fields[.eTag] {
                return head.validators.entityTag == EntityTag(etag)
                    ? .holds : .broken("with another ETag (\(sent), \(etag) was known)")
            }
            guard let lastModified = held.lastModified else { return .absent("without the ETag \(etag)") }
            date = lastModified
        case .lastModified(let lastModified): date = lastModified
        }
        guard let sent = head.fields[.lastModified] else { return .absent("without a validator") }
        return isSame(sent, date) ? .holds : .broken("with another Last-Modified (\(sent), \(date) was known)")
    }
}

/// Compares bytes: equality of strings would ignore different spellings of one character.
private func isSame(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }
