import DiskStore
public import FoundationEssentials
public import HTTPCaching
import HTTPSemantics
public import HTTPTypes
public import Transfer

/// A request for a file: its URL, and the rules under which the store or the origin provides it.
///
///     var request = FileRequest("https://example.com/picture.jpg")
///     request.policy = .returnCacheDataElseLoad
public struct FileRequest: Sendable {
    /// An absolute http or https URL. A fragment is ignored (RFC 9111 section 2).
    public var url: String

    /// The URL that the response is stored under and looked for by, in place of ``url``: absolute, http or https. Default: ``url``, less
    /// what the cache's ``KeyRules`` ignore.
    ///
    /// For URLs of one file that differ by more than parameters, such as a token in the path. What is stored under a key answers
    /// every request with it, and a body is continued only where ``url`` leads to the same resource too.
    public var key: String?

    /// The URL without the user and password that may be part of it: fit to be shown and logged.
    public var urlWithoutUserinfo: String { URLText.separatingUserinfo(url).url }

    /// GET (default), HEAD for ``DownloadCache/response(for:)``, or a method whose response depends on ``body``. Only responses to
    /// GET are resumed.
    public var method: HTTPRequest.Method = .get

    /// The request's content; part of the key of the stored response.
    public var body: [UInt8]?

    /// Declares that a request whose method is not safe by itself, such as a POST, is a query and changes nothing: an equal request
    /// (same URL, same body) may then be served from the store, and shares a transfer that is under way. Default false: each POST goes to
    /// the origin, once, and a successful one invalidates the stored responses for its URL (RFC 9111 section 4.4). The same is true
    /// of every other method that is not safe (RFC 9110 section 9.2.1).
    public var isSafeQuery = false

    /// True if the request changes nothing at the origin, so that equal ones may share a transfer.
    var isSafe: Bool { method.isSafe || isSafeQuery }

    /// Fields to send in addition to those that the cache itself sets (Range, If-Range, If-None-Match,
    /// If-Modified-Since, Accept-Encoding). `Authorization` and `Cookie` go to the URL's own origin only,
    /// `Proxy-Authorization` to the proxy only. `Accept-Encoding` is sent as it is with
    /// ``transfer``'s `acceptsContentCoding`; the download is then not resumed.
    public var fields: HTTPFields = [:]

    /// The precedence between the stored and the origin's response. Default: RFC 9111.
    public var policy: CachePolicy = .useProtocolCachePolicy

    /// A lifetime and version set by the application in place of the server's. Default: the response's own freshness.
    public var freshnessOverride: FreshnessOverride?

    /// The namespace of the entry: entries of one owner are never seen by another. Default: the user that the request's
    /// credentials name, else the namespace that all share.
    public var owner: String?

    /// The treatment of an equal request that is under way. Default: both share one transfer. It has no effect on a request whose
    /// method is not safe: no other one joins or replaces that.
    public var duplicates = Duplicates.join

    /// The order in which waiting transfers start.
    public var priority: TransferPriority = .normal

    /// The client on whose behalf a service makes the request, such as an address. Limits per client count it
    /// (``DownloadCache/Configuration/maxTransfersPerClient``), and waiting clients take turns; what is stored does not depend
    /// on it. Default: none.
    public var client: String?

    /// Time-outs, retries, credentials, proxy, TLS.
    public var transfer = TransferOptions()

    /// The SHA-256 that the body must have, 64 hexadecimal digits. A body with another digest is not stored, and the
    /// request fails with ``ImageCacheError/Code/wrongBytes``.
    public var sha256: String?

    /// The properties of the body that are known before the request.
    public var integrity = BodyIntegrity()

    /// Answers with a stored file of another URL that has the SHA-256 of this one (``sha256``, ``integrity``, or the response's own
    /// `Repr-Digest`), of the same owner, instead of a second copy of it. ``CachedFile/response`` is then that of the other URL.
    /// Default false.
    public var reusesEqualBodies = false

    /// Other URLs of the same file. They are asked by priority, then by the rate at which their origins have served before; one that
    /// fails is put aside. Bytes of several are joined only where a collision-resistant digest proves the whole (``integrity``,
    /// ``sha256``). The file is stored under ``url``, and credentials go to that origin only. Default: none.
    public var mirrors: [Mirror] = []

    /// True if mirrors that the origin announces (`Link` with `rel=duplicate`, RFC 6249) are used when it fails. Default false.
    public var usesAnnouncedMirrors = false

    /// Receives the events among the mirrors, on any thread, also those of a transfer that the request joins.
    public var mirrorEvents: (@Sendable (MirrorEvent) -> Void)?

    /// Continues a partial download that an earlier run left behind. Default true; `false` drops it.
    public var resumes = true

    /// The treatment of a response that must not be stored (`no-store`, RFC 9111 section 5.2.2.5). Default:
    /// ``NoStoreBehavior/deliver``.
    public var noStoreBehavior = NoStoreBehavior.deliver

    /// Receives every request and response head, credentials masked, on the transfer's thread. A request that joins the transfer of an
    /// equal one receives the earlier heads too if that one has a trace, and otherwise none. A request for an image that joins the
    /// work for an equal one receives none.
    public var trace: (@Sendable (_ head: String) -> Void)?

    /// The version that the stored response must have been stored for, and that of the application; default: any.
    var version: String?
    var applicationVersion: String?
    /// The format of the value that the response is decoded as; `nil` without one that has a version.
    var format: ValueFormat?

    /// The transport that brings the response instead of the cache's own. Other requests do not share the transfer, and the
    /// response is not shared with other machines.
    package var transport: (any HTTPTransport)?

    /// Receives the interim responses to a forwarded request (``ForwardRequest/interim``).
    var interim: (@Sendable (HTTPResponse) -> Void)?

    /// The number of an original that is no longer stored: an image derived from it stands in for it, so that the origin is asked
    /// to confirm it instead of sending all of it. The result may be a file that was derived from it.
    var goneOriginal: Int64?

    /// The date of `If-Modified-Since` in a request for what changed since then: its response is no representation of the resource, and
    /// a 304 fails with `status(304)`. Such a request has a ``key`` of its own.
    var changedSince: String?

    /// Waits for what `stale-while-revalidate` would fetch in the background.
    var awaitsRevalidation = false

    public init(_ url: String) { self.url = url }

    public init(_ url: URL) { self.init(url.absoluteString) }

    /// The treatment of an equal request that is under way when a new one comes.
    public enum Duplicates: Sendable, Hashable {
        /// Both share one transfer.
        case join
        /// The older one is cancelled, for everybody who waits for it, and the newer starts anew.
        case replace
    }

    /// The treatment of a response that must not be stored.
    public enum NoStoreBehavior: Sendable, Hashable {
        /// It is delivered, and removed from the disk with the last ``CachedFile`` for it. No partial is kept.
        case deliver
        /// As `deliver`, but a partial is kept so that the same download can be continued: for a person who waits for
        /// the file. The partial is never delivered and is dropped when the download is complete.
        case deliverKeepingPartial
        /// The request fails with ``ImageCacheError/Code/notStorable`` before the body is transferred.
        case fail
    }
}

extension FileRequest: ExpressibleByStringLiteral {
    public init(stringLiteral value: String) { self.init(value) }
}
