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

    static func entry(_ key: EntryKey) -> NewEntry {
        NewEntry(key: key, url: String(key.value.dropFirst(4)), metadata: metadata)
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
        for key in keys { _ = try received(store, key).commit(Self.entry(key)) }
    }

    /// Commits entries, many at the same time.
    func commitTogether(_ store: DiskStore, _ keys: [EntryKey], on executor: BlockingExecutor) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var next = keys.makeIterator()
            func addOne() {
                guard let key = next.next() else { return }
                group.addTask(executorPreference: executor) {
                    _ = try await received(store, key).commit(Self.entry(key), on: executor)
                }
            }
            for _ in 0..<64 { addOne() }
            while try await group.next() != nil { addOne() }
        }
    }

    /// Adds what is missing of a number of entries.
    func run(_ count: Int) async throws {
        let store = try Self.open(directory)
        let executor = BlockingExecutor(width: 2)
        let present = Int(try store.statistics().entries)
        for start in stride(from: present, to: count, by: 10_000) {
            let keys = (start..<min(count, start + 10_000)).map(Self.key)
            try await commitTogether(store, keys, on: executor)
        }
        executor.close()
        store.close()
    }
}
