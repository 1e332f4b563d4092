// Sources/MemoryCache/MemoryCache.docc/MemoryCache.md shows this file from the next line on, word for word.
import MemoryCache

struct ThumbnailKey: MemoryCacheKey {
    var original: String  // the URL
    var width: Int, height: Int
}

func makeCache() throws -> MemoryCache<ThumbnailKey, [UInt8]> {
    let monitor = MemoryPressureMonitor()
    monitor.start()
    let limits = try MemoryCacheLimits(capacity: 64 << 20, preferredUsage: 48 << 20)
    let cache = MemoryCache<ThumbnailKey, [UInt8]>(limits: limits, monitor: monitor)

    let key = ThumbnailKey(original: "https://example.com/a.jpg", width: 256, height: 256)
    cache.insert([1, 2, 3], for: key, cost: 3)
    print(cache.value(for: key) ?? [])
    cache.removeVariants(of: "https://example.com/a.jpg")
    return cache
}
