import HTTPCaching
package import HTTPSemantics

/// The origin's URL. Its path is the base of all requests.
package struct OriginBase: Sendable {
    /// Without a trailing slash, with an optional user and password.
    let text: String
    /// True if the URLs under this base are objects in a bucket or files in a folder, which can only be read. Queries are then dropped, because they
    /// would call functions of the bucket, and the base itself is refused, because its URL would list the objects.
    package var isStorage = false
    package let url: HTTPURL?

    package init(_ text: String) {
        self.text = text
        url = try? HTTPURL(text)
    }

    /// The base of the files below a folder.
    ///
    /// - Parameter path: The folder's absolute path, percent-encoded, without a trailing slash.
    package init(folder path: String) {
        self.init("http://" + Self.folderHost + path)
        isStorage = true
    }

    /// The host in the URLs of files. No server can have this name (RFC 6761 section 6.4).
    package static let folderHost = "files.invalid"

    /// The URL for a client's request, as used by the store. `nil` if it is invalid or leaves the base path under any interpretation
    /// (``HTTPSemantics/HTTPURL/isBelow(_:)``).
    ///
    /// The same URL is sent to the origin. If the origin distinguishes spellings, one resource must not be stored under the URL of another.
    ///
    /// - Parameter path: The path with its query and leading slash.
    func url(for path: String) -> String? {
        var path = path[...]
        if isStorage {
            path = path.prefix { $0 != "?" }
            guard path.utf8.count > 1 else { return nil }
        }
        guard let asked = try? HTTPURL(text + path), contains(asked) else { return nil }
        return asked.userinfo == nil ? asked.normalized : HTTPURL.normalized(text + path)
    }

    func contains(_ other: HTTPURL) -> Bool { url.map { other.isBelow($0) } ?? false }
}
