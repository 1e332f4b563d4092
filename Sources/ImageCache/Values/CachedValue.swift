public import FoundationEssentials
public import HTTPCaching

/// A value that was decoded from a response, and its source.
public struct CachedValue<Value: Sendable>: Sendable {
    /// The source of a value.
    public enum Source: Sendable, Hashable {
        /// The memory cache; nothing was decoded.
        case memory
        /// A response from this source.
        case response(CachedFile.Source)
    }

    public let value: Value
    public let source: Source
    /// The reason why the stored response was not used, or `nil` if it was used or the request forbade its use.
    public let unusedReason: UnusedReason?
}

/// A response and its body in memory, for a decoder.
public struct ValueData: Sendable {
    /// The body.
    public let data: Data
    /// The response.
    public let response: StoredResponse

    /// The body as text, by its byte order mark or the `charset` of the `Content-Type`; see ``TextDecoding``.
    ///
    /// - Throws: ``TextDecodingError``.
    public func text() throws(TextDecodingError) -> String {
        try TextDecoding.text(Array(data), contentType: response.fields[.contentType])
    }
}

/// The result of looking up a value that the application stored.
public enum ValueLookup<Value: Sendable>: Sendable {
    case found(Value)
    case unused(UnusedReason)

    /// The value, or `nil` if there is none.
    public var value: Value? { if case .found(let value) = self { value } else { nil } }
    /// The reason why there is no usable value.
    public var unusedReason: UnusedReason? { if case .unused(let reason) = self { reason } else { nil } }
}
