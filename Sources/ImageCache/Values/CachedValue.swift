public import FoundationEssentials
public import HTTPCaching

/// A value that was decoded from a response, and where that came from.
public struct CachedValue<Value: Sendable>: Sendable {
    /// Where a value came from.
    public enum Source: Sendable, Hashable {
        /// The memory cache: nothing was decoded.
        case memory
        /// A response that came from there.
        case response(CachedFile.Source)
    }

    public let value: Value
    public let source: Source
    /// Why what is stored was not used as it is; `nil` when it was, or when the request forbade it.
    public let unusedReason: UnusedReason?
}

/// A response and its body in memory, for a decoder.
public struct ValueData: Sendable {
    /// The body, as the origin sent it.
    public let data: Data
    /// The response that brought it.
    public let response: StoredResponse

    /// The body as text, by its byte order mark or the `charset` of its `Content-Type`: see ``TextDecoding``.
    ///
    /// - Throws: ``TextDecodingError``.
    public func text() throws(TextDecodingError) -> String {
        try TextDecoding.text(Array(data), contentType: response.fields[.contentType])
    }
}

/// The result of a look for a value that the application has stored.
public enum ValueLookup<Value: Sendable>: Sendable {
    case found(Value)
    case unused(UnusedReason)

    /// The value; `nil` when there is none.
    public var value: Value? { if case .found(let value) = self { value } else { nil } }
    /// Why there is none.
    public var unusedReason: UnusedReason? { if case .unused(let reason) = self { reason } else { nil } }
}
