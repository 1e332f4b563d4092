import Digests
import DiskStore
import HTTPCaching
import HTTPSemantics
import HTTPTypes
import Transfer

/// A request with everything that follows from it alone.
struct Job: Sendable {
    let request: FileRequest
    /// The URL as it is shown and stored: normalised, without fragment and userinfo.
    let url: String
    let key: EntryKey
    /// Where a response to these credentials is kept when it says that it is for everybody; `nil` without credentials, and
    /// for an owner that the caller names.
    let keyForEverybody: EntryKey?
    private let owner: String?
    var cacheRequest: CacheRequest

    /// For a request whose answer is the whole file.
    init(_ request: FileRequest) throws(ImageCacheError) {
        for name in Self.ownFields where request.fields.contains(name) {
            throw ImageCacheError(
                .invalidRequest, message: "\(name.rawName) is the cache's own business; ask with answer(to:)")
        }
        if request.method == .head {
            throw ImageCacheError(.invalidRequest, message: "a HEAD brings no file; ask with answer(to:)")
        }
        try self.init(passing: request)
    }

    /// For any request.
    init(passing request: FileRequest) throws(ImageCacheError) {
        let parsed: HTTPURL
        do throws(InvalidURL) { parsed = try HTTPURL(request.url) } catch {
            throw ImageCacheError(
                .invalidRequest, url: Self.separatingUserinfo(request.url).url, message: error.description)
        }
        self.request = request
        url = parsed.normalized
        owner = Self.owner(of: request, userinfo: parsed.userinfo.map { $0[...] })
        let digest = request.isSafeQuery ? try request.body.map(BodyDigest.digest(of:))?.hexadecimal : nil
        // RFC 9110 section 9.3.3: what a POST brings may be stored for later GETs, so it goes under their key.
        let method = request.isSafeQuery ? request.method : .get
        key = EntryKey(CacheKey(url: url, method: method, bodyDigest: digest, owner: owner).value)
        let isOwned = owner == nil || request.owner != nil
        keyForEverybody = isOwned ? nil : EntryKey(CacheKey(url: url, method: method, bodyDigest: digest).value)
        cacheRequest = CacheRequest(
            method: request.method, url: url, fields: Self.sentFields(request), policy: request.policy,
            ownLifetime: request.ownLifetime, isSafeQuery: request.isSafeQuery)
    }

    /// A file is a whole representation, and its validation is the cache's: these fields would make it something else.
    private static let ownFields: [HTTPField.Name] = [
        .range, .ifRange, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince,
    ]

    /// The fields that a `Vary` of the answer may name: also the one that an option of the transfer stands for.
    static func sentFields(_ request: FileRequest) -> HTTPFields {
        var fields = request.fields
        if let agent = request.transfer.userAgent, !fields.contains(.userAgent) { fields[.userAgent] = agent }
        return fields
    }

    /// Whose namespace the entry belongs to: what the caller says, else whoever the credentials name. An answer to one
    /// user's credentials is never another's, and no password is written to disk.
    static func owner(of request: FileRequest, userinfo: Substring?) -> String? {
        if let owner = request.owner { return namespace(ofOwner: owner) }
        if let credentials = request.transfer.credentials {
            return namespace(ofUser: credentials.user, hasPassword: !credentials.password.isEmpty)
        }
        if let userinfo {
            let user = userinfo.prefix { $0 != ":" }
            return namespace(ofUser: String(user), hasPassword: userinfo.utf8.count > user.utf8.count + 1)
        }
        if request.fields.contains(.authorization) {
            return fingerprintPrefix + fingerprint(request.fields[fields: .authorization])
        }
        // Only libcurl knows what the file says of the host, and whether it says anything.
        switch request.transfer.netrc {
        case .off: return nil
        case .default: return "netrc"
        case .path(let path): return "netrc:" + path
        }
    }

    /// A user without a password is a token, as likely as not.
    private static func namespace(ofUser user: String, hasPassword: Bool) -> String {
        hasPassword
            ? "user:" + user : fingerprintPrefix + fingerprint([HTTPField(name: .authorization, value: user)])
    }

    /// Apart from the names that credentials bring along: nobody can call themselves another's credentials.
    private static func namespace(ofOwner owner: String) -> String { "owner:" + owner }

