import DiskStore
import HTTPCaching
import HTTPTypes
import TextIdentity
import Transfer

/// The identity of a fetch: requests with equal keys share one. A fetch that began before an invalidation serves only requests from before it.
indirect enum FetchKey: Hashable, Sendable {
    /// The file for a request.
    case file(FileKey)
    /// A response that a proxy forwards.
    case response(ResponseKey)
}

/// The properties that requests for responses must have in common to share a fetch: the key and, once it is known, the variant of a response that
/// varies.
struct ResponseKey: Hashable, Sendable {
    var key: EntryKey
    var epoch: Generation.Epoch
    var terms: FetchTerms
    var variant: String?
}

/// The properties that requests for files must have in common to share a fetch.
struct FileKey: Hashable, Sendable {
    @ByteText var url: String
    private var key: ByteText?
    private var owner: ByteText?
    /// As an array: `HTTPFields` compares different bytes that are not text as equal.
    private var fields: [HTTPField]
    private var policy: CachePolicy
    private var method: HTTPRequest.Method
    private var body: [UInt8]?
    private var freshnessOverride: FreshnessOverride?
    private var isSafeQuery: Bool
    private var transfer: TransferOptions
    /// The state of the cookie file, whose content may change while a fetch is in progress.
    private var cookies: String?
    private var sha256: String?
    private var integrity: BodyIntegrity
    private var mirrors: [Mirror]
    private var usesAnnouncedMirrors: Bool
    private var reusesEqualBodies: Bool
    private var resumes: Bool
    private var noStoreBehavior: FileRequest.NoStoreBehavior
    private var version: ByteText?
    private var evictedOriginalID: Int64?
    private var awaitsRevalidation: Bool
    /// The epoch of the resource at the time of the request. A request after an invalidation does not join an earlier fetch.
    private var epoch: Generation.Epoch?

    /// Few requests for a URL differ in anything else.
    func hash(into hasher: inout Hasher) {
        hasher.combine(_url)
        hasher.combine(owner)
    }

    /// Returns true if the keys differ at most in their epochs.
    func isEqual(to other: FileKey) -> Bool {
        var other = other
        other.epoch = epoch
        return self == other
    }

    init(_ request: FileRequest, in epoch: Generation.Epoch?) {
        self.epoch = epoch
        _url = request.url.asBytes
        key = request.key?.asBytes
        owner = request.owner?.asBytes
        fields = Array(request.fields)
        policy = request.policy
        method = request.method
        body = request.body
        freshnessOverride = request.freshnessOverride
        isSafeQuery = request.isSafeQuery
        transfer = request.transfer
        cookies = ResolvedRequest.cookieFileState(of: request)
        sha256 = request.sha256
        integrity = request.integrity
        mirrors = request.mirrors
        usesAnnouncedMirrors = request.usesAnnouncedMirrors
        reusesEqualBodies = request.reusesEqualBodies
        resumes = request.resumes
        noStoreBehavior = request.noStoreBehavior
        version = request.version?.asBytes
        evictedOriginalID = request.evictedOriginalID
        awaitsRevalidation = request.awaitsRevalidation
    }
}
