import Foundation
import TestSupport
import Testing

@testable import DiskStore

@Suite struct ConcurrencyTests {
    @Test
    func `many tasks over two stores on one directory read only whole bodies of the key they asked for`() async throws {
        let seed = SeededGenerator(for: "many tasks").seed
        let test = try StoreUnderTest(capacity: 6 << 20)
        let stores = [test.store, try test.again()]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    var random = SeededGenerator(seed: seed &+ UInt64(task))
                    for _ in 0..<60 {
                        let store = stores[Int.random(in: 0..<2, using: &random)]
                        try step(store, key: Int.random(in: 0..<12, using: &random), &random)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try test.store.verify().failed == 0)
        let known = try test.store.withIndex { (index) throws(StoreError) in
            let select = try index.catalogue().connection.prepare("SELECT id FROM entries UNION SELECT id FROM doomed")
            defer { select.finalize() }
            var ids: Set<String> = []
            while try select.step() { ids.insert(Paths.hex(select.integer(0))) }
            return ids
        }
        let files = DiskUsage.files(at: test.path + "/bodies").filter { !known.contains(String($0.suffix(16))) }
        #expect(files == [])
        #expect(try await test.store.sweep()?.orphans == 0)
        #expect(test.allocated <= 6 << 20)
    }

    /// A body's first byte is its key; the others follow from its length.
    private func body(_ key: Int, _ count: Int) -> [UInt8] { [UInt8(key)] + pattern(count, seed: UInt64(key)) }

    private func step(_ store: DiskStore, key: Int, _ random: inout SeededGenerator) throws {
        do {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4: try store.put("k\(key)", body(key, Int.random(in: 0...400_000, using: &random)))
            case 4:
                let writer = try store.beginBody(for: EntryKey("k\(key)"))
                try writer.start(header: [], total: 600_000)
                try writer.write(pattern(300_000))
                try writer.keep()
            case 5: try store.remove(EntryKey("k\(key)"))
            default:
                guard let entry = try store.entries(for: EntryKey("k\(key)")).first,
                    let stored = try store.open(entry)
                else { return }
                try store.touch(entry)
                #expect(try stored.all() == body(key, Int(entry.size) - 1))
            }
        } catch let error as StoreError where error.code == .full {
            // Others hold too much at the moment.
        }
    }
}
