import HTTPSemantics

/// A location in an S3-compatible store: endpoint, bucket, and key prefix.
public struct S3Location: Sendable, Hashable {
    /// The position of the bucket's name in the URL.
    public enum Style: Sendable, Hashable {
        /// `https://endpoint/bucket/key`
        case path
        /// `https://bucket.endpoint/key`
        case virtualHost
    }

    /// The store's http or https URL, without a path.
    public var endpoint: String
    public var region: String
    public var bucket: String
    /// The prefix of all keys. It is empty or ends with a slash.
    public var prefix: String
    public var style: Style

    /// - Parameters:
    ///   - endpoint: The store's http or https URL, or nil for AWS's endpoint in this region.
    ///   - region: The region. Default `us-east-1`.
    ///   - prefix: The prefix of all keys, with or without a trailing slash.
    ///   - style: nil: virtual host at AWS if the bucket's name allows it, path at any other endpoint.
    /// - Throws: ``RemoteConfigurationError`` for an invalid endpoint, bucket or prefix.
    public init(
        endpoint: String? = nil, region: String = "us-east-1", bucket: String, prefix: String = "", style: Style? = nil
    ) throws(RemoteConfigurationError) {
        try Self.check(bucket: bucket)
        try Self.check(prefix: prefix)
        guard !region.isEmpty, region.utf8.allSatisfy({ Self.isOfName($0) || $0 == UInt8(ascii: "_") }) else {
            throw RemoteConfigurationError("\(region): not the name of a region")
        }
        self.endpoint = try Self.origin(endpoint ?? "https://s3.\(region).amazonaws.com")
        self.region = region
        self.bucket = bucket
        self.prefix = prefix.isEmpty || prefix.hasSuffix("/") ? prefix : prefix + "/"
        // A certificate for *.s3.amazonaws.com does not cover names with further dots.
        self.style = style ?? (endpoint == nil && !bucket.contains(".") ? .virtualHost : .path)
    }

    /// Parses `s3://bucket/prefix`. The endpoint and region come from the variables of AWS's tools. The endpoint is `AWS_ENDPOINT_URL_S3`,
    /// otherwise `AWS_ENDPOINT_URL`, otherwise AWS's own; the region is `AWS_REGION`, otherwise `AWS_DEFAULT_REGION`, otherwise
    /// `us-east-1`.
    ///
    /// - Throws: ``RemoteConfigurationError`` for anything else.
    public init(_ text: String) throws(RemoteConfigurationError) {
        try self.init(text, environment: RemoteEnvironment.value)
    }

    /// Parses `s3://bucket/prefix`. The endpoint and the region override the environment's.
    package init(_ text: String, endpoint: String?, region: String?) throws(RemoteConfigurationError) {
        try self.init(text) { name in
            switch name {
            case "AWS_ENDPOINT_URL_S3": endpoint ?? RemoteEnvironment.value(name)
            case "AWS_REGION": region ?? RemoteEnvironment.value(name)
            default: RemoteEnvironment.value(name)
            }
        }
    }

    init(_ text: String, environment: (String) -> String?) throws(RemoteConfigurationError) {
        let scheme = "s3://"
        guard text.hasPrefix(scheme) else {
            throw RemoteConfigurationError("\(text): a remote store is written as s3://bucket/prefix")
        }
        let rest = text.dropFirst(scheme.count)
        let bucket = rest.prefix { $0 != "/" }
        try self.init(
            endpoint: environment("AWS_ENDPOINT_URL_S3") ?? environment("AWS_ENDPOINT_URL"),
            region: environment("AWS_REGION") ?? environment("AWS_DEFAULT_REGION") ?? "us-east-1",
            bucket: String(bucket), prefix: String(rest.dropFirst(bucket.count + 1)))
    }

    // MARK: Requests

    /// The scheme of the endpoint, including `://`.
    private var scheme: Substring { endpoint.hasPrefix("https://") ? "https://" : "http://" }

    /// The value of `Host`.
    var host: String {
        let host = endpoint.dropFirst(scheme.count)
        return style == .path ? String(host) : "\(bucket).\(host)"
    }

    /// The unencoded path of a key, or of the bucket if the key is empty.
    func path(ofKey key: String) -> String {
        switch style {
        case .path: key.isEmpty ? "/\(bucket)" : "/\(bucket)/\(key)"
        case .virtualHost: "/\(key)"
        }
    }

    /// The URL of a request, encoded as for signing.
    func url(path: String, query: [(name: String, value: String)]) -> String {
        let query = query.isEmpty ? "" : "?" + AWSEncoding.query(query)
        return scheme + host + AWSEncoding.path(path) + query
    }

    // MARK: Checks

    /// Checks a bucket's name by S3's rules. They exclude characters with a meaning in a host or a path.
    private static func check(bucket: String) throws(RemoteConfigurationError) {
        let bytes = bucket.utf8
        let isAlphanumeric = { (byte: UInt8) in isOfName(byte) && byte != UInt8(ascii: "-") }
        guard (3...63).contains(bytes.count), bytes.allSatisfy({ isOfName($0) || $0 == UInt8(ascii: ".") }),
            bytes.first.map(isAlphanumeric) == true, bytes.last.map(isAlphanumeric) == true, !bucket.contains("..")
        else { throw RemoteConfigurationError("\(bucket): not the name of a bucket") }
    }

    private static func check(prefix: String) throws(RemoteConfigurationError) {
        // Intermediaries would remove dot segments and empty segments from URLs.
        let segments = prefix.split(separator: "/", omittingEmptySubsequences: false).dropLast(
            prefix.hasSuffix("/") ? 1 : 0)
        let isValid = prefix.isEmpty || segments.allSatisfy { !["", ".", ".."].contains($0) }
        guard isValid, prefix.utf8.count <= 512, !prefix.unicodeScalars.contains(where: { $0.value < 0x20 }) else {
            throw RemoteConfigurationError("\(prefix): not a prefix of keys")
        }
    }

    private static func origin(_ endpoint: String) throws(RemoteConfigurationError) -> String {
        let url: HTTPURL
        do throws(InvalidURL) { url = try HTTPURL(endpoint) } catch {
            throw RemoteConfigurationError("\(endpoint): \(error.description)")
        }
        let origin = url.normalized.hasSuffix("/") ? String(url.normalized.dropLast()) : url.normalized
        guard url.userinfo == nil, origin.utf8.filter({ $0 == UInt8(ascii: "/") }).count == 2, !origin.contains("?")
        else {
            throw RemoteConfigurationError("\(endpoint): an endpoint has neither user nor path")
        }
        return origin
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
        default: false
        }
    }
}
