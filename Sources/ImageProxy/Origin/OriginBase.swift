import HTTPCaching
import HTTPSemantics

/// The origin's URL, below whose path everything lies that clients may ask for.
package struct OriginBase: Sendable {
    /// Without a slash at its end, with the user and password that it may have.
    let text: String
    private let url: HTTPURL?

    package init(_ text: String) {
        self.text = text
        url = try? HTTPURL(text)
    }

    /// The URL of what a client asks for, as the store knows it; `nil` when it is no URL or leads out of the base path in any
    /// reading (``HTTPSemantics/HTTPURL/isBelow(_:)``).
    ///
    /// Exactly what the store knows it by is asked for: an origin that tells spellings apart cannot have one resource stored in
    /// the place of another.
    ///
    /// - Parameter path: with its query, and the slash before it.
    func url(for path: String) -> String? {
        guard let asked = try? HTTPURL(text + path), contains(asked) else { return nil }
        return asked.userinfo == nil ? asked.normalized : CacheKey.normalized(text + path)
    }

    func contains(_ other: HTTPURL) -> Bool { url.map { other.isBelow($0) } ?? false }
}
