public import FoundationEssentials
public import HTTPTypes

/// The head of a redirect that was followed on the way to a stored response.
public struct StoredHead: Sendable, Hashable {
    /// The redirect's status, for example 302.
    public var status: HTTPResponse.Status
    /// The redirect's fields.
    public var fields: HTTPFields

    public init(status: HTTPResponse.Status, fields: HTTPFields) {
        self.status = status
        self.fields = fields
    }
}

/// How much of the representation the stored body is.
public enum StoredExtent: Sendable, Hashable {
    /// All of it. The length is in bytes; `nil` when it is not known here (the whole body can then be served, a range cannot).
    case complete(length: Int64?)
    /// Only these bytes of it (ascending, disjoint, not empty), of `total` when that is known (RFC 9111 section 3.3).
    case partial(held: [Range<Int64>], total: Int64?)

    /// Whether nothing is missing.
    public var isComplete: Bool {
        if case .complete = self { true } else { false }
    }
}

/// What a cache keeps of a response to decide with. The body lives elsewhere.
public struct StoredResponse: Sendable, Hashable {
    /// The method of the request that was answered.
    public var requestMethod: HTTPRequest.Method
    /// The URL that was asked for, before any redirect.
    public var requestURL: String
    /// The URL that the response came from, after all redirects. Its validators mean something there only.
    public var finalURL: String
    /// The request's fields that `Vary` of the response (and of the redirects) names; others may be here too.
    public var selectingFields: SelectingFields
    /// The redirects that led here, first one first. The response is fresh only while each of them is.
    public var redirects: [StoredHead]
    /// The status that was received. A response completed from parts has 200.
    public var status: HTTPResponse.Status
    /// The fields that may be stored (RFC 9111 section 3.1).
    public var fields: HTTPFields
    /// When the request that got this response, or last confirmed it, was sent.
    public var requestTime: Date
    /// When this response, or its last confirmation, was received.
    public var responseTime: Date
    /// How much of the representation the stored body is.
    public var extent: StoredExtent
    /// The version of the application's own that the response was stored for: of its lifetime, or of the value that it holds.
    public var ownVersion: String?
    /// Whether the response was invalidated (RFC 9111 section 4.4) or contradicted by a HEAD response (4.3.5): it is not
    /// used again before the origin has confirmed it.
    public var isInvalidated: Bool

    /// Whether nothing of the body is missing.
    public var isComplete: Bool { extent.isComplete }

    /// - Parameters:
    ///   - finalURL: `nil`: there was no redirect.
    ///   - requestFields: The request's fields. Kept are those that `Vary` names, as digests.
    ///   - selectingFields: What was kept of them, when that is known already.
    public init(
        requestMethod: HTTPRequest.Method = .get,
        requestURL: String,
        finalURL: String? = nil,
        requestFields: HTTPFields = HTTPFields(),
        selectingFields: SelectingFields? = nil,
        redirects: [StoredHead] = [],
        status: HTTPResponse.Status,
        fields: HTTPFields,
        requestTime: Date,
        responseTime: Date,
        extent: StoredExtent = .complete(length: nil),
        ownVersion: String? = nil,
        isInvalidated: Bool = false
    ) {
        self.requestMethod = requestMethod
        self.requestURL = requestURL
        self.finalURL = finalURL ?? requestURL
        self.selectingFields =
            selectingFields ?? SelectingFields(CacheRules.namesInVary(fields, redirects), of: requestFields)
        self.redirects = redirects
        self.status = status
        self.fields = fields
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.extent = extent
        self.ownVersion = ownVersion
        self.isInvalidated = isInvalidated
    }
}
