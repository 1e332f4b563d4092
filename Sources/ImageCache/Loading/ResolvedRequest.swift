import Digests
package import DiskStore
import Glibc
package import HTTPCaching
import HTTPSemantics
import HTTPTypes

/// A request with all values that are derived from it. It is resolved once, and does not change during a fetch.
///
/// A class, because it is passed on at each step: a copy of a value would retain each of its fields.
package final class ResolvedRequest: Sendable {
    /// The request for the whole representation. For a range, a HEAD or a conditional request, this is the GET that can answer it.
    package let request: FileRequest
    /// The URL that the response is stored under and shown with: normalised, without fragment, userinfo and the parts that the key rules ignore.
    package let url: String
    /// ``FileRequest/expectedDigest`` of the request.
    let expectedDigest: Digest?
    /// True if ``url`` is the URL that is requested from the origin. Otherwise requests for other URLs have the same key.
    let isKeyOfOwn: Bool
    /// The parts of the request that its keys are made of.
    let requestKey: RequestKey
    /// The key of its response.
    package let key: EntryKey
    /// The request in the shared namespace, where a response to these credentials is stored if all requests may use it; `nil` without credentials,
    /// and for an owner that the caller names.
    let sharedRequestKey: RequestKey?
    /// True if the URL contains credentials.
    let hasUserinfo: Bool
    private let rules: CacheRules
    /// The request for the whole representation, as the caching rules see it.
    package let cacheRequest: CacheRequest
    /// The client's request, as the caching rules see it.
    let clientRequest: CacheRequest

    /// True if a later request can resume the body of the response. Otherwise no partial is kept.
    var isResumable: Bool { request.method == .get && request.body == nil }

    /// The request fields that may lead to another response than the whole representation.
    private static let narrowing: [HTTPField.Name] = [.range, .ifRange, .ifNoneMatch, .ifModifiedSince]

    /// True if less than the whole representation is requested.
    var isNarrow: Bool { Self.narrowing.contains { clientRequest.fields.contains($0) } }

    /// Resolves a request for a whole file.
    convenience init(_ request: FileRequest, by rules: CacheRules) throws(ImageCacheError) {
        try Self.checkFields(of: request)
        if let sha256 = request.sha256, Digest(.sha256, hexadecimal: sha256) == nil {
            throw ImageCacheError(.invalidRequest, message: "a SHA-256 has 64 hexadecimal digits")
        }
        if request.method == .head {
            throw ImageCacheError(.invalidRequest, message: "the response to a HEAD is not a file")
        }
        try self.init(passing: request, by: rules)
    }

    /// Resolves a GET or HEAD that may ask for a range or the head of a file, or whether it changed.
    convenience init(narrow request: FileRequest, by rules: CacheRules) throws(ImageCacheError) {
        guard request.method == .get || request.method == .head else {
            throw ImageCacheError(.invalidRequest, message: "\(request.method) has no parts; only GET and HEAD have")
        }
        var whole = request
        whole.method = .get
        for name in Self.narrowing { whole.fields[name] = nil }
        try Self.checkFields(of: whole)
        try self.init(whole, asked: request, by: rules)
    }

    /// Resolves any request.
    convenience init(passing request: FileRequest, by rules: CacheRules) throws(ImageCacheError) {
        try self.init(request, asked: request, by: rules)
    }

    private init(_ request: FileRequest, asked: FileRequest, by rules: CacheRules) throws(ImageCacheError) {
        let parsed = try Self.parsed(request.url)
        self.request = request
        self.rules = rules
        url =
            try request.key.map { key throws(ImageCacheError) in rules.keyURL(of: try Self.parsed(key)) }
            ?? rules.keyURL(of: parsed)
        expectedDigest = request.expectedDigest
        isKeyOfOwn = url == parsed.normalized
        let namespace = Self.namespace(of: request, userinfo: parsed.userinfo.map { $0[...] })
        hasUserinfo = parsed.userinfo != nil
        // The content of a GET selects its response, like the content of a query.
        let isQuery =
            request.isSafeQuery || request.method == .query || request.method == .get && request.body != nil
        let digest = isQuery ? try request.body.map(BodyDigest.digest(of:)) : nil
        // RFC 9110 section 9.3.3: the response to a POST may be stored for later GETs, so it has their key.
        let method = isQuery ? request.method : .get
        requestKey = RequestKey(url: url, method: method, contentDigest: digest, namespace: namespace)
        key = EntryKey(.response(requestKey))
        sharedRequestKey = namespace == .shared || request.owner != nil ? nil : requestKey.in(.shared)
        cacheRequest = CacheRequest(
            method: request.method, url: url, fields: Self.sentFields(request), policy: request.policy,
            freshnessOverride: request.freshnessOverride, isSafeQuery: request.isSafeQuery, version: request.version,
            followsRedirects: request.transfer.maxRedirects > 0)
        var clientRequest = cacheRequest
        clientRequest.method = asked.method
        clientRequest.fields = Self.sentFields(asked)
        self.clientRequest = clientRequest
    }

    private init(_ other: ResolvedRequest, policy: CachePolicy) {
        request = other.request
        rules = other.rules
        url = other.url
        expectedDigest = other.expectedDigest
        isKeyOfOwn = other.isKeyOfOwn
        hasUserinfo = other.hasUserinfo
        requestKey = other.requestKey
        key = other.key
        sharedRequestKey = other.sharedRequestKey
        var cacheRequest = other.cacheRequest
        cacheRequest.policy = policy
        self.cacheRequest = cacheRequest
        clientRequest = other.clientRequest
    }

    /// The same request with another policy.
    func with(_ policy: CachePolicy) -> ResolvedRequest { ResolvedRequest(self, policy: policy) }

    private static func parsed(_ url: String) throws(ImageCacheError) -> HTTPURL {
        do throws(InvalidURL) { return try HTTPURL(url) } catch {
            throw ImageCacheError(.invalidRequest, url: URLText.separatingUserinfo(url).url, message: error.description)
        }
    }

    /// A request for a file asks for the whole representation, and the cache itself validates it.
    private static func checkFields(of request: FileRequest) throws(ImageCacheError) {
        for name in HTTPFields.conditionNames where request.fields.contains(name) {
            throw ImageCacheError(
                .invalidRequest, message: "the cache sends the field \(name.rawName) itself")
        }
        // RFC 9110 section 7.2: it names the resource together with the path, and would be missing from the key.
        if request.fields.contains(.host) {
            throw ImageCacheError(.invalidRequest, message: "the field Host is that of the URL")
        }
    }

    /// The request fields that the response's `Vary` may name, including the `User-Agent` of the transfer options. A cookie file's name
    /// and state replace its cookies: only libcurl knows which match the URL.
    static func sentFields(_ request: FileRequest) -> HTTPFields {
        var fields = request.fields
        if !fields.contains(.cookie), let cookies = cookieFileState(of: request) { fields[.cookie] = cookies }
        if let agent = request.transfer.userAgent, !fields.contains(.userAgent) { fields[.userAgent] = agent }
        return fields
    }

    /// The name and state of the cookie file; `nil` without one.
    static func cookieFileState(of request: FileRequest) -> String? {
        guard let file = request.transfer.cookieFile else { return nil }
        var status = stat()
        stat(file, &status)
        let time = status.st_mtim
        return "\(file) \(status.st_ino) \(status.st_size) \(time.tv_sec).\(time.tv_nsec)"
    }

    var namespace: Namespace { requestKey.namespace }

    /// The variant of the request among the responses that vary on the same fields.
    func variant(in group: Substring) -> String { CacheRules.variantKey(group, of: cacheRequest.fields) }

    /// The same among the responses to equivalent URLs, which also vary on a part of the query.
    func searchVariant(in group: Substring) -> String {
        CacheRules.searchVariant(group: group, url: url, fields: cacheRequest.fields)
    }

    /// The keys of GET requests for another URL whose responses this request can see: in its own namespace and in the shared one.
    func requestKeys(ofURL url: String) -> [RequestKey] {
        let shared = RequestKey(url: rules.keyURL(of: url))
        return namespace == .shared ? [shared] : [shared.in(namespace), shared]
    }
}
