import ConcurrencyPrimitives
import ImageCodec
import MemoryCache

/// Keeps decoded rows of originals that are often rendered in new sizes, in the memory cache of images.
///
/// The rows belong to a stored body, which never changes, so they remain valid. They do not affect the resulting images, only the cost.
/// Rows are kept from the second decode on, because most originals are decoded once.
struct RowMemory: Sendable {
    /// The body, and all settings that affect the decoded rows.
    struct Key: MemoryCacheKey {
        let original: ResourceKey
        private let body: Int64
        private let decoding: ImageRecipe.Decoding
        private let limits: DecodingLimits
        private let scale: DecodingScale

        /// Returns `nil` for rows that cannot be kept.
        ///
        /// - Parameter most: The limit of the rows' memory in bytes.
        init?(_ planned: PlannedJob, most: Int) {
            guard planned.file.isStored, planned.job.recipe.sizing != nil,
                let cost = DecodedRows.cost(of: planned.header, at: planned.target.scale), cost <= most
            else { return nil }
            original = planned.job.key.original
            body = planned.file.body.entry.id
            decoding = planned.job.recipe.decoding
            limits = planned.job.request.decoder.limits
            scale = planned.target.scale
        }
    }

    private struct Past {
        /// Recent decodes whose rows were not kept.
        var decoded: Set<Key> = []
        /// Decodes whose rows were kept, the most recently used last.
        var kept: [Key] = []
    }

    private static let mostKnown = 1024
    /// The rows from workers hold one descriptor each.
    static let mostKept = 32

    private let memory: ImageMemory
    private let past = Locked(Past())

    init(_ memory: ImageMemory) { self.memory = memory }

    /// An eighth of the memory, so that rows do not displace everything else.
    var mostBytes: Int { memory.limits.capacity / 8 }

    func rows(for key: Key) -> DecodedRows? {
        let isKept = past.withLock { past in
            guard let index = past.kept.lastIndex(of: key) else { return false }
            past.kept.append(past.kept.remove(at: index))
            return true
        }
        guard isKept, case .rows(let rows) = memory.value(for: .rows(key)) else { return nil }
        return rows
    }

    /// Records a decode. Returns true if its rows should be kept, because it is not the first recent one.
    func isRepeated(_ key: Key) -> Bool {
        past.withLock { past in
            if past.decoded.contains(key) || past.kept.contains(key) { return true }
            if past.decoded.count >= Self.mostKnown { past.decoded.removeAll(keepingCapacity: true) }
            past.decoded.insert(key)
            return false
        }
    }

    /// Keeps the rows, and removes the least recently used ones above the limit.
    func keep(_ rows: DecodedRows, for key: Key) {
        memory.insert(.rows(rows), for: .rows(key), cost: rows.cost)
        let removed = past.withLock { past in
            past.kept.removeAll { $0 == key }
            past.kept.append(key)
            return past.kept.count > Self.mostKept ? past.kept.removeFirst() : nil
        }
        if let removed { memory.remove(.rows(removed)) }
    }
}
