import HTTPCaching
import HTTPSemantics
import HTTPTypes
import ImageCodec
import MemoryCache

/// The key of a derived image in memory: its original and its recipe.
struct ImageKey: MemoryCacheKey {
    /// An original, in all its variants, sizes and formats.
    struct Original: Hashable, Sendable {
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

    let original: Original
    /// The fields that select among the original's variants (RFC 9111 section 4.1).
    private let fields: [HTTPField]
    private let freshnessOverride: FreshnessOverride?
    private let sha256: String?
    /// An image that exceeds one request's limits is not served because another request allowed it.
    private let limits: DecodingLimits
    var recipe: ImageRecipe

    init(_ request: ImageRequest, _ output: ImageRecipe.Output, by rules: CacheRules) {
        original = Original(request.file, by: rules)
        fields = Array(request.file.fields)
        freshnessOverride = request.file.freshnessOverride
        sha256 = request.file.sha256?.lowercased()
        limits = request.decoder.limits
        recipe = ImageRecipe(request, output)
    }
}
