public import FoundationEssentials
public import HTTPTypes

/// The head of a final response, and the way there.
public struct ResponseHead: Sendable {
    public var status: HTTPResponse.Status
    /// Names and values as they came; a field whose name is not a token is left out.
    public var fields: HTTPFields
    /// As the status line gives it: `HTTP/1.1`, `HTTP/2`.
    public var version: String
    /// Where the response came from after all redirects, without user, password and fragment.
    public var finalURL: String
    /// The responses that led here, in order.
    public var redirects: [RedirectHop]
    /// When the attempt was started.
    public var requestTime: Date
    /// When this head was complete.
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
    /// The URL that answered with the redirect, without user, password and fragment.
    public var url: String
    public var status: HTTPResponse.Status
    public var fields: HTTPFields

    public init(url: String, status: HTTPResponse.Status, fields: HTTPFields) {
        self.url = url
        self.status = status
        self.fields = fields
    }
}
