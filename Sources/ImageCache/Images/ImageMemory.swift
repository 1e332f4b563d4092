import ImageCodec
import MemoryCache

/// Images in memory, and the decoded rows that some of them are made from.
typealias ImageMemory = MemoryCache<ImageMemoryKey, ImageMemoryValue>

enum ImageMemoryKey: MemoryCacheKey {
    case image(ImageKey)
    case rows(RowMemory.Key)

    var original: ResourceKey {
        switch self {
        case .image(let key): key.original
        case .rows(let key): key.original
        }
    }
}

enum ImageMemoryValue: Sendable {
    case image(DerivedImage)
    case rows(DecodedRows)
}

extension WeakValues<ImageMemoryValue> {
    /// Finds what callers still hold.
    static var imagesAndRows: WeakValues {
        WeakValues { value in
            switch value {
            case .image(let image): image
            case .rows(let rows): rows
            }
        } value: { object in
            (object as? DerivedImage).map { .image($0) } ?? (object as? DecodedRows).map { .rows($0) }
        }
    }
}
