import Digests
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
    /// Each folder has a host of its own, so that files of a folder are never served below another one that contains it, or is in it. No server can
    /// have such a name (RFC 6761 section 6.4).
    ///
    /// - Parameter path: The folder's absolute path, percent-encoded, without a trailing slash.
    package init(folder path: String) {
        let digest = ShortSHA256.digest(of: path.utf8).prefix(8).map { $0 }
        self.init("http://\(digest.hexadecimal).files.invalid\(path)")
        isStorage = true
    }

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
