import Digests
import DiskStore
import HTTPCaching
import HTTPSemantics
import HTTPTypes

/// A request with everything that follows from it alone: resolved once, and the same on the whole way of a fetch.
///
/// A class, because it is handed on at each step: a copy of the value would retain all of its fields.
final class ResolvedRequest: Sendable {
    /// The request for the whole representation: of one for a part of it, for its head, or for whether it changed, the GET that
    /// answers it.
    let request: FileRequest
    /// The URL that the response is stored under, and shown with: normalised, without fragment, userinfo and what the key rules ignore.
    let url: String
    /// True if ``url`` is the one that the origin is asked for. Otherwise requests for other URLs have the same key.
    let isKeyOfOwn: Bool
    /// The parts of the request that its keys are made of.
    let requestKey: RequestKey
    /// The key of its response.
    let key: EntryKey
    /// The request in the shared namespace, where a response to these credentials is stored if it says that all may use it; `nil`
    /// without credentials, and for an owner that the caller names.
    let sharedRequestKey: RequestKey?
    /// True if the URL brings credentials along.
    let hasUserinfo: Bool
    private let rules: CacheRules
    /// The request for the whole representation, as the caching rules see it.
    let cacheRequest: CacheRequest
    /// The request as it was asked, as the caching rules see it.
    let asked: CacheRequest

    /// True if the body of its response can be continued by a later request. Otherwise nothing of it is kept for one.
    var isResumable: Bool { request.method == .get && request.body == nil }

    /// The fields that make a response something else than the whole representation.
    private static let narrowing: [HTTPField.Name] = [.range, .ifRange, .ifNoneMatch, .ifModifiedSince]

    /// True if less than the whole representation is requested.
    var isNarrow: Bool { Self.narrowing.contains { asked.fields.contains($0) } }

    /// For a request whose answer is the whole file.
    convenience init(_ request: FileRequest, by rules: CacheRules) throws(ImageCacheError) {
        try Self.checkFields(of: request)
        if let sha256 = request.sha256, Digest(.sha256, hexadecimal: sha256) == nil {
            throw ImageCacheError(.invalidRequest, message: "a SHA-256 has 64 hexadecimal digits")
        }
        if request.method == .head {
            throw ImageCacheError(.invalidRequest, message: "a HEAD brings no file; use response(for:)")
        }
        try self.init(passing: request, by: rules)
    }

    /// For a GET or HEAD that may be about a part of a file, its head, or whether it changed.
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

    /// For any request.
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
        isKeyOfOwn = url == parsed.normalized
        let namespace = Self.namespace(of: request, userinfo: parsed.userinfo.map { $0[...] })
        hasUserinfo = parsed.userinfo != nil
        // The content of a GET selects its response, as that of a query does.
        let isQuery =
            request.isSafeQuery || request.method == .query || request.method == .get && request.body != nil
        let digest = isQuery ? try request.body.map(BodyDigest.digest(of:)) : nil
        // RFC 9110 section 9.3.3: what a POST brings may be stored for later GETs, so it goes under their key.
        let method = isQuery ? request.method : .get
        requestKey = RequestKey(url: url, method: method, contentDigest: digest, namespace: namespace)
        key = EntryKey(.response(requestKey))
        sharedRequestKey = namespace == .shared || request.owner != nil ? nil : requestKey.in(.shared)
        cacheRequest = CacheRequest(
            method: request.method, url: url, fields: Self.sentFields(request), policy: request.policy,
            freshnessOverride: request.freshnessOverride, isSafeQuery: request.isSafeQuery, version: request.version)
        var askedRequest = cacheRequest
        askedRequest.method = asked.method
        askedRequest.fields = Self.sentFields(asked)
        self.asked = askedRequest
    }

    private init(_ other: ResolvedRequest, policy: CachePolicy) {
        request = other.request
        rules = other.rules
        url = other.url
        isKeyOfOwn = other.isKeyOfOwn
        hasUserinfo = other.hasUserinfo
        requestKey = other.requestKey
        key = other.key
        sharedRequestKey = other.sharedRequestKey
        var cacheRequest = other.cacheRequest
        cacheRequest.policy = policy
        self.cacheRequest = cacheRequest
        asked = other.asked
    }

    /// The same request with another policy.
    func with(_ policy: CachePolicy) -> ResolvedRequest { ResolvedRequest(self, policy: policy) }

    private static func parsed(_ url: String) throws(ImageCacheError) -> HTTPURL {
        do throws(InvalidURL) { return try HTTPURL(url) } catch {
            throw ImageCacheError(.invalidRequest, url: URLText.separatingUserinfo(url).url, message: error.description)
        }
    }

    /// A file is a whole representation, and its validation is the cache's: these fields would make it something else.
    private static let ownFields: [HTTPField.Name] = [
        .range, .ifRange, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince,
    ]

    private static func checkFields(of request: FileRequest) throws(ImageCacheError) {
        for name in ownFields where request.fields.contains(name) {
            throw ImageCacheError(
                .invalidRequest, message: "\(name.rawName) is the cache's own business; use response(for:)")
        }
    }

    /// The fields that a `Vary` of the answer may name: also the one that an option of the transfer stands for.
    static func sentFields(_ request: FileRequest) -> HTTPFields {
        var fields = request.fields
        if let agent = request.transfer.userAgent, !fields.contains(.userAgent) { fields[.userAgent] = agent }
        return fields
    }

    var namespace: Namespace { requestKey.namespace }

    /// The GET requests for another URL whose responses this one sees: in its own namespace, and in the shared one.
    func requestKeys(ofURL url: String) -> [RequestKey] {
        let shared = RequestKey(url: rules.keyURL(of: url))
        return namespace == .shared ? [shared] : [shared.in(namespace), shared]
    }
}
