/// Why a request is refused before anything is asked of the cache or the origin.
struct RequestFault: Error, Hashable {
    /// The status to answer with: 400, 408, 413, 414, 417, 431, 501 or 505.
    var status: Int
    /// A short name for programs and logs, such as `bad-chunk`.
    var code: String
    /// One sentence for people.
    var message: String

    /// 400 (Bad Request, RFC 9110 section 15.5.1).
    static func bad(_ code: String, _ message: String) -> RequestFault {
        RequestFault(status: 400, code: code, message: message)
    }
}
