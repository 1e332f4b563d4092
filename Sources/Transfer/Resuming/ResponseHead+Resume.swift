public import HTTPSemantics
import HTTPTypes

extension ResponseHead {
    /// The validator fields.
    public var validators: ValidatorFields { ValidatorFields(fields, receivedAt: responseTime) }

    /// The validator that a partial of this response's body can be resumed by; nil when it cannot be.
    ///
    /// A strong entity-tag, or, when the response has no `ETag` at all, a `Last-Modified` that counts as strong. A weak entity-tag
    /// says that the bytes may differ, so no date beside it counts. A body with a Content-Encoding is not resumed: servers give the plain and the coded
    /// representation the same entity-tag, and offsets into either.
    public var resumeValidator: ResumeValidator? {
        guard status == .ok || status == .partialContent, !hasContentCoding else { return nil }
        let validators = validators
        guard let text = validators.strongText else { return nil }
        return validators.entityTag == nil ? .lastModified(text) : .etag(text)
    }

    /// Whether the body is in a coding other than `identity`.
    public var hasContentCoding: Bool {
        guard let coding = fields[.contentEncoding] else { return false }
        return !coding.isEmpty && coding.lowercased() != "identity"
    }

    /// Whether nothing but the connection's end ends the body (RFC 9112 section 6.3): then its end may be a cut.
    var endsWithConnection: Bool {
        version.hasPrefix("HTTP/1") && declaredLength == .unknown && fields[.transferEncoding] == nil
    }

    /// The transfer codings, where they are anything else than chunks alone (RFC 9112 section 6.1): nothing was asked for that
    /// would allow another, and where such a message ends is a matter of opinion.
    var unknownTransferCoding: String? {
        guard version.hasPrefix("HTTP/1"), let codings = fields[.transferEncoding], mayHaveContent else { return nil }
        return codings.lowercased() == "chunked" ? nil : codings
    }

    /// Whether content can follow the head (RFC 9112 section 6.3), whatever the head says of its length.
    private var mayHaveContent: Bool {
        status.code >= 200 && status != .noContent && status != .notModified
    }

    /// Takes out what the head says of its message's length and must not be passed on.
    mutating func removeFramingFields() {
        // A server must not send either here (RFC 9110 section 8.6, RFC 9112 section 6.1).
        if status == .noContent { fields = fields.withoutFraming }
        // Chunks win over a length (RFC 9112 section 6.3): libcurl has read it so, too.
        if version.hasPrefix("HTTP/1"), fields.contains(.transferEncoding) { fields[.contentLength] = nil }
    }

    /// How long the body is, as the head tells it.
    var declaredLength: DeclaredLength {
        if !mayHaveContent { return .bytes(0) }
        // RFC 9112 section 6.3: Transfer-Encoding overrides Content-Length.
        if fields[.transferEncoding] != nil { return .unknown }
        return switch ContentLength(fields) {
        case .absent: .unknown
        case .bytes(let length): .bytes(length)
        case .invalid: .contradictory
        }
    }
}

/// What a head says about its body's length.
enum DeclaredLength: Equatable {
    case bytes(Int64)
    /// Chunked, HTTP/2 without content-length, or delimited by the connection's close.
    case unknown
    /// Several different values, or no number: an error that cannot be recovered from (RFC 9112 section 6.3).
    case contradictory
}

extension HTTPFields {
    /// Without what frames a message: for the heads of messages that have no content.
    var withoutFraming: HTTPFields {
        var fields = self
        fields[.contentLength] = nil
        fields[.transferEncoding] = nil
        return fields
    }
}
