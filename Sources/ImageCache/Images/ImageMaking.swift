import FoundationEssentials
import HTTPCaching
import ImageCodec
import Locking

/// Makes images of one original: decodes once, then resizes, processes and encodes for each recipe.
///
/// Blocks the thread for as long as that takes.
struct ImageMaking {
    let file: CachedFile
    let decoder: ImageDecoder
    let rules: CacheRules
    /// The request's.
    let ownLifetime: OwnLifetime?
    let now: Date
    let counts: Locked<ImageStatistics>

    typealias Results = [ImageRecipe: Result<MadeImage, ImageCacheError>]

    func make(_ recipes: Set<ImageRecipe>) -> Results {
        do throws(ImageCodecError) {
            let source = try ImageSource(file)
            counts.withLock { $0.decodes += 1 }
            if recipes.count == 1, let recipe = recipes.first {
                return [recipe: make(recipe, of: try decode(source, recipe.sizing))]
            }
            let sizings = recipes.map(\.sizing)
            let whole =
                sizings.contains(nil)
                ? try decoder.decode(source) : try decoder.decode(source, covering: sizings.compactMap(\.self))
            return Results(
                uniqueKeysWithValues: recipes.map { recipe in (recipe, make(recipe, from: whole)) })
        } catch {
            let failure = ImageCacheError(error, file)
            return Results(uniqueKeysWithValues: recipes.map { ($0, .failure(failure)) })
        }
    }

    private func decode(_ source: ImageSource, _ sizing: ImageSizing?) throws(ImageCodecError) -> DecodedImage {
        guard let sizing else { return try decoder.decode(source) }
        counts.withLock { $0.resizes += 1 }
        return try decoder.decode(source, to: sizing)
    }

    private func make(_ recipe: ImageRecipe, from whole: DecodedImage) -> Result<MadeImage, ImageCacheError> {
        do throws(ImageCodecError) {
            guard let sizing = recipe.sizing else { return make(recipe, of: whole) }
            counts.withLock { $0.resizes += 1 }
            return make(recipe, of: try whole.resized(to: sizing, usesLinearLight: decoder.usesLinearLight))
        } catch {
            return .failure(ImageCacheError(error, file))
        }
    }

    private func make(_ recipe: ImageRecipe, of image: DecodedImage) -> Result<MadeImage, ImageCacheError> {
        do throws(ImageCodecError) {
            var image = image
            for processor in recipe.processors { image = try processor.process(image) }
            var content = MadeImage.Content.pixels(image)
            if let encoder = try encoder(for: recipe.output, image) {
                counts.withLock { $0.encodes += 1 }
                content = .encoded(
                    try encoder.encode(image), encoder.format, width: image.width, height: image.height)
            }
            return .success(
                MadeImage(
                    content, original: file.body.entry.id, generation: file.generation,
                    freshUntil: file.freshUntil(now, rules, ownLifetime),
                    response: MadeImage.Response(file.response, rules: rules, at: now)))
        } catch {
            return .failure(ImageCacheError(error, file))
        }
    }

    private func encoder(
        for output: ImageRecipe.Output, _ image: DecodedImage
    ) throws(ImageCodecError) -> ImageEncoder? {
        switch output {
        case .pixels: return nil
        case .encoded(let encoder): return encoder
        case .likeOriginal(let jpeg):
            switch try ImageInfo.read(ImageSource(file), limits: decoder.limits).format {
            case .jpeg: return ImageEncoder(.jpeg(jpeg))
            case .png: return .png()
            default: return image.isOpaque ? ImageEncoder(.jpeg(jpeg)) : .png()
            }
        }
    }
}

extension ImageSource {
    init(_ file: CachedFile) throws(ImageCodecError) { try self.init(duplicating: file.body.descriptor) }
}

extension CachedFile {
    /// Until when it may be used without a word to the origin.
    ///
    /// What must be confirmed before each use (`no-cache`, or behind a redirect that may lead elsewhere next time) never may.
    func freshUntil(_ now: Date, _ rules: CacheRules, _ ownLifetime: OwnLifetime?) -> Date {
        guard let left = cacheStatus.timeToLive,
            !rules.freshness(of: response, at: now, ownLifetime: ownLifetime).mustValidate
        else { return .distantPast }
        return now.addingTimeInterval(Double(left))
    }
}

extension ImageCacheError {
    /// What the codec says of a file.
    init(_ error: ImageCodecError, _ file: CachedFile) {
        self.init(
            .undecodable(error.code), url: file.finalURL, path: file.path, message: "\(error)", cause: error)
    }
}
