import HTTPCaching
import HTTPSemantics
import HTTPTypes
import ImageCodec
import MemoryCache

/// The key of a derived image in memory: its original and its recipe.
struct ImageKey: MemoryCacheKey {
    let original: ResourceKey
    private let selecting: SelectingParts
    private let freshnessOverride: FreshnessOverride?
    private let integrity: BodyIntegrity
    private let sha256: String?
    /// Part of the key, so that an image that exceeds the limits of a request is not used for it.
    let limits: DecodingLimits
    var recipe: ImageRecipe

    init(_ request: ImageRequest, _ output: ImageRecipe.Output, by rules: CacheRules) {
        original = ResourceKey(request.file, by: rules)
        selecting = SelectingParts(request.file)
        freshnessOverride = request.file.freshnessOverride
        integrity = request.file.integrity
        sha256 = request.file.sha256?.lowercased()
        limits = request.decoder.limits
        recipe = ImageRecipe(request, output)
    }
}
