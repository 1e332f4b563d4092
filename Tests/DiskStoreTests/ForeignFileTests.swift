import Foundation
import Glibc
import TestSupport
import Testing

@testable import DiskStore

/// Something else is in the place of one of the store's files: it is never waited for, and healed where that is possible.
@Suite(.timeLimit) struct ForeignFileTests {
    enum Place: String, CaseIterable {
        case tag, index, log, sharedMemory, locks, generations, body, data, record, bodies, bodyFolder, partials

        /// True for the store's folders.
        var isFolder: Bool { [.bodies, .bodyFolder, .partials].contains(self) }
    }

    enum Kind: String, CaseIterable {
        case fifo, socket, device, folder, fullFolder, danglingLink, unreadable
    }

    static let cases: [(Place, Kind)] = Place.allCases.flatMap { place in
        Kind.allCases.filter { kind in
            switch kind {
            case .folder, .fullFolder: !place.isFolder
            case .unreadable: geteuid() != 0 && !place.isFolder && place != .index
            case .device: geteuid() == 0
            default: true
            }
        }.map { (place, $0) }
    }

    private let test: StoreUnderTest
    private let entry: StoredEntry

    init() throws {
        test = try StoreUnderTest()
        entry = try test.store.put("k", pattern(1000))
        let writer = try test.store.beginBody(for: EntryKey("part"))
        try writer.start(header: [1], total: 1 << 20)
        try writer.write(pattern(600_000))
        try writer.keep()
        try test.store.withIndex { (index) throws(StoreError) in _ = try index.catalogue().emptyLog() }
        test.store.close()
    }

    private func path(of place: Place) throws -> String {
        let paths = Paths(root: test.path)
        func partial(_ ending: String) throws -> String {
            let names = try FileManager.default.contentsOfDirectory(atPath: paths.partials)
            return "\(paths.partials)/\(try #require(names.first { $0.hasSuffix(ending) }))"
        }
        return switch place {
        case .tag: paths.tag
        case .index: paths.index
        case .log: paths.log
        case .sharedMemory: paths.sharedMemory
        case .locks: paths.locks
        case .generations: paths.generations
        case .body: paths.body(entry.id)
        case .data: try partial(".data")
        case .record: try partial(".record")
        case .bodies: paths.bodies
        case .bodyFolder: paths.folder(Paths.folderNumber(of: entry.id))
        case .partials: paths.partials
        }
    }

    private func put(_ kind: Kind, at path: String) throws {
        if kind == .unreadable {
            guard chmod(path, 0) == 0 else { throw SystemCallFailure("chmod") }
            return
        }
        try? FileManager.default.removeItem(atPath: path)
        switch kind {
        case .fifo: guard mkfifo(path, 0o600) == 0 else { throw SystemCallFailure("mkfifo") }
        case .socket: guard mknod(path, S_IFSOCK | 0o600, 0) == 0 else { throw SystemCallFailure("mknod") }
        // /dev/zero: it can be read without an end.
        case .device: guard mknod(path, S_IFCHR | 0o600, 1 << 8 | 5) == 0 else { throw SystemCallFailure("mknod") }
        case .folder, .fullFolder:
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            if kind == .fullFolder { try Data("mine".utf8).write(to: URL(filePath: path + "/notes.txt")) }
        case .danglingLink: guard symlink("/nowhere/at/all", path) == 0 else { throw SystemCallFailure("symlink") }
        case .unreadable: break
        }
    }

    @Test(arguments: cases)
    func `a store recovers from a foreign file in place of one of its own`(
        place: Place, kind: Kind
    ) async throws {
        let path = try path(of: place)
        try put(kind, at: path)
        for round in 0..<2 {
            let store = try test.again()
            // Everything but what was lost.
            let isLost = [.index, .body, .bodies, .bodyFolder].contains(place) || round > 0
            let body = try store.read("k")
            #expect(isLost || body == pattern(1000))
            // Commits go to many folders.
            for number in 0..<3 { try store.put("new \(number)", pattern(2000)) }
            #expect(try store.read("new 0") == pattern(2000))
            _ = try store.partials()
            let writer = try store.beginBody(for: EntryKey("part"))
            if writer.held == nil { try writer.start(header: [1], total: 1 << 20) }
            try writer.keep()
            let large = try store.writeWhole("large", pattern(700_000))
            _ = try large.commit(NewEntry(key: EntryKey("large"), url: "http://test/large", metadata: []))
            let lock = try store.tryLock(EntryKey("new"))
            #expect(lock != nil)
            _ = try store.verify(repair: true)
            try await store.sweep()
            #expect(try store.read("large") == pattern(700_000))
            store.close()
        }
        let store = try test.again()
        try store.clear()
        #expect(try store.statistics().entries == 0 && store.statistics().doomedBytes == 0)
        let mine = path + "/notes.txt"
        if kind == .fullFolder {
            let isKept = DiskUsage.files(at: test.path).contains { $0.hasSuffix("notes.txt") }
            #expect(isKept, "what is not the store's is not deleted: \(mine)")
        }
    }

    @Test(arguments: cases.filter { $0.0 != .bodies && $0.0 != .partials && $0.0 != .bodyFolder })
    func `a read-only store does not wait for foreign files in place of its own`(place: Place, kind: Kind) throws {
        try put(kind, at: try path(of: place))
        var configuration = StoreConfiguration(capacity: 8 << 20)
        configuration.isReadOnly = true
        guard let store = try? DiskStore(directory: test.path, configuration: configuration) else {
            #expect([.tag, .index, .log, .sharedMemory].contains(place))
            return
        }
        let body = try? store.read("k")
        #expect(body == nil || body == pattern(1000))
        _ = try? store.partials()
        _ = try? store.verify()
    }
}
