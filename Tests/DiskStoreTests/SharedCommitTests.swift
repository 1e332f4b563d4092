import ConcurrencyPrimitives
import Foundation
import TestSupport
import Testing

@testable import DiskStore

/// Commits that are ready at the same time share a transaction.
@Suite(.timeLimit) struct SharedCommitTests {
    private static let capacity: Int64 = 16 << 20
    private let test: StoreUnderTest
    private var store: DiskStore { test.store }

    init() throws { test = try StoreUnderTest(capacity: Self.capacity) }

    /// A body that was written, and what its commit is to change.
    private func change(_ key: String, _ size: Int = 5000) throws -> (DiskStore.WrittenBody, SharedChange) {
        let url = "http://test/\(key)"
        let new = NewEntry(
            key: EntryKey(key), url: url, metadata: [1], generation: store.generation(of: url))
        let written = try pattern(size).withUnsafeBytes { try store.write($0, isTransient: false) }
        return (written, written.commit(new))
    }

    private func sums() throws -> (known: Int64, counted: Int64) {
        try store.withIndex { (index) throws(StoreError) in
            let totals = try index.readTotals()
            return (totals.bodies, Int64(totals.entries))
        }
    }

    @Test func `each shared commit gets its own entry, file and generation`() throws {
        let changes = try (0..<10).map { try change("k\($0)") }
        let results = store.perform(changes.map(\.1))
        for (index, (change, result)) in zip(changes, results).enumerated() {
            let generation = try #require(try result.get())
            let body = try change.0.body(in: store, generation)
            #expect(body.entry.key == EntryKey("k\(index)"))
            #expect(try store.read("k\(index)") == pattern(5000))
            #expect(store.isCurrent(generation))
        }
        #expect(try sums() == (10 * 8192, 10))
    }

    @Test func `a shared commit whose resource was invalidated is refused, and the others are stored`() throws {
        let changes = try ["a", "b", "c"].map { try change($0) }
        try store.remove([EntryKey("b")], invalidating: .resource("http://test/b"))
        let results = store.perform(changes.map(\.1))
        #expect(results.map { (try? $0.get()) != nil } == [true, false, true])
        #expect(throws: StoreError.self) { try results[1].get() }
        #expect(try store.read("a") != nil)
        #expect(try store.read("b") == nil)
        #expect(try store.read("c") != nil)
        #expect(try sums().counted == 2)
    }

    @Test func `a failed change does not fail the others in its transaction, and leaves no file`() throws {
        let good = try (0..<5).map { try change("k\($0)") }
        let failing = SharedChange { (index, totals) throws(StoreError) in
            totals.entries += 100
            throw StoreError(.io, "no", path: index.paths.root)
        }
        var changes = good.map(\.1)
        changes.insert(failing, at: 3)
        let results = store.perform(changes)
        #expect(results.map { (try? $0.get()) != nil } == [true, true, true, false, true, true])
        #expect(try sums().counted == 5)
        let files = try FileManager.default.subpathsOfDirectory(atPath: test.path + "/bodies")
        #expect(files.filter { $0.contains("/") }.count == 5)
        for number in 0..<5 { #expect(try store.read("k\(number)") == pattern(5000)) }
    }

    @Test func `the later of two shared commits of one key replaces the earlier one`() throws {
        let url = "http://test/k"
        func change(_ bytes: [UInt8]) throws -> SharedChange {
            let written = try bytes.withUnsafeBytes { try store.write($0, isTransient: false) }
            return written.commit(NewEntry(key: EntryKey("k"), url: url, metadata: []))
        }
        let results = store.perform([try change([1]), try change([2])])
        #expect(results.allSatisfy { if case .success = $0 { true } else { false } })
        #expect(try store.read("k") == [2])
        #expect(try sums() == (4096, 1))
    }

    @Test func `shared commits that do not all fit evict other entries and respect the capacity`() throws {
        for number in 0..<200 { try store.put("old\(number)", pattern(60_000)) }
        let before = try sums().counted
        let changes = try (0..<60).map { try change("new\($0)", 60_000) }
        let results = store.perform(changes.map(\.1))
        // Few of so many share a slot of the generations: then the later one is to be tried again.
        let stored = (0..<60).filter { if case .success = results[$0] { true } else { false } }
        #expect(stored.count > 40)
        for number in stored { #expect(try store.read("new\(number)") == pattern(60_000)) }
        #expect(try sums().counted < before + 60)
        #expect(test.allocated <= Self.capacity)
    }

    @Test func `commits of many tasks are all stored, whichever transaction they share`() async throws {
        let executor = BlockingExecutor(width: 3)
        defer { executor.close() }
        let store = store
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask(executorPreference: executor) {
                    let writer = try store.writeWhole("k\(number)", pattern(100 + number))
                    let body = try await writer.commit(
                        NewEntry(key: EntryKey("k\(number)"), url: "http://test/\(number)", metadata: []), on: executor)
                    #expect(try body.all() == pattern(100 + number))
                }
            }
            try await group.waitForAll()
        }
        for number in 0..<200 { #expect(try store.read("k\(number)") == pattern(100 + number)) }
        #expect(try sums().counted == 200)
    }

    @Test func `a closed store refuses a shared commit`() async throws {
        let executor = BlockingExecutor(width: 2)
        defer { executor.close() }
        let writer = try store.writeWhole("k", [1])
        store.close()
        await #expect(throws: StoreError.self) {
            _ = try await writer.commit(NewEntry(key: EntryKey("k"), url: "u", metadata: []), on: executor)
        }
    }

    @Test func `several bodies are opened and held at once`() throws {
        var configuration = StoreConfiguration(capacity: Self.capacity)
        configuration.minimumFreeSpace = 0
        configuration.holdsBodies = true
        let run = try DiskStore(directory: test.path, configuration: configuration)
        let entries = try (0..<4).map { try store.put("k\($0)", pattern(4000)) }
        // Removed, without a reader.
        try store.remove(entries[2])
        let bodies = try run.open(entries)
        #expect(bodies.map { $0 != nil } == [true, true, false, true])
        #expect(try sums().counted == 3)
        _ = try store.prune(to: StoreConfiguration.minimumCapacity)
        for index in [0, 1, 3] { #expect(FileManager.default.fileExists(atPath: store.path(of: entries[index]))) }
    }

    @Test func `the look-up of several keys finds each one's entries`() throws {
        for key in ["a", "b"] { try store.put(key, [1]) }
        try store.put("b", [2], variant: "v")
        let found = try store.entries(for: ["a", "missing", "b"].map { (EntryKey($0), { _ in "" }) })
        #expect(found.map(\.count) == [1, 0, 2])
    }
}
