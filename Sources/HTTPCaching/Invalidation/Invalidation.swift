import HTTPSemantics
public import HTTPTypes

extension CacheRules {
    /// The normalised URLs whose stored responses `response` invalidates (RFC 9111 section 4.4): the target of a successful unsafe request,
    /// whatever its method, and the URLs of the same origin in `Location` and `Content-Location`. Remove their stored responses in each
    /// namespace of the owner, or set ``StoredResponse/isInvalidated``.
    public func urlsInvalidated(by response: HTTPResponse, to request: CacheRequest) -> [String] {
        // CONNECT has no target resource.
        guard !request.isSafe, request.method != .connect, (200...399).contains(response.status.code) else { return [] }
        var urls = [HTTPURL.normalized(request.url)]
        guard let target = try? HTTPURL(request.url) else { return urls }
        for name in [HTTPField.Name.location, .contentLocation] {
            guard let reference = response.headerFields.first(name.canonicalName)?.value,
                let url = try? HTTPURL(reference: reference, relativeTo: target)
            else { continue }
            // An origin cannot invalidate another origin's entries: RFC 9111 section 4.4.
            if url.hasSameOrigin(as: target), !urls.contains(url.normalized) { urls.append(url.normalized) }
        }
        return urls
    }
}

extension CacheRequest {
    /// True if the request changes nothing at the origin: by its method, or because the application says so.
    package var isSafe: Bool { method.isSafe || isSafeQuery }
}
