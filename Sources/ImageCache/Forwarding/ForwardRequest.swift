public import FoundationEssentials
public import HTTPCaching
public import HTTPTypes
public import Transfer

/// A request that a proxy forwards: any method, with the client's own fields, ranges and conditions.
///
///     var request = ForwardRequest("https://origin.example/picture.jpg", method: .get)
///     request.fields = clientFields
///     let response = try await cache.forward(request)
public struct ForwardRequest: Sendable {
    /// The properties, as in a request for a file.
    var file: FileRequest

    /// - Parameters:
    ///   - url: The absolute http or https URL at the origin.
    ///   - method: The client's method.
    public init(_ url: String, method: HTTPRequest.Method = .get) {
        file = FileRequest(url)
        file.method = method
    }

    public init(_ url: URL, method: HTTPRequest.Method = .get) { self.init(url.absoluteString, method: method) }

    /// Forwards a request for a file.
    package init(_ file: FileRequest) { self.file = file }

    /// The absolute http or https URL at the origin.
    public var url: String {
        get { file.url }
        set { file.url = newValue }
    }

    public var method: HTTPRequest.Method {
        get { file.method }
        set { file.method = newValue }
    }

    /// The request's content.
    public var body: [UInt8]? {
        get { file.body }
        set { file.body = newValue }
    }

    /// The end-to-end fields of the client's request (RFC 9110 section 7.6.1). `Accept-Encoding` is not forwarded, because an encoded body
    /// cannot be resumed.
    public var fields: HTTPFields {
        get { file.fields }
        set { file.fields = newValue }
    }

    /// The preference between the store and the origin. Default: RFC 9111.
    public var policy: CachePolicy {
        get { file.policy }
        set { file.policy = newValue }
    }

    /// The owner of the entry; see ``FileRequest/owner``.
    public var owner: String? {
        get { file.owner }
        set { file.owner = newValue }
    }

    /// The client on whose behalf the request is made; see ``FileRequest/client``.
    public var client: String? {
        get { file.client }
        set { file.client = newValue }
    }

    /// The order in which waiting transfers start.
    public var priority: TransferPriority {
        get { file.priority }
        set { file.priority = newValue }
    }

    /// Time-outs, retries, proxy, TLS.
    public var transfer: TransferOptions {
        get { file.transfer }
        set { file.transfer = newValue }
    }

    /// Receives the interim responses (1xx, RFC 9110 section 15.2) on the transfer's thread.
    public var interim: (@Sendable (HTTPResponse) -> Void)? {
        get { file.interim }
        set { file.interim = newValue }
    }

    /// Receives each request and response head, with masked credentials, on the transfer's thread.
    public var trace: (@Sendable (_ head: String) -> Void)? {
        get { file.trace }
        set { file.trace = newValue }
    }
}

extension ForwardRequest: ExpressibleByStringLiteral {
    public init(stringLiteral value: String) { self.init(value) }
}
