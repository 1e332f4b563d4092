package import HTTPSemantics

extension HTTPURL {
    /// The normalised URL (``HTTPURL/normalized``), with its userinfo if it has one. Text that is not an absolute http or https URL is
    /// returned unchanged.
    package static func normalized(_ url: String) -> String {
        guard let parsed = try? HTTPURL(url) else { return url }
        guard let userinfo = parsed.userinfo else { return parsed.normalized }
        let scheme = parsed.scheme.rawValue + "://"
        return scheme + userinfo + "@" + String(Substring(parsed.normalized.utf8.dropFirst(scheme.utf8.count)))
    }
}
