import HTTPTypes

/// Fields in which a client could tell the origin another host, scheme, path, method or client address than the request's own.
///
/// Many frameworks believe them, and what comes of that would be stored for everybody: the URL says nothing of it. So they end
/// here, unless the configuration passes some of them on; they then take part in what a response is stored under.
enum ClientAssertions {
    private static let names: Set<String> = [
        // The host, the scheme and the path.
        "forwarded", "front-end-https", "x-host", "x-http-host-override", "x-original-host", "x-original-uri",
        "x-original-url", "x-rewrite-url", "x-scheme", "x-script-name", "x-url-scheme",
        // The method.
        "x-http-method", "x-http-method-override", "x-method-override", "x-original-method",
        // The client.
        "cf-connecting-ip", "fastly-client-ip", "true-client-ip", "x-client-ip", "x-cluster-client-ip",
        "x-original-forwarded-for", "x-originating-ip", "x-proxyuser-ip", "x-real-ip", "x-remote-addr", "x-remote-ip",
    ]

    /// - Parameter name: in lower case.
    static func contains(_ name: String) -> Bool {
        // By the first letter first: every field of every request is looked at.
        guard let first = name.utf8.first, "xfct".utf8.contains(first) else { return false }
        // CGI and its descendants take both for one (RFC 3875 section 4.1.18).
        let name = name.utf8.contains(UInt8(ascii: "_")) ? name.replacing("_", with: "-") : name
        return name.hasPrefix("x-forwarded") || names.contains(name)
    }
}
