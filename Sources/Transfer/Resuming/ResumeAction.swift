import HTTPSemantics
import HTTPTypes

/// What a final response head means for the attempt that asked for it.
package enum ResumeAction: Equatable {
    /// A body follows for the sink. `length` is the length that this response's body must have, if it is known;
    /// `dropping` says why held bytes are void.
    case take(BodyPlacement, length: Int64?, dropping: String?)
    /// The held bytes are proved to be the whole body; this response's body is of no interest.
    case alreadyComplete(total: Int64)
    /// Ask again for the last byte of `total`: the lengths agree, the validator is not shown.
    case proveTotal(Int64)
    /// What is held is worthless: drop it and ask for the whole.
    case restart(String)
    case notModified
    /// An error status or another head without a body for the sink. What is held stays untouched.
    case status
    /// The response contradicts itself or the request.
    case fail(String)
}

extension ResumePlan {
    package func action(for head: ResponseHead) -> ResumeAction {
        if head.status == .notModified { return notModifiedAction() }
        if isHead { return .status }
        let action = bodyAction(for: head)
        // What is held is not continued by it, and stays as it is.
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
        case .contradictory: return .fail("the response has contradictory Content-Length fields")
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
        guard case .range(let range, let total?)? = ContentRange(field) else {
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
        guard range == expected else {
            return .restart("206 with bytes \(ByteRange(range).text), asked for \(ByteRange(expected).text)")
        }
        switch head.declaredLength {
        case .contradictory: return .restart("206 with contradictory Content-Length fields")
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
        // nginx's 416 carries no validator. If-Range should have made it a 200 for another representation, but a
        // server that ignores If-Range would get through with one of the same length.
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

    /// What a head says of the representation that it is about.
    private enum Proof {
        /// It is the held one.
        case holds
        /// It does not say; why, in words.
        case absent(String)
        /// It is another one, in words.
        case broken(String)
    }

    /// Whether the head shows the validator of what is held. `If-Range` alone proves nothing: a server, or a cache before it,
    /// that ignores it sends a part of whatever it has now.
    ///
    /// An entity-tag must be repeated (RFC 9110 section 15.3.7 demands it). Where a server forgets it, the date that was held
    /// beside it, if that counts as strong, is as good. A date must be repeated too, although the same section lets an answer
    /// to `If-Range` leave `Last-Modified` out: what is not shown cannot be told from what has changed, and a body fetched
    /// twice is better than two versions in one file. nginx and Apache do repeat it.
    ///
    /// A validator is unique to its resource (RFC 9110 section 8.8.3). What another one than that of the held bytes (another
    /// release, a mirror) gives under an equal one proves nothing: nginx makes it of date and size, which two different files may
    /// share.
    private func proof(by head: ResponseHead) -> Proof {
        guard let held else { return .absent("to nothing that is held") }
        guard signatures.isSameResource(head.finalURL, held.url) else {
            return .broken("from another resource, where the validator proves nothing")
        }
        let date: String
        switch held.validator {
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

/// Byte by byte: equality of strings would take different spellings of one character for the same.
private func isSame(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }
