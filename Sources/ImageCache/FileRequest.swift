public import HTTPCaching
import HTTPSemantics
public import HTTPTypes
public import Transfer

/// What to get, and under which rules.
///
///     var request = FileRequest("https://example.com/picture.jpg")
///     request.policy = .returnCacheDataElseLoad
public struct FileRequest: Sendable {
    /// An absolute http or https URL. A fragment is ignored (RFC 9111 section 2).
    public var url: String

    /// The URL without the user and password that may stand in it: what may be shown and logged.
    public var urlWithoutUserinfo: String { URLText.separatingUserinfo(url).url }

    /// GET, or a method whose answer depends on ``body``. Only answers to GET are resumed.
    public var method: HTTPRequest.Method = .get

    /// The request's content; part of what the answer is stored under.
    public var body: [UInt8]?

    /// Declares that a request whose method is not safe by itself, such as a POST, asks a question and changes nothing: an
    /// equal request (same URL, same body) may then get the stored answer. Otherwise a POST always goes to the origin, and
    /// a successful one invalidates what is stored for its URL (RFC 9111 section 4.4).
    public var isSafeQuery = false

    /// Fields to send in addition to those that the cache itself sets (Range, If-Range, If-None-Match,
    /// If-Modified-Since, Accept-Encoding). `Authorization` and `Cookie` go to the URL's own origin only,
    /// `Proxy-Authorization` to the proxy only. `Accept-Encoding` is sent as it is with
    /// ``transfer``'s `acceptsContentCoding`; the download is then not resumed.
    public var fields: HTTPFields = [:]

    /// How the stored and the origin's answer are weighed. Default: RFC 9111.
    public var policy: CachePolicy = .useProtocolCachePolicy

    /// A lifetime and a version of the application's own, whatever the server says. Default: the server's word holds.
    public var ownLifetime: OwnLifetime?

    /// Whose entry it is: entries of one owner are never seen by another. Default: whoever the request's credentials
    /// name, else nobody in particular.
    public var owner: String?

    /// What becomes of an equal request that is under way. Default: both share one transfer.
    public var duplicates = Duplicates.join

    /// Which of several waiting transfers starts first.
    public var priority: TransferPriority = .normal

    /// The client on whose behalf a service asks, by a name of the service's own, such as an address. Limits count it
    /// (``DownloadCache/Configuration/maxTransfersPerClient``), and clients that wait take turns; what is stored does not depend
    /// on it. Default: none.
    public var client: String?

    /// Time-outs, retries, credentials, proxy, TLS.
    public var transfer = TransferOptions()

    /// The SHA-256 that the body must have, 64 hexadecimal digits. A body with another one is not stored, and the
    /// request fails with ``ImageCacheError/Code/wrongBytes``.
    public var sha256: String?

    /// What is known of the body before it is asked for.
    public var integrity = BodyIntegrity()

    /// Other URLs of the same file. They are asked by priority, then by the rate at which their origins have served before; one that
    /// fails is put aside. Bytes of several are joined only where a collision-resistant digest proves the whole (``integrity``,
    /// ``sha256``). The file is stored under ``url``, and credentials go to that origin only. Default: none.
    public var mirrors: [Mirror] = []

    /// Whether mirrors that the origin announces (`Link` with `rel=duplicate`, RFC 6249) are used when it fails. Default false.
    public var usesAnnouncedMirrors = false

    /// Told what happens among the mirrors, on any thread.
    public var mirrorEvents: (@Sendable (MirrorEvent) -> Void)?

    /// Whether a partial that an earlier run left behind is continued. Default true; `false` drops it.
    public var resumes = true

    /// What becomes of a response that must not be stored (`no-store`, RFC 9111 section 5.2.2.5).
    public var unstorable = Unstorable.handOut

    /// Sees the interim responses (1xx, RFC 9110 section 15.2) to a request that is passed on
    /// (``DownloadCache/exchange(_:)``), on the transfer's thread.
    public var interim: (@Sendable (HTTPResponse) -> Void)?

    /// Sees every request and response head, credentials masked, on the transfer's thread.
    public var trace: (@Sendable (_ head: String) -> Void)?

    /// The store's number of an original that is no longer stored: what was made of it stands in for it, so that the
    /// origin is asked whether it still holds, and not for all of it. The answer may be a file that was made of it.
    var goneOriginal: Int64?

    /// Whether what `stale-while-revalidate` would fetch in the background is waited for.
    var awaitsRevalidation = false

    public init(_ url: String) { self.url = url }

    /// What becomes of an equal request that is under way when a new one comes.
    public enum Duplicates: Sendable, Hashable {
        /// Both share one transfer.
        case join
        /// The older one is cancelled, for everybody who waits for it, and the newer starts anew.
        case replace
    }

    /// What becomes of a response that must not be stored.
    public enum Unstorable: Sendable, Hashable {
        /// It is handed out and gone from the disk when the last ``CachedFile`` for it is. No partial is kept.
        case handOut
        /// As `handOut`, but a partial is kept so that the same download can be continued: for a person who waits for
        /// the file. The partial is never handed out and is dropped when the download is complete.
        case handOutKeepingPartial
        /// The request fails with ``ImageCacheError/Code/notStorable`` before the body is transferred.
        case refuse
    }
}

extension FileRequest: ExpressibleByStringLiteral {
    public init(stringLiteral value: String) { self.init(value) }
}
