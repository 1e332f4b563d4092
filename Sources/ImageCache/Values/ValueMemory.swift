import ConcurrencyPrimitives
import Digests
import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPTypes
import MemoryCache
import Transfer

/// Decoded values and look-ups of small files in memory.
///
/// An entry is valid while the generation of its resource is current (``DiskStore/isCurrent(_:)``). It becomes invalid as soon as any
/// process that uses the directory stores, revalidates or removes the resource.
final class ValueMemory: Sendable {
    /// The size limit in bytes of files whose look-ups are kept.
    static let fileSizeLimit: Int64 = 256 << 10
    /// The cost of a file's look-up in bytes.
    static let lookupCost = 4096

    struct Key: MemoryCacheKey {
        let original: ResourceKey
        private let selecting: SelectingParts
        private let freshnessOverride: FreshnessOverride?
        private let integrity: BodyIntegrity
        private let sha256: String?
        private let version: String?
        private let type: ObjectIdentifier

        init(_ request: FileRequest, as type: Any.Type, by rules: CacheRules) {
            original = ResourceKey(request, by: rules)
            selecting = SelectingParts(request)
            freshnessOverride = request.freshnessOverride
            integrity = request.integrity
            sha256 = request.sha256?.lowercased()
            version = request.version
            self.type = ObjectIdentifier(type)
        }

        /// The key of a value that the application stored.
        init(stored key: EntryKey, version: String?, as type: Any.Type) {
            // As hexadecimal bytes, because canonically equivalent strings are equal.
            original = ResourceKey(url: Array(key.value.utf8).hexadecimal, in: .shared)
            selecting = SelectingParts()
            freshnessOverride = nil
            integrity = BodyIntegrity()
            sha256 = nil
            self.version = version
            self.type = ObjectIdentifier(type)
        }
    }

    /// A value, and the conditions of its use.
    final class Held: Sendable {
        let value: any Sendable
        let generation: Generation
        let freshUntil: Date
        /// The time of the response that the value was made from, or of the storage of an application's value.
        let responseTime: Date
        /// The entry that the value was made from.
        let entry: StoredEntry
        private let lastTouch: Locked<ContinuousClock.Instant>

        init(
            _ value: any Sendable, _ generation: Generation, _ entry: StoredEntry, freshUntil: Date, responseTime: Date
        ) {
            self.value = value
            self.generation = generation
            self.entry = entry
            self.freshUntil = freshUntil
            self.responseTime = responseTime
            lastTouch = Locked(.now)
        }

        /// Returns true if a use should be recorded in the store: at most once a second, to protect the entry from eviction.
        func isTouchDue() -> Bool {
            lastTouch.withLock { last in
                guard .now - last > .seconds(1) else { return false }
                last = .now
                return true
            }
        }
    }

    private let memory: MemoryCache<Key, Held>
    /// The formats that this process has used.
    private let formats = Locked<Set<ValueFormat>>([])
    private let store: DiskStore
    private let now: @Sendable () -> Date

    init(store: DiskStore, configuration: DownloadCache.Configuration, monitor: MemoryPressureMonitor?) {
        self.store = store
        now = configuration.now
        memory = MemoryCache(limits: configuration.values, monitor: monitor)
    }

    var statistics: MemoryCacheStatistics { memory.statistics }

    /// Returns true for the first use of a format in this process.
    func isFirstUse(of format: ValueFormat) -> Bool { formats.withLock { $0.insert(format).inserted } }

    /// The entry in memory that may be used for a request without reading the store.
    func held(_ key: Key, for request: FileRequest) -> Held? {
        guard request.isPlainGet, let held = memory.value(for: key),
            request.mayUseMemory(freshUntil: held.freshUntil, responseTime: held.responseTime, now: now())
        else { return nil }
        return current(held)
    }

    /// The entry in memory of an application's value, if it is valid.
    func held(_ key: Key) -> Held? {
        let now = now()
        guard let held = memory.value(for: key),
            CacheRules.isFresh(until: held.freshUntil, since: held.responseTime, now: now)
        else { return nil }
        return current(held)
    }

    private func current(_ held: Held) -> Held? {
        guard store.isCurrent(held.generation) else { return nil }
        if held.isTouchDue() { try? store.touch(held.entry) }
        return held
    }

    func keep(_ held: Held, for key: Key, cost: Int) {
        guard held.freshUntil > now() else { return }
        memory.insert(held, for: key, cost: cost)
    }

    func forget(_ original: ResourceKey) { memory.removeVariants(of: original) }

    func forgetAll() { memory.removeAll() }

    func respond(to pressure: MemoryPressure) { memory.respond(to: pressure) }
}

extension FileRequest {
    /// True for a GET without content. The keys in memory do not include the content.
    var isPlainGet: Bool { method == .get && body == nil }

    /// Returns true if the policy and the fields allow the use of an entry in memory.
    func mayUseMemory(freshUntil: Date, responseTime: Date, now: Date) -> Bool {
        switch policy {
        case .returnCacheDataElseLoad, .returnCacheDataDontLoad: true
        case .useProtocolCachePolicy:
            !fields.contains(where: \.isCacheDirective)
                && CacheRules.isFresh(until: freshUntil, since: responseTime, now: now)
        default: false
        }
    }
}

extension HTTPField {
    /// True for `Cache-Control` and `Pragma`, which say how a cache may answer a request.
    var isCacheDirective: Bool { name == .cacheControl || name.canonicalName == "pragma" }
}
