import ConcurrencyPrimitives
import DiskStore
public import FoundationEssentials
public import HTTPCaching
import HTTPSemantics
public import HTTPTypes
public import Transfer

/// A request for a file: its URL, and the rules for using the store and the origin.
///
///     var request = FileRequest("https://example.com/picture.jpg")
///     request.policy = .returnCacheDataElseLoad
public struct FileRequest: Sendable {
    /// An absolute http or https URL. A fragment is ignored (RFC 9111 section 2).
    public var url: String

    /// The URL that identifies the response in the store instead of ``url``: absolute, http or https. Default: ``url`` without the parts
    /// that the cache's ``KeyRules`` ignore.
    ///
    /// Use it for URLs of one file that differ in more than parameters, such as by a token in the path. A stored response is used for all
    /// requests with its key. A partial is resumed only if ``url`` identifies the same resource too.
    public var key: String?

    /// The URL without userinfo, for messages and logs.
    public var urlWithoutUserinfo: String { URLText.separatingUserinfo(url).url }

    /// GET (default), HEAD for ``DownloadCache/response(for:)``, or a method whose response depends on ``body``. Only responses to GET are
    /// resumed.
    public var method: HTTPRequest.Method = .get

    /// The request's content, which is part of the key of the stored response.
    public var body: [UInt8]?

    /// True if a request with an unsafe method (RFC 9110 section 9.2.1), such as a POST, is a query that changes nothing. The response to
    /// an equal request (same URL, same body) may then come from the store or from a shared transfer. Default false: each such request is
    /// sent to the origin once, and a successful one invalidates the stored responses of its URL (RFC 9111 section 4.4).
    public var isSafeQuery = false

    /// True if the request changes nothing at the origin, so that equal requests may share a transfer.
    var isSafe: Bool { method.isSafe || isSafeQuery }

    /// The fields to send in addition to the cache's own (Range, If-Range, If-None-Match, If-Modified-Since, Accept-Encoding).
    /// `Authorization` and `Cookie` are only sent to the URL's origin, `Proxy-Authorization` only to the proxy. `Accept-Encoding` is only
    /// sent if ``transfer`` has `acceptsContentCoding`; such a download is not resumed.
    public var fields: HTTPFields = [:]

    /// The preference between the store and the origin. Default: RFC 9111.
    public var policy: CachePolicy = .useProtocolCachePolicy

    /// A lifetime and version that replace the server's. Default: the freshness of the response.
    public var freshnessOverride: FreshnessOverride?

    /// The owner of the entry. Owners do not see each other's entries. Default: the user named by the request's credentials, or the
    /// namespace shared by all requests without credentials.
    public var owner: String?

    /// The behaviour if an equal request for a file is running. Default: both share one transfer. Requests with unsafe methods are never
    /// joined or replaced, requests for responses and ranges always join, and a request for an image joins the work of an equal one.
    public var duplicates = Duplicates.join

    /// The order in which waiting transfers start.
    public var priority: TransferPriority = .normal

    /// The client on whose behalf a service makes the request, such as an address. It is subject to the limits per client
    /// (``DownloadCache/Configuration/maxTransfersPerClient``), and waiting clients take turns. It does not affect which stored responses
    /// are used. Default: none.
    public var client: String?

    /// Time-outs, retries, credentials, proxy, TLS.
    public var transfer: TransferOptions {
        get { boxedTransfer.value }
        _modify { yield &boxedTransfer.value }
    }

    private var boxedTransfer = Boxed(TransferOptions())

    /// The expected SHA-256 of the body as 64 hexadecimal digits. A body with another digest is not stored, and the request fails with
    /// ``ImageCacheError/Code/wrongBytes``.
    public var sha256: String?

    /// The properties of the body that are known before the request.
    public var integrity = BodyIntegrity()

    /// True to return a stored file of another URL, but of the same owner, that has the same SHA-256 (``sha256``, ``integrity``, or the
    /// response's `Repr-Digest`) instead of storing a second copy. ``CachedFile/response`` then belongs to the other URL. Default false.
    public var reusesEqualBodies = false

