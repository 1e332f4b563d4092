import HTTPCaching
import HTTPSemantics
import TextIdentity

/// The key of one owner's resource, in all its variants, and of the images made from it, in all sizes and formats.
struct ResourceKey: Hashable, Sendable {
    @ByteText private(set) var url: String
    private let namespace: Namespace

    /// - Parameter url: Normalised, without userinfo.
    init(url: String, in namespace: Namespace) {
        _url = url.asBytes
        self.namespace = namespace
    }

    init(_ request: FileRequest, by rules: CacheRules) {
        let parsed = try? HTTPURL(request.url)
        self.init(
            url: rules.keyURL(of: request.key ?? request.url),
            in: ResolvedRequest.namespace(of: request, userinfo: parsed?.userinfo?[...]))
    }
}
