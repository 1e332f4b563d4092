import ConcurrencyPrimitives
import Foundation
import TestSupport
import Testing

@testable import DiskStore

/// Invalidations hold in every process on the directory.
@Suite(.timeLimit) struct GenerationTests {
    private let test: StoreUnderTest
    private let other: DiskStore
    private let url = "http://test/k"

    init() throws {
        test = try StoreUnderTest(capacity: 16 << 20)
        // As another process has it.
        other = try test.again()
    }

    /// A body being written; its size is the number of bytes.
    private func fill(_ store: DiskStore, _ key: String = "k", _ bytes: [UInt8] = [1]) throws -> (BodyWriter, NewEntry)
    {
        let url = "http://test/\(key)"
        let generation = store.generation(of: url)
        let writer = try store.beginBody(for: EntryKey(key))
        writer.epoch = generation.epoch
        try writer.start(header: [7], total: Int64(bytes.count))
        try writer.write(bytes)
        return (writer, NewEntry(key: EntryKey(key), url: url, metadata: [1], generation: generation))
    }

    private func store(_ store: DiskStore, _ key: String = "k", _ bytes: [UInt8] = [1]) throws -> StoredBody {
        let (writer, entry) = try fill(store, key, bytes)
        return try writer.commit(entry)
    }

    private func isRefused(_ body: () throws -> Void) -> Bool {
        do { try body() } catch { return (error as? StoreError)?.code == .outdated }
        return false
    }

    /// The ways to invalidate the key `k`.
    enum Way: CaseIterable {
        case remove, removeEntry, clear, removeMatching, removeMatchingResource

        func perform(_ store: DiskStore) throws {
            let url = "http://test/k"
            switch self {
            case .remove: try store.remove([EntryKey("k")], invalidating: .resource(url))
            case .removeEntry:
                let entry = try #require(store.entries(for: EntryKey("k")).first)
                _ = try store.remove(entry, invalidating: nil)
            case .clear: try store.clear()
            case .removeMatching: try store.remove(invalidating: .everything) { $0.hasPrefix("http://test/") }
            case .removeMatchingResource: try store.remove(invalidating: .resource(url)) { $0 == url }
            }
        }
    }

    @Test(arguments: Way.allCases, [1000, 900_000])
    func `a body whose resource was invalidated while it was written is not stored`(
        way: Way, size: Int
    ) throws {
        try test.store.put("k", [9])
        let (writer, entry) = try fill(test.store, "k", pattern(size))
        try way.perform(other)
        #expect(isRefused { _ = try writer.commit(entry) })
        #expect(try !other.has("k"))
        // A waiting request receives it nevertheless.
        #expect(try writer.commitTransient(as: EntryKey("transient")).all() == pattern(size))
        #expect(try !other.has("k"))
        // A write that begins afterwards is stored.
        _ = try store(other, "k", [3])
        #expect(try test.store.read("k") == [3])
    }

