public import FoundationEssentials
public import HTTPTypes

/// The head of a final response, and the redirects that led to it.
public struct ResponseHead: Sendable {
    public var status: HTTPResponse.Status
    /// Names and values as received; a field whose name is not a token is omitted.
    public var fields: HTTPFields
    /// The version in the status line: `HTTP/1.1`, `HTTP/2`.
    public var version: String
    /// The response's URL after all redirects, without user, password and fragment.
    public var finalURL: String
    /// The redirects that were followed, in order.
    public var redirects: [RedirectHop]
    /// The time at which the attempt started.
    public var requestTime: Date
    /// The time at which this head was complete.
    public var responseTime: Date

    public init(
        status: HTTPResponse.Status, fields: HTTPFields, version: String = "HTTP/1.1", finalURL: String,
        redirects: [RedirectHop] = [], requestTime: Date, responseTime: Date
    ) {
        self.status = status
        self.fields = fields
        self.version = version
        self.finalURL = finalURL
        self.redirects = redirects
        self.requestTime = requestTime
        self.responseTime = responseTime
    }
}

/// A redirect that was followed.
public struct RedirectHop: Sendable, Equatable {
    /// The URL that redirected, without user, password and fragment.
    public var url: String
    public var status: HTTPResponse.Status
    public var fields: HTTPFields

    public init(url: String, status: HTTPResponse.Status, fields: HTTPFields) {
        self.url = url
        self.status = status
        self.fields = fields
    }
}
