public import HTTPSemantics
import HTTPTypes

extension ResponseHead {
    /// The validator fields.
    public var validators: ValidatorFields { ValidatorFields(fields, receivedAt: responseTime) }

    /// The validator for resuming a partial of this response's body; nil if it cannot be resumed.
    ///
    /// This is a strong entity-tag, or, if the response has no `ETag` at all, a `Last-Modified` that counts as strong. A weak entity-tag means that
    /// the bytes may differ, so a date next to it does not count. A body with a Content-Encoding is not resumed: servers use one entity-tag, and
    /// offsets, for both the plain and the coded representation.
    public var resumeValidator: ResumeValidator? {
        guard status == .ok || status == .partialContent, !hasContentCoding else { return nil }
        let validators = validators
        guard let text = validators.strongText else { return nil }
        return validators.entityTag == nil ? .lastModified(text) : .etag(text)
    }

    /// True if the body has a coding other than `identity`.
    public var hasContentCoding: Bool {
        guard let coding = fields[.contentEncoding] else { return false }
        return !coding.isEmpty && coding.lowercased() != "identity"
    }

    /// True if only the end of the connection delimits the body (RFC 9112 section 6.3): it may then have been cut.
    var endsWithConnection: Bool {
        version.hasPrefix("HTTP/1") && declaredLength == .unknown && fields[.transferEncoding] == nil
    }

    /// The transfer codings, if they are anything but `chunked` alone (RFC 9112 section 6.1). No other coding was requested, and the end of such a
    /// message is ambiguous.
    var unknownTransferCoding: String? {
        guard version.hasPrefix("HTTP/1"), let codings = fields[.transferEncoding], status.mayHaveContent else {
            return nil
        }
        return codings.lowercased() == "chunked" ? nil : codings
    }

    /// Removes fields about the message's length that must not be forwarded.
    mutating func removeFramingFields() {
        // A server must not send either of them here (RFC 9110 section 8.6, RFC 9112 section 6.1).
        if status == .noContent { fields = fields.withoutFraming }
        // Chunked coding overrides a length (RFC 9112 section 6.3), also in libcurl.
        if version.hasPrefix("HTTP/1"), fields.contains(.transferEncoding) { fields[.contentLength] = nil }
    }

    /// The body's length according to the head.
    var declaredLength: DeclaredLength {
        if !status.mayHaveContent { return .bytes(0) }
        // RFC 9112 section 6.3: Transfer-Encoding overrides Content-Length.
        if fields[.transferEncoding] != nil { return .unknown }
        return switch ContentLength(fields) {
        case .absent: .unknown
        case .bytes(let length): .bytes(length)
        case .invalid: .contradictory
        }
    }
}

/// A body's length according to its head.
enum DeclaredLength: Equatable {
    case bytes(Int64)
    /// Chunked, HTTP/2 without content-length, or delimited by the end of the connection.
    case unknown
    /// Several different values, or an invalid number: an unrecoverable error (RFC 9112 section 6.3).
    case contradictory
}

extension HTTPFields {
    /// The fields without those that frame a message: for messages without content.
    var withoutFraming: HTTPFields {
        var fields = self
        fields[.contentLength] = nil
        fields[.transferEncoding] = nil
        return fields
    }
}
