import HTTPCaching
package import HTTPSemantics

/// The origin's URL, whose path is the base of all requests.
package struct OriginBase: Sendable {
    /// Without a trailing slash, with an optional user and password.
    let text: String
    /// True if the URLs below are those of objects in a bucket: without queries, which would address the bucket's own functions, and
    /// not the bucket itself, which would list its objects.
    package var isBucket = false
    package let url: HTTPURL?

    package init(_ text: String) {
        self.text = text
        url = try? HTTPURL(text)
    }

    /// The URL for a client's request, as the store knows it; `nil` if it is invalid or leaves the base path in any
    /// reading (``HTTPSemantics/HTTPURL/isBelow(_:)``).
    ///
    /// The same URL is sent to the origin: an origin that distinguishes spellings must not have one resource stored in
    /// place of another.
    ///
    /// - Parameter path: The path with its query and leading slash.
    func url(for path: String) -> String? {
        var path = path[...]
        if isBucket {
            path = path.prefix { $0 != "?" }
            guard path.utf8.count > 1 else { return nil }
        }
        guard let asked = try? HTTPURL(text + path), contains(asked) else { return nil }
        return asked.userinfo == nil ? asked.normalized : HTTPURL.normalized(text + path)
    }

    func contains(_ other: HTTPURL) -> Bool { url.map { other.isBelow($0) } ?? false }
}
