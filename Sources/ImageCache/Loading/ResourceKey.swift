import HTTPCaching
import HTTPSemantics
import TextIdentity

/// A resource of one owner, in all its variants; the original of images in all sizes and formats.
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
