import ImageCodec
import MemoryCache

/// The memory cache of images, frames of animations, and decoded rows.
typealias ImageMemory = MemoryCache<ImageMemoryKey, ImageMemoryValue>

enum ImageMemoryKey: MemoryCacheKey {
    case image(ImageKey)
    case rows(RowMemory.Key)
    case frame(FrameKey)

    var original: ResourceKey {
        switch self {
        case .image(let key): key.original
        case .rows(let key): key.original
        case .frame(let key): key.original
        }
    }
}

enum ImageMemoryValue: Sendable {
    case image(DerivedImage)
    case rows(DecodedRows)
    case frame(RenderedFrame)
}

extension WeakValues<ImageMemoryValue> {
    /// Finds values that callers still hold.
    static var imagesAndRows: WeakValues {
        WeakValues { value in
            switch value {
            case .image(let image): image
            case .rows(let rows): rows
            case .frame(let frame): frame
            }
        } value: { object in
            (object as? DerivedImage).map { .image($0) } ?? (object as? DecodedRows).map { .rows($0) }
                ?? (object as? RenderedFrame).map { .frame($0) }
        }
    }
}
