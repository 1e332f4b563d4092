import ConcurrencyPrimitives
import DiskStore

/// Makes entries: bodies of some bytes with 400 bytes of metadata, about what a response's stored fields take.
struct Filling: Sendable {
    let directory: String
    let body: [UInt8]
    static let metadata = (0..<400).map { UInt8(truncatingIfNeeded: $0) }

    init(_ directory: String, bytes: Int? = nil) {
        self.directory = directory
        body = (0..<(bytes ?? 1000)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    }

    static func open(_ directory: String) throws -> DiskStore {
        try DiskStore(directory: directory, configuration: StoreConfiguration(capacity: 1 << 40))
    }

    static func key(_ number: Int) -> EntryKey {
        EntryKey("GET https://images.example.org/library/\(number)/original.jpg")
    }

    static func entry(_ key: EntryKey, in store: DiskStore) -> NewEntry {
        let url = String(key.value.dropFirst(4))
        return NewEntry(key: key, url: url, metadata: metadata, generation: store.generation(of: url))
    }

    /// A body that is whole and waits for its commit.
    func received(_ store: DiskStore, _ key: EntryKey) throws -> BodyWriter {
        let writer = try store.beginBody(for: key)
        try writer.start(header: Self.metadata, total: Int64(body.count))
        try body.withUnsafeBytes { try writer.write($0) }
        return writer
    }

    /// Commits entries, each by itself.
    func commit(_ store: DiskStore, _ keys: some Sequence<EntryKey>) throws {
        for key in keys { _ = try received(store, key).commit(Self.entry(key, in: store)) }
    }

    /// Commits entries, 64 at the same time.
    func commitTogether(_ store: DiskStore, _ keys: [EntryKey], on executor: BlockingExecutor) async throws {
        try await together(keys, on: executor) { key in
            let writer = try received(store, key)
            var entry = Self.entry(key, in: store)
            while true {
                do throws(StoreError) {
                    _ = try await writer.commit(entry, on: executor)
                    return
                } catch {
                    // Another one shares the slot of its generation, and was committed meanwhile.
                    guard error.code == .outdated else { throw error }
                    entry = Self.entry(key, in: store)
                }
            }
        }
    }

    /// Gives entries new metadata, as a 304 does, 64 at the same time.
    func confirmTogether(_ store: DiskStore, _ keys: [EntryKey], on executor: BlockingExecutor) async throws {
        try await together(keys, on: executor) { key in
            for entry in try store.entries(for: key) {
                _ = try await store.updateMetadata(of: entry, Self.metadata, holds: false, on: executor)
            }
        }
    }

    private func together(
        _ keys: [EntryKey], on executor: BlockingExecutor, _ body: @escaping @Sendable (EntryKey) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var next = keys.makeIterator()
            func addOne() {
                guard let key = next.next() else { return }
                group.addTask(executorPreference: executor) { try await body(key) }
            }
            for _ in 0..<64 { addOne() }
            while try await group.next() != nil { addOne() }
        }
    }

    /// Adds what is missing of a number of entries.
    func run(_ count: Int) async throws {
        let store = try Self.open(directory)
        let executor = BlockingExecutor(width: 2)
        let isWhole = try store.statistics().entries == count
        for start in isWhole ? [] : Array(stride(from: 0, to: count, by: 10_000)) {
            let keys = (start..<min(count, start + 10_000)).map(Self.key)
            try await commitTogether(store, keys.filter { try store.entries(for: $0).isEmpty }, on: executor)
        }
        executor.close()
        store.close()
    }
}