    /// Other URLs of the same file. They are tried by priority, then by the measured rate of their origins; a mirror that fails is replaced
    /// with the next one. Bytes from several mirrors are joined only if a collision-resistant digest verifies the whole body
    /// (``integrity``, ``sha256``). The file is stored under ``url``, and credentials are only sent to its origin. Default: none.
    public var mirrors: [Mirror] = []

    /// True to use mirrors that the origin announces (`Link` with `rel=duplicate`, RFC 6249) when the origin fails, if a SHA-2
    /// digest of the body is given or was announced too. Default false.
    public var usesAnnouncedMirrors = false

    /// Receives the events of the mirrors on any thread, also from a transfer that the request joins.
    public var mirrorEvents: (@Sendable (MirrorEvent) -> Void)?

    /// True to resume a partial download of an earlier run, false to drop it. Default true.
    public var resumes = true

    /// The handling of a response that must not be stored (`no-store`, RFC 9111 section 5.2.2.5). Default: ``NoStoreBehavior/deliver``.
    public var noStoreBehavior = NoStoreBehavior.deliver

    /// Receives each request and response head, with masked credentials, on the transfer's thread. A request that joins the transfer of an
    /// equal one also receives the earlier heads if that one has a trace, and otherwise none at all. A request for an image that joins the
    /// work of an equal one receives none.
    public var trace: (@Sendable (_ head: String) -> Void)?

    /// The versions of the value and of the application that the stored response must have; default: any.
    var version: String?
    var applicationVersion: String?
    /// The format of the value that is decoded from the response; `nil` if the value has no version.
    var format: ValueFormat?

    /// A transport that replaces the cache's own. The transfer is not shared with other requests, nor the response with other machines.
    package var transport: (any HTTPTransport)?

    /// Receives the interim responses to a forwarded request (``ForwardRequest/interim``).
    var interim: (@Sendable (HTTPResponse) -> Void)?

    /// The entry number of an original that is no longer stored. A derived image provides its validators, so that the origin can confirm it
    /// instead of sending it again. The result may be the file of the derived image.
    package var evictedOriginalID: Int64?

    /// The date of `If-Modified-Since` in a request for the changes since then. Its response is not a representation of the resource, and a
    /// 304 fails with `status(304)`. Such a request has its own ``key``.
    package var changedSince: String?

    /// True to wait for a revalidation that `stale-while-revalidate` would run in the background.
    var awaitsRevalidation = false

    /// The path of a file that another program has left of the body, such as an incomplete download. It is the beginning of the body if
    /// nothing else is held of it and a collision-resistant digest verifies the whole. If the digest is wrong, the whole body is fetched. The
    /// file is only read.
    package var adoptedFile: String?

    /// Bytes of the body that files have, in place of ``adoptedFile``. The digest of the whole verifies them, also a SHA-1.
    package var seed: (any BodySeed)?

    /// The outcome of a look-up of this same request, unchanged since then: it is not looked up again while the store has not changed.
    package var lookedUp: LookedUp?

    public init(_ url: String) { self.url = url }

    public init(_ url: URL) { self.init(url.absoluteString) }

    /// The behaviour if an equal request is running.
    public enum Duplicates: Sendable, Hashable {
        /// Both share one transfer.
        case join
        /// The running request is cancelled for all its callers, and the new one starts.
        case replace
    }

    /// The handling of a response that must not be stored.
    public enum NoStoreBehavior: Sendable, Hashable {
        /// Returns the response, and deletes its file with the last ``CachedFile``. No partial is kept.
        case deliver
        /// Like `deliver`, but keeps a partial, so that a person who waits for the file can resume the download. The partial is only used
        /// for that, and is deleted when the download is complete.
        case deliverKeepingPartial
        /// The request fails with ``ImageCacheError/Code/notStorable`` before the body is transferred.
        case fail
    }
}

extension FileRequest: ExpressibleByStringLiteral {
    public init(stringLiteral value: String) { self.init(value) }
}
