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

    /// A decode lately.
    private enum Past {
        case decoded, kept
    }

    private static let mostKnown = 1024

    private let memory: ImageMemory
    private let past = Locked<[Key: Past]>([:])

    init(_ memory: ImageMemory) { self.memory = memory }

    /// An eighth of the memory: rows must not push out everything else.
    var mostBytes: Int { memory.limits.capacity / 8 }

    func rows(for key: Key) -> DecodedRows? {
        guard past.withLock({ $0[key] }) == .kept, case .rows(let rows) = memory.value(for: .rows(key)) else {
            return nil
        }
        return rows
    }

    /// Notes a decode. True if its rows should be kept: it is not the first lately.
    func isRepeated(_ key: Key) -> Bool {
        past.withLock { past in
            if past[key] != nil { return true }
            if past.count >= Self.mostKnown { past.removeAll(keepingCapacity: true) }
            past[key] = .decoded
            return false
        }
    }

    func keep(_ rows: DecodedRows, for key: Key) {
        memory.insert(.rows(rows), for: .rows(key), cost: rows.cost)
        past.withLock { $0[key] = .kept }
    }
}