    @Test func `an invalidation does not affect the writes of other resources`() throws {
        let other = try #require(
            (0..<100).map { "o\($0)" }.first {
                GenerationTable.slot(of: "http://test/\($0)") != GenerationTable.slot(of: url)
            })
        let (writer, entry) = try fill(test.store, other)
        try Way.remove.perform(test.store)
        _ = try writer.commit(entry)
        #expect(try test.store.has(other))
    }

    @Test(arguments: Way.allCases)
    func `a copy in memory is current until any process invalidates its resource`(way: Way) throws {
        let body = try store(test.store)
        let generation = try #require(body.generation)
        #expect(test.store.isCurrent(generation))
        #expect(other.isCurrent(other.generation(of: url)))
        try way.perform(other)
        #expect(!test.store.isCurrent(generation))
        #expect(!test.store.isCurrent(generation.epoch))
    }

    @Test func `a new body, new metadata or a replacing removal ends copies in memory but not the epoch`() throws {
        let first = try #require(store(test.store).generation)
        let body = try store(other)
        let second = try #require(body.generation)
        #expect(!test.store.isCurrent(first) && test.store.isCurrent(second))
        let third = try #require(try test.store.updateMetadata(of: body.entry, [5]))
        #expect(!other.isCurrent(second) && other.isCurrent(third))
        try test.store.put("made", [1])
        let fourth = try other.remove([], and: EntryKey("made"), replacedIn: third)
        #expect(!test.store.isCurrent(third) && test.store.isCurrent(fourth))
        #expect(test.store.isCurrent(first.epoch))
        // An outdated one does not become current by what its holder does.
        try test.store.put("made", [1])
        #expect(try !other.isCurrent(test.store.remove([], and: EntryKey("made"), replacedIn: first)))
    }

    @Test(arguments: [nil, 0, 1] as [Int?])
    func `many replaced entries are removed in steps, and a kill leaves only the others`(
        limit: Int?
    ) throws {
        let batch = try test.store.withIndex { (index) throws(StoreError) in Int(index.budget.evictionBatch) }
        let count = 2 * batch + 1
        let body = try store(test.store)
        for number in 0..<count { try test.store.put("made", [1], variant: "\(number)") }
        let generation = try #require(body.generation)
        var after: Generation?
        func remove() throws { after = try test.store.remove([], and: EntryKey("made"), replacedIn: generation) }
        guard let limit else {
            let seen = try test.store.transactions { try remove() }
            // The rows of a step, and then those of its deleted files.
            #expect(seen.mostInCall == 2 && seen.count == 6)
            let settled = try #require(after)
            #expect(try !other.has("made") && !other.isCurrent(generation) && other.isCurrent(settled))
            return
        }
        #expect(throws: StoreError.self) { try test.store.transactions(limit: 2 * limit) { try remove() } }
        #expect(try other.entries(for: EntryKey("made")).count == count - limit * batch)
        #expect(other.isCurrent(generation) == (limit == 0))
        let rest = try other.remove([], and: EntryKey("made"), replacedIn: other.generation(of: url))
        #expect(try !other.has("made") && test.store.isCurrent(rest))
    }

    @Test func `a read during a change is never current, and the result of the change is`() throws {
        let url = url
        let other = other
        let (change, during) = try test.store.withIndex { (index) throws(StoreError) in
            try index.change { (_) throws(StoreError) in (try index.noted(url), other.generation(of: url)) }
        }
        #expect(!other.isCurrent(during))
        #expect(other.isCurrent(change))
        #expect(other.isCurrent(other.generation(of: url)))
        // The same when the transaction fails.
        var failed: Generation?
        _ = try? test.store.withIndex { (index) throws(StoreError) in
            try index.change { (_) throws(StoreError) in
                failed = try index.noted(url)
                throw StoreError(.io, "a failure")
            }
        }
        #expect(failed != nil)
        #expect(!other.isCurrent(change))
        #expect(other.isCurrent(other.generation(of: url)))
    }

    @Test func `a refused commit does not settle changes of its own transaction`() throws {
        let url = url
        let other = other
        let stale = other.generation(of: url)
        let (isRefused, during) = try test.store.withIndex { (index) throws(StoreError) in
            try index.change { (_) throws(StoreError) in
                _ = try index.noted(url)
                var isRefused = false
                do throws(StoreError) { try index.requireCurrent(stale) } catch { isRefused = error.code == .outdated }
                return (isRefused, other.generation(of: url))
            }
        }
        #expect(isRefused)
        #expect(!other.isCurrent(during))
        #expect(other.isCurrent(other.generation(of: url)))
    }

    /// Leaves the slot as a process does that is killed between its two stamps.
    private func leaveUnsettled() throws {
        let url = url
        try test.store.withIndex { (index) throws(StoreError) in
            let table = try index.generations.tableNow()
            _ = try table.change(table.generation(of: url))
        }
    }

    @Test func `a change that a killed process did not settle is settled by the next commit, or the next sweep`()
        async throws
    {
        try leaveUnsettled()
        #expect(!other.isCurrent(other.generation(of: url)))
        let (writer, entry) = try fill(other)
        #expect(isRefused { _ = try writer.commit(entry) })
        var again = entry
        again.generation = other.generation(of: url)
        let body = try writer.commit(again)
        #expect(try test.store.isCurrent(#require(body.generation)))
        try leaveUnsettled()
        try await other.sweep()
        #expect(other.isCurrent(other.generation(of: url)))
        // And by the next change that is not refused.
        try leaveUnsettled()
        let updated = try other.updateMetadata(of: body.entry, [2])
        #expect(try test.store.isCurrent(#require(updated)))
        #expect(other.isCurrent(other.generation(of: url)))
    }

    @Test func `a slot whose settling another change has overtaken is settled outside of a change, too`() throws {
        try leaveUnsettled()
        let slot = GenerationTable.slot(of: url)
        try other.withIndex { (index) throws(StoreError) in index.settle([slot]) }
        #expect(test.store.isCurrent(test.store.generation(of: url)))
        // The index was not left in a transaction.
        #expect(try test.store.isCurrent(#require(store(other).generation)))
    }

    @Test func `changes of one resource by several processes at once leave it settled`() async throws {
        let entry = try store(test.store).entry
        let stores = [test.store, other, try test.again()]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, store) in stores.enumerated() {
                group.addTask {
                    for round in 0..<50 { _ = try store.updateMetadata(of: entry, [UInt8(number), UInt8(round)]) }
                }
            }
            try await group.waitForAll()
        }
        #expect(other.isCurrent(other.generation(of: url)))
    }

    @Test func `eviction and pruning do not invalidate`() throws {
        let generation = try #require(store(test.store).generation)
        let (writer, entry) = try fill(test.store, "k", [2])
        _ = try other.prune(to: 0)
        #expect(test.store.isCurrent(generation))
        _ = try writer.commit(entry)
        #expect(try test.store.read("k") == [2])
    }

    @Test func `a derived entry is stored only while its original is current, and invalidates nothing`() throws {
        let generation = try #require(store(test.store).generation)
        func made() -> NewEntry {
            NewEntry(key: EntryKey("made"), url: url, metadata: [], generation: generation, isDerived: true)
        }
        _ = try test.store.writeWhole("made", [1]).commit(made())
        #expect(test.store.isCurrent(generation))
        _ = try store(other)
        let late = try test.store.writeWhole("made", [2])
        #expect(isRefused { _ = try late.commit(made()) })
        #expect(try test.store.read("made") == [1])
    }

    @Test func `a partial that was in use when its key was removed is never found again`() throws {
        let generation = test.store.generation(of: url)
        let writer = try test.store.beginBody(for: EntryKey("k"))
        writer.epoch = generation.epoch
        try writer.start(header: [7], total: 2_000_000)
        try writer.write(pattern(1_000_000))
        try Way.remove.perform(other)
        #expect(try other.openPartial(for: EntryKey("k")) == nil)
        #expect(try other.partial(for: EntryKey("k")) == nil)
        try writer.keep()
        #expect(try other.partial(for: EntryKey("k")) == nil)
        #expect(DiskUsage.files(at: test.path).allSatisfy { !$0.hasPrefix("partials/") })
        // Nor is one that is begun later by what began before.
        let late = try test.store.beginBody(for: EntryKey("k"))
        late.epoch = generation.epoch
        try late.start(header: [7], total: 2_000_000)
        try late.write(pattern(1_000_000))
        #expect(try other.openPartial(for: EntryKey("k")) == nil)
    }

    @Test(arguments: [true, false])
    func `a partial that was in use when all that matches was removed is deleted by its writer`(isMeant: Bool) throws {
        let writer = try test.store.beginBody(for: EntryKey("k"))
        writer.epoch = test.store.generation(of: url).epoch
        try writer.start(header: [7], total: 2_000_000)
        try writer.write(pattern(1_000_000))
        let removed = try other.remove(
            invalidating: .everything, where: { _ in false }, partials: { _ in isMeant })
        #expect(removed.partials == (isMeant ? 1 : 0))
        try writer.keep()
        #expect(try (other.partial(for: EntryKey("k")) == nil) == isMeant)
        #expect(DiskUsage.files(at: test.path + "/partials").isEmpty == isMeant)
        #expect(try (other.statistics().partialBytes == 0) == isMeant)
    }

    // MARK: The file

    @Test(arguments: [0, 100, GenerationTable.byteCount, GenerationTable.byteCount + 4096])
    func `a file of generations that is cut, too long or damaged is replaced, and earlier reads are no longer current`(
        size: Int
    ) throws {
        let old = test.store.generation(of: url)
        try Data(count: size).write(to: URL(filePath: test.path + "/generations"), options: .atomic)
        let third = try test.again()
        #expect(!third.isCurrent(old))
        let generation = try #require(store(third).generation)
        #expect(third.isCurrent(generation))
        // A process that stores checks if the file is still the present one.
        let (writer, entry) = try fill(test.store)
        try Way.remove.perform(third)
        #expect(isRefused { _ = try writer.commit(entry) })
        #expect(!third.isCurrent(generation))
    }

    @Test(arguments: [true, false])
    func `an invalidation or a change fails if the table that others see cannot be opened`(isMapped: Bool) throws {
        let url = url
        let isShort = Locked(true)
        let generations = Generations(paths: test.store.paths, isReadOnly: false, isMapped: isMapped) {
            (path, flags) throws(StoreError) in
            if isShort.withLock({ $0 }) { throw .system("cannot open", path: path, errno: EMFILE) }
            return try File(path, flags)
        }
        let index = Index(
            paths: test.store.paths, configuration: test.store.configuration, generations: generations,
            fileSystem: test.store.fileSystem)
        defer { index.close() }
        try index.ensureOpen()
        let before = other.generation(of: url)
        #expect(other.isCurrent(before))
        for scope in [InvalidationScope.everything, .resource(url)] {
            let error = #expect(throws: StoreError.self) { try index.invalidate(scope) }
            #expect(error?.errno == EMFILE)
            #expect(throws: StoreError.self) { try index.tryToInvalidate(scope) }
        }
        let changed = #expect(throws: StoreError.self) {
            _ = try index.change { (_) throws(StoreError) in try index.noted(url) }
        }
        let stored = #expect(throws: StoreError.self) {
            try index.change { (_) throws(StoreError) in try index.requireCurrent(before) }
        }
        #expect(changed?.errno == EMFILE && stored?.errno == EMFILE)
        #expect(other.isCurrent(before) && !generations.table().isCurrent(before))
        isShort.withLock { $0 = false }
        try index.invalidate(.everything)
        #expect(!other.isCurrent(before))
    }

    @Test func `deleting the directory ends the copies in memory`() async throws {
        let generation = try #require(store(test.store).generation)
        try FileManager.default.removeItem(atPath: test.path)
        // Found out by a look each second, or by the next change.
        while test.store.isCurrent(generation) { try await Task.sleep(for: .milliseconds(20)) }
        #expect(try !test.store.has("k"))
        let next = try #require(store(test.store).generation)
        #expect(test.store.isCurrent(next))
        #expect(try test.again().isCurrent(next))
    }

    @Test func `a read-only store sees the invalidations of others`() throws {
        var configuration = StoreConfiguration(capacity: 16 << 20)
        configuration.isReadOnly = true
        let generation = try #require(store(test.store).generation)
        let reader = try DiskStore(directory: test.path, configuration: configuration)
        #expect(reader.isCurrent(generation))
        try Way.remove.perform(test.store)
        #expect(!reader.isCurrent(generation))
        #expect(throws: StoreError.self) { try Way.remove.perform(reader) }
    }

    @Test func `the file of generations is private to its owner, and a sweep keeps it`() async throws {
        _ = try store(test.store)
        var status = stat()
        #expect(stat(test.path + "/generations", &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(Int(status.st_size) == GenerationTable.byteCount)
        try await test.store.sweep()
        #expect(FileManager.default.fileExists(atPath: test.path + "/generations"))
    }

    // MARK: Any order

    @Test(arguments: 0..<20) func `no outdated body is used, in whatever order fills, copies and invalidations come`(
        run: Int
    )
        throws
    {
        var random = SeededGenerator(for: "generations \(run)")
        let stores = [test.store, other, try test.again()]
        var version: UInt8 = 1
        var fills: [(BodyWriter, NewEntry, version: UInt8)] = []
        var copies: [(generation: Generation, version: UInt8)] = []
        /// The first version that an invalidation allows.
        var least: UInt8 = 1
        for step in 0..<120 {
            let store = try #require(stores.randomElement(using: &random))
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<3:
                let (writer, entry) = try fill(store, "k", [version])
                fills.append((writer, entry, version))
            case 3..<6 where !fills.isEmpty:
                let (writer, entry, version) = fills.remove(at: Int.random(in: fills.indices, using: &random))
                if let body = try? writer.commit(entry) {
                    #expect(version >= least, "step \(step)")
                    copies.append((try #require(body.generation), version))
                }
            case 6:
                let generation = store.generation(of: url)
                if let bytes = try store.read("k") { copies.append((generation, bytes[0])) }
            case 7:
                version += 1
                try #require(Way.allCases.filter { $0 != .removeEntry }.randomElement(using: &random)).perform(store)
                least = version
            case 8:
                if let entry = try store.entries(for: EntryKey("k")).first { try store.updateMetadata(of: entry, [3]) }
            default: _ = try store.prune(to: 0)
            }
            let stored = try store.read("k").map { $0[0] }
            if let stored { #expect(stored >= least, "step \(step)") }
            for copy in copies where store.isCurrent(copy.generation) {
                #expect(copy.version >= least && stored.map { $0 == copy.version } ?? true, "step \(step)")
            }
        }
    }
}
