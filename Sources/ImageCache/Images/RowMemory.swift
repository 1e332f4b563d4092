import ConcurrencyPrimitives
import ImageCodec
import MemoryCache

/// Decoded rows of originals whose images are rendered again and again in other sizes, beside those images in memory.
///
/// The rows are those of one stored body, which never changes: whoever has the body may use them. They do not change any
/// image, only what it costs. They are kept from the second decode on, because most originals are decoded once.
struct RowMemory: Sendable {
    /// The body, and everything else that a decode's rows depend on.
    struct Key: MemoryCacheKey {
        let original: ResourceKey
        private let body: Int64
        private let decoding: ImageRecipe.Decoding
        private let limits: DecodingLimits
        private let scale: DecodingScale

        /// `nil` for rows that cannot be kept.
        ///
        /// - Parameter most: the bytes that rows may take.
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
        /// The decodes lately whose rows were not kept.
        var decoded: Set<Key> = []
        /// Those whose rows were kept; the last used is the last.
        var kept: [Key] = []
    }

    private static let mostKnown = 1024
    /// Rows that workers decode hold a descriptor each.
    static let mostKept = 32

    private let memory: ImageMemory
    private let past = Locked(Past())

    init(_ memory: ImageMemory) { self.memory = memory }

    /// An eighth of the memory: rows must not push out everything else.
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

    /// Notes a decode. True if its rows should be kept: it is not the first lately.
    func isRepeated(_ key: Key) -> Bool {
        past.withLock { past in
            if past.decoded.contains(key) || past.kept.contains(key) { return true }
            if past.decoded.count >= Self.mostKnown { past.decoded.removeAll(keepingCapacity: true) }
            past.decoded.insert(key)
            return false
        }
    }

    /// Keeps the rows, in the place of those that were not used for the longest time.
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
