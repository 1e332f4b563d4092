import HTTPTypes

/// Fields in which a client can assert another host, scheme, path, method or client address than the request's own.
///
/// Many frameworks trust these fields. The resulting response would be stored for all clients, because the URL does not contain the fields.
/// They are therefore removed, unless they are configured to be forwarded; then they are part of the cache key.
enum ClientAssertions {
    private static let names: Set<String> = [
        // Host, scheme and path.
        "forwarded", "front-end-https", "x-host", "x-http-host-override", "x-original-host", "x-original-uri",
        "x-original-url", "x-rewrite-url", "x-scheme", "x-script-name", "x-url-scheme",
        // The method.
        "x-http-method", "x-http-method-override", "x-method-override", "x-original-method",
        // The client.
        "cf-connecting-ip", "fastly-client-ip", "true-client-ip", "x-client-ip", "x-cluster-client-ip",
        "x-original-forwarded-for", "x-originating-ip", "x-proxyuser-ip", "x-real-ip", "x-remote-addr", "x-remote-ip",
    ]

    /// - Parameter name: In lower case.
    static func contains(_ name: String) -> Bool {
        // The first letter is tested first, because every field of every request passes here.
        guard let first = name.utf8.first, "xfct".utf8.contains(first) else { return false }
        // CGI and its successors treat underscores and hyphens as the same (RFC 3875 section 4.1.18).
        let name = name.utf8.contains(UInt8(ascii: "_")) ? name.replacing("_", with: "-") : name
        return name.hasPrefix("x-forwarded") || names.contains(name)
    }
}
