package import HTTPTypes

extension HTTPRequest.Method {
    /// True if a request with this method changes nothing at the origin, so that it may be shared and repeated (RFC 9110 section 9.2.1;
    /// WebDAV's methods: RFC 4918, RFC 3253 and RFC 5323).
    package var isSafe: Bool {
        switch rawValue {
        case "GET", "HEAD", "OPTIONS", "TRACE", "QUERY", "PROPFIND", "REPORT", "SEARCH": true
        default: false
        }
    }
}
