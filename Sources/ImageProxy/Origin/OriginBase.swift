import HTTPCaching
package import HTTPSemantics

/// The origin's URL. Its path is the base of all requests.
package struct OriginBase: Sendable {
    /// Without a trailing slash, with an optional user and password.
    let text: String
    /// True if the URLs under this base are objects in a bucket. Queries are then rejected, because they would call functions of the
    /// bucket, and so is the bucket itself, because its URL would list the objects.
    package var isBucket = false
    package let url: HTTPURL?

    package init(_ text: String) {
        self.text = text
        url = try? HTTPURL(text)
    }

    /// The URL for a client's request, as used by the store. `nil` if it is invalid or leaves the base path under any interpretation
    /// (``HTTPSemantics/HTTPURL/isBelow(_:)``).
    ///
    /// The same URL is sent to the origin. If the origin distinguishes spellings, one resource must not be stored under the URL of another.
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