    /// Whose what is stored under a key is; `nil`: nobody's.
    static func namespace(of key: EntryKey) -> String? {
        // ``CacheKey``: method, then the owner with its length.
        let rest = key.value.utf8.drop { $0 != UInt8(ascii: " ") }.dropFirst()
        let digits = rest.prefix { $0 != UInt8(ascii: ":") }
        guard let count = Int(String(Substring(digits))) else { return nil }
        return String(Substring(rest.dropFirst(digits.count + 1).prefix(count)))
    }

    /// SHA-256: tells tokens apart, and does not tell them. By their bytes, which need not be text.
    private static func fingerprint(_ fields: some Sequence<HTTPField>) -> String {
        var bytes: [UInt8] = []
        for field in fields {
            field.withUnsafeBytesOfValue { bytes.append(contentsOf: $0) }
            bytes.append(0)
        }
        return ShortSHA256.digest(of: bytes).hexadecimal
    }

    /// Namespaces that begin so are those of credentials that are known by their fingerprint alone.
    static let fingerprintPrefix = "authorization:"

    /// The URL, well-formed or not, without the credentials that may stand in it.
    static func separatingUserinfo(_ url: String) -> (url: String, userinfo: Substring?) {
        // Bytes are quicker to look through than characters, and most URLs have none.
        guard url.utf8.contains(UInt8(ascii: "@")) else { return (url, nil) }
        guard let colon = url.firstIndex(of: ":"), url[colon...].hasPrefix("://") else {
            // No URL; perhaps one whose scheme was forgotten.
            return (url.lastIndex(of: "@").map { "***" + url[$0...] } ?? url, nil)
        }
        let authority = url[url.index(colon, offsetBy: 3)...].prefix { $0 != "/" && $0 != "?" }
        guard let at = authority.lastIndex(of: "@") else { return (url, nil) }
        return (String(url[..<authority.startIndex] + url[url.index(after: at)...]), authority[..<at])
    }

    /// - Parameters:
    ///   - fields: what the cache asks, and says to caches on the way.
    ///   - stored: the final URL of the stored response that preconditions among them are about.
    func transferRequest(adding fields: HTTPFields, about stored: String? = nil) -> TransferRequest {
        var request = TransferRequest(
            url: self.request.url, method: self.request.method, fields: self.request.fields, body: self.request.body,
            priority: self.request.priority, client: self.request.client, options: self.request.transfer)
        request.options.reportsHeads = self.request.trace != nil
        var conditions = HTTPFields()
        for field in fields {
            if stored != nil, field.name == .ifNoneMatch || field.name == .ifModifiedSince {
                conditions[field.name] = field.value
            } else {
                request.fields[field.name] = field.value
            }
        }
        request.conditions = conditions.isEmpty ? nil : stored.map { .init(fields: conditions, url: $0) }
        return request
    }

    func reportInterim(_ event: TransferEvent) {
        if case .interim(let status, let fields) = event {
            request.interim?(HTTPResponse(status: status, headerFields: CacheRules.endToEndFields(of: fields)))
        }
    }

    /// Where what is stored for another URL is: the same owner's, and nobody's in particular, which everybody sees.
    func keys(ofURL url: String) -> [EntryKey] {
        (owner == nil ? [nil] : [owner, nil]).map { EntryKey(CacheKey(url: url, owner: $0).value) }
    }

    func report(_ event: TransferEvent, to fetch: Fetch) {
        switch event {
        case .queued: fetch.report { $0.phase = .queued }
        case .attempt: fetch.report { $0.phase = .transferring }
        case .head(_, let resumedFrom, let total):
            fetch.report { progress in
                progress.phase = .transferring
                progress.resumedFrom = resumedFrom
                progress.received = resumedFrom
                progress.total = total
                progress.hasResponse = true
            }
        case .received(let bytes, let total):
            fetch.report { progress in
                progress.received = bytes
                progress.total = total ?? progress.total
            }
        case .restart(let reason):
            fetch.report { progress in
                progress.resumedFrom = 0
                progress.received = 0
            }
            request.trace?("* starting over: \(reason)\n")
        case .retrying(let delay, let reason):
            fetch.report { $0.phase = .retrying(after: delay, because: reason) }
            request.trace?("* \(reason); trying again in \(delay)\n")
        case .interim: reportInterim(event)
        case .requestHead(let lines): request.trace?(lines.map { "> \($0)\n" }.joined())
        case .responseHead(let lines): request.trace?(lines.map { "< \($0)\n" }.joined())
        }
    }
}
