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
    let key: EntryKey
    /// Where a response to these credentials is kept when it says that it is for everybody; `nil` without credentials, and
    /// for an owner that the caller names.
    let keyForEverybody: EntryKey?
    let owner: String?
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
        owner = Self.owner(of: request, userinfo: parsed.userinfo.map { $0[...] })
        hasUserinfo = parsed.userinfo != nil
        // The content of a GET selects its response, as that of a query does.
        let isQuery =
            request.isSafeQuery || request.method == .query || request.method == .get && request.body != nil
        let digest = isQuery ? try request.body.map(BodyDigest.digest(of:))?.hexadecimal : nil
        // RFC 9110 section 9.3.3: what a POST brings may be stored for later GETs, so it goes under their key.
        let method = isQuery ? request.method : .get
        key = EntryKey(CacheKey(url: url, method: method, bodyDigest: digest, owner: owner).value)
        let isOwned = owner == nil || request.owner != nil
        keyForEverybody = isOwned ? nil : EntryKey(CacheKey(url: url, method: method, bodyDigest: digest).value)
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
        owner = other.owner
        hasUserinfo = other.hasUserinfo
        key = other.key
        keyForEverybody = other.keyForEverybody
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

    /// All that a removal of the URL takes away: the responses to it and to equivalent URLs, and what was made of them.
    var allKeys: [EntryKey] { [key, key.ofDerivedImages, key.ofSearch] }

    /// Where what is stored for another URL is: the same owner's, and nobody's in particular, which everybody sees.
    func keys(ofURL url: String) -> [EntryKey] {
        let url = rules.keyURL(of: url)
        return (owner == nil ? [nil] : [owner, nil]).map { EntryKey(CacheKey(url: url, owner: $0).value) }
    }
}
