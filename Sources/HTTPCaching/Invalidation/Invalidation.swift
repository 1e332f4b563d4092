public import HTTPTypes

extension CacheRules {
    /// The URLs whose stored responses `response` makes invalid (RFC 9111 section 4.4), normalised: the target of an unsafe
    /// request that did not fail, whatever its method, and of the same origin the URLs in `Location` and `Content-Location`.
    /// Remove what is stored for them in each namespace of the owner, or set ``StoredResponse/isInvalidated``.
    public func urlsInvalidated(by response: HTTPResponse, to request: CacheRequest) -> [String] {
        guard !CacheRules.isSafe(request), (200...399).contains(response.status.code) else { return [] }
        let target = CacheKey.normalized(request.url)
        var urls = [target]
        let base = URLReference(target)
        for name in [HTTPField.Name.location, .contentLocation] {
            guard let reference = response.headerFields.first(name.canonicalName)?.value,
                let url = URLReference.resolve(reference, against: request.url).map(CacheKey.normalized)
            else { continue }
            let other = URLReference(url)
            // Another origin's entries are not for this one to void: RFC 9111 section 4.4.
            if other.scheme == base.scheme, CacheRules.host(other) == CacheRules.host(base), !urls.contains(url) {
                urls.append(url)
            }
        }
        return urls
    }

    private static func isSafe(_ request: CacheRequest) -> Bool {
        switch request.method.rawValue {
        case "GET", "HEAD", "OPTIONS", "TRACE", "QUERY", "PROPFIND", "REPORT", "SEARCH": true
        // CONNECT has no target resource.
        case "CONNECT": true
        default: request.isSafeQuery
        }
    }

    private static func host(_ reference: URLReference) -> String? {
        guard let authority = reference.authority else { return nil }
        let bytes = authority.utf8
        guard let at = bytes.lastIndex(of: UInt8(ascii: "@")) else { return authority }
        return String(decoding: bytes[bytes.index(after: at)...], as: UTF8.self)
    }
}
