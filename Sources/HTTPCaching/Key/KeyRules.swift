public import HTTPSemantics

/// Differences between URLs that are ignored in the cache key: parameters that do not identify the resource, and their order.
///
/// A presigned or tokenised URL is different each time that it is generated, so it would never be found in the store. With these rules its
/// key is the URL without its signature; the origin still gets the complete URL. If the rules say that the resource is the same, a body is
/// resumed, or confirmed by a 304, even with another token.
///
///     var rules = CacheRules()
///     rules.keys.ignored.append(.init(ignoring: ["token", "utm_*"], hosts: ["cdn.example.com"]))
///     rules.keys.unorderedHosts.append("*.example.com")
///
/// The owner of an entry is always part of its key. No rule lets a response to one user's credentials answer another user's request.
public struct KeyRules: Sendable, Hashable {
    /// Parameters that are left out of the key wherever they occur, by name or pattern, and where given for some hosts only. Default:
    /// none.
    public var ignored: [SignatureParameters.Scheme] = []

    /// The hosts for which a shared cache also removes the signatures that ``CacheRules/signatures`` recognises from the key. Default:
    /// none.
    ///
    /// Anyone who knows the rest of such a URL can then read its stored response with any signature. List only hosts for which that is
    /// intended.
    public var signedHosts: [HostPattern] = []

    /// True if a private cache leaves signatures out of the key at every host, where all marks of a scheme are present; default true.
    public var recognizesSignatures = true

    /// The hosts at which the order of parameters does not matter. Parameters of one name keep their order. Default: none.
    public var unorderedHosts: [HostPattern] = []

    public init() {}
}

extension CacheRules {
    /// The URL that responses for `url` are stored under: normalised, and without what ``keys`` ignores. A fixed point: the
    /// key URL of a key URL is itself.
    public func keyURL(of url: HTTPURL) -> String {
        guard let query = url.query else { return url.normalized }
        let ignored = ignoredParameters(at: url)
        let isUnordered = !keys.unorderedHosts.isEmpty && keys.unorderedHosts.contains { $0.matches(url.host) }
        if ignored.schemes.isEmpty, !isUnordered { return url.normalized }
        let target = url.normalized.utf8.dropLast(query.utf8.count + 1)
        guard let parameters = ignored.unsigned(url) else { return String(Substring(target)) }
        // Swift's sort is stable.
        let ordered = isUnordered ? parameters.sorted { $0.precedes($1) } : parameters
        let text = ordered.map(\.bytes).joined(separator: [UInt8(ascii: "&")])
        return String(decoding: Array(target) + [UInt8(ascii: "?")] + text, as: UTF8.self)
    }

    /// The same for a URL that may be none: that is its own key.
    public func keyURL(of url: String) -> String { (try? HTTPURL(url)).map(keyURL) ?? url }

    /// The parameters in which two URLs of one resource may differ: signatures, and the parameters that ``keys`` ignores.
    public var resourceParameters: SignatureParameters {
        keys.ignored.isEmpty ? signatures : SignatureParameters(schemes: signatures.schemes + keys.ignored)
    }

    private func ignoredParameters(at url: HTTPURL) -> SignatureParameters {
        let isSigned =
            mode == .private && keys.recognizesSignatures
            || !keys.signedHosts.isEmpty && keys.signedHosts.contains { $0.matches(url.host) }
        return SignatureParameters(schemes: isSigned ? signatures.schemes + keys.ignored : keys.ignored)
    }
}
