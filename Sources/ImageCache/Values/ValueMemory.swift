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
/// An entry answers only while its resource's generation lasts (``DiskStore/isCurrent(_:)``): what any process on the directory
/// stores, confirms or removes ends it at once.
final class ValueMemory: Sendable {
    /// Larger files are looked up on disk.
    static let fileSizeLimit: Int64 = 256 << 10
    /// The number of bytes that the look-up of a file takes.
    static let lookupCost = 4096

    struct Key: MemoryCacheKey {
        let original: ResourceKey
        /// They select among the resource's variants (RFC 9111 section 4.1). One by one: equality of `HTTPFields` takes different bytes
        /// that are no text for the same.
        private let fields: [HTTPField]
        private let freshnessOverride: FreshnessOverride?
        private let integrity: BodyIntegrity
        private let sha256: String?
        private let version: String?
        private let type: ObjectIdentifier

        init(_ request: FileRequest, as type: Any.Type, by rules: CacheRules) {
            original = ResourceKey(request, by: rules)
            fields = Array(request.fields)
            freshnessOverride = request.freshnessOverride
            integrity = request.integrity
            sha256 = request.sha256?.lowercased()
            version = request.version
            self.type = ObjectIdentifier(type)
        }

        /// The key of a value that the application has stored.
        init(stored key: EntryKey, version: String?, as type: Any.Type) {
            // Bytes, since texts that are canonically equivalent are equal strings.
            original = ResourceKey(url: Array(key.value.utf8).hexadecimal, in: .shared)
            fields = []
            freshnessOverride = nil
            integrity = BodyIntegrity()
            sha256 = nil
            self.version = version
            self.type = ObjectIdentifier(type)
        }
    }

    /// A value and for how long it may be used.
    final class Held: Sendable {
        let value: any Sendable
        let generation: Generation
        let freshUntil: Date
        /// When it was found to be fresh. Before that, after a step of the clock backwards, nobody knows how old it is.
        let checked: Date
        /// The entry that it was made of.
        let entry: StoredEntry
        private let lastTouch: Locked<ContinuousClock.Instant>

        init(_ value: any Sendable, _ generation: Generation, _ entry: StoredEntry, freshUntil: Date, checked: Date) {
            self.value = value
            self.generation = generation
            self.entry = entry
            self.freshUntil = freshUntil
            self.checked = checked
            lastTouch = Locked(.now)
        }

        /// Returns true if its use is to be noted in the store: once a second, so that it is not evicted there.
        func isTouchDue() -> Bool {
            lastTouch.withLock { last in
                guard .now - last > .seconds(1) else { return false }
                last = .now
                return true
            }
        }
    }

    private let memory: MemoryCache<Key, Held>
    /// The formats that were used.
    private let formats = Locked<Set<ValueFormat>>([])
    private let store: DiskStore
    private let now: @Sendable () -> Date

    init(store: DiskStore, configuration: DownloadCache.Configuration, monitor: MemoryPressureMonitor?) {
        self.store = store
        now = configuration.now
        memory = MemoryCache(limits: configuration.values, monitor: monitor)
    }

    var statistics: MemoryCacheStatistics { memory.statistics }

    /// Returns true the first time.
    func isFirstUse(of format: ValueFormat) -> Bool { formats.withLock { $0.insert(format).inserted } }

    /// Returns the entry that is in memory and may be used without a look at the store.
    func held(_ key: Key, for request: FileRequest) -> Held? {
        guard request.isPlainGet, let held = memory.value(for: key),
            request.mayUseMemory(freshUntil: held.freshUntil, checked: held.checked, now: now())
        else { return nil }
        return current(held)
    }

    /// The value that the application has stored, while it lasts.
    func held(_ key: Key) -> Held? {
        let now = now()
        guard let held = memory.value(for: key), held.freshUntil > now, held.checked <= now + 1 else { return nil }
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
    /// True for a GET without content: what is in memory is found without the content.
    var isPlainGet: Bool { method == .get && body == nil }

    /// Returns true if an entry in memory may be used without a look at what it was made of.
    func mayUseMemory(freshUntil: Date, checked: Date, now: Date) -> Bool {
        switch policy {
        case .returnCacheDataElseLoad, .returnCacheDataDontLoad: true
        case .useProtocolCachePolicy:
            !fields.contains { $0.name == .cacheControl || $0.name.canonicalName == "pragma" }
                && freshUntil > now && checked <= now + 1
        default: false
        }
    }
}
