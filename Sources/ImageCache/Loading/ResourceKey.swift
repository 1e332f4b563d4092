import HTTPCaching
import HTTPSemantics

/// A resource of one owner, in all its variants; the original of images in all sizes and formats.
struct ResourceKey: Hashable, Sendable {
    let url: String
    let owner: String?

    /// - Parameter url: Normalised, without userinfo.
    init(url: String, owner: String?) {
        self.url = url
        self.owner = owner
    }

    init(_ request: FileRequest, by rules: CacheRules) {
        let parsed = try? HTTPURL(request.url)
        url = rules.keyURL(of: request.key ?? request.url)
        owner = ResolvedRequest.owner(of: request, userinfo: parsed?.userinfo?[...])
    }
}
