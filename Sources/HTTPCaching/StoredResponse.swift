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

/// The part of a representation that a stored body contains.
public enum StoredExtent: Sendable, Hashable {
    /// The whole representation. The length is in bytes; `nil` if unknown (the whole body can then be served, a range
    /// cannot).
    case complete(length: Int64?)
    /// These bytes only (ascending, disjoint, not empty), of `total` if that is known (RFC 9111 section 3.3).
    case partial(held: [Range<Int64>], total: Int64?)

    /// True if nothing is missing.
    public var isComplete: Bool {
        if case .complete = self { true } else { false }
    }
}

/// The parts of a stored response that caching decisions depend on. The body is stored elsewhere.
public struct StoredResponse: Sendable, Hashable {
    /// The method of the request.
    public var requestMethod: HTTPRequest.Method
    /// The requested URL, before any redirect.
    public var requestURL: String
    /// The URL that the response came from, after all redirects. Its validators are meaningful for this URL only.
    public var finalURL: String
    /// The request's fields that `Vary` of the response (and of the redirects) names; may contain others.
    public var selectingFields: SelectingFields
    /// The redirects that led here, in order. The response is fresh only while each of them is.
    public var redirects: [StoredHead]
    /// The status that was received. A response completed from parts has 200.
    public var status: HTTPResponse.Status
    /// The fields that may be stored (RFC 9111 section 3.1).
    public var fields: HTTPFields
    /// The time at which the request that got this response, or last confirmed it, was sent.
    public var requestTime: Date
    /// The time at which this response, or its last confirmation, was received.
    public var responseTime: Date
    /// The part of the representation that the stored body contains.
    public var extent: StoredExtent
    /// The version of the stored response: ``FreshnessOverride/version``, or the version of the value in its body.
    public var ownVersion: String?
    /// True if the response was invalidated (RFC 9111 section 4.4) or contradicted by a response to HEAD (4.3.5): it is
    /// not used again before the origin has confirmed it.
    public var isInvalidated: Bool
    /// The fields that only the request that received this response, or last confirmed it, gets. They are never stored, and empty for all
    /// other requests.
    package var requesterFields: [HTTPField] = []

    /// True if nothing of the body is missing.
    public var isComplete: Bool { extent.isComplete }

    /// Creates a stored response. `finalURL` is `nil` if there was no redirect. Of `requestFields`, the request's fields, those that
    /// `Vary` names are kept, as digests; `selectingFields` are the digests, if they are known already.
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
