import ConcurrencyPrimitives
import Foundation
import Glibc
import Logging
import TestSupport
import Testing

@testable import DiskStore

/// Another process is stopped while it changes the index, or while it creates one.
@Suite(.timeLimit) struct BusyIndexTests {
    private static let forever = Duration.seconds(1 << 20)
    private let test: StoreUnderTest

    init() throws {
        test = try StoreUnderTest()
        try test.store.put("k", pattern(1000))
    }

    /// A store on the test's directory, as another process has it.
    private func other(busyTimeout: Duration, holding: Bool = false) throws -> DiskStore {
        var configuration = StoreConfiguration(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        configuration.minimumFreeSpace = 0
        configuration.busyTimeout = busyTimeout
        configuration.holdsBodies = holding
        configuration.clock = { [clock = test.clock] in clock.now }
        return try DiskStore(directory: test.path, configuration: configuration)
    }

    /// A transaction that another process has open.
    private func transaction() throws -> Connection {
        let connection = try Connection(path: test.path + "/index.sqlite")
        try connection.execute("BEGIN IMMEDIATE")
        return connection
    }

    private func code(_ body: () throws -> Void) -> StoreError.Code? {
        do { try body() } catch { return (error as? StoreError)?.code }
        return nil
    }

    @Test func `a stored body is read, its use noted and the store closed without a wait for a writer`() throws {
        let transaction = try transaction()
        let store = try other(busyTimeout: Self.forever)
        #expect(try store.read("k") == pattern(1000))
        let entry = try #require(try store.entries(for: EntryKey("k")).first)
        for _ in 0..<3 {
            try store.touch(entry)
            test.clock.advance(10)
        }
        try store.flush()
        store.close()
        withExtendedLifetime(transaction) {}
    }

    @Test func `a use that could not be noted is noted when the writer has ended`() throws {
        let store = try other(busyTimeout: Self.forever)
        let entry = try #require(try store.entries(for: EntryKey("k")).first)
        test.clock.advance(100)
        var transaction: Connection? = try transaction()
        try store.touch(entry)
        try store.flush()
        #expect(try store.entries(for: EntryKey("k"), withAccess: true).first?.lastAccess != test.clock.now)
        transaction = nil
        try store.flush()
        #expect(try store.entries(for: EntryKey("k"), withAccess: true).first?.lastAccess == test.clock.now)
        withExtendedLifetime(transaction) {}
    }

    @Test func `a body is delivered without being held while a writer blocks the index`() throws {
        let transaction = try transaction()
        let store = try other(busyTimeout: .milliseconds(20), holding: true)
        #expect(try store.read("k") == pattern(1000))
        withExtendedLifetime(transaction) {}
    }

    @Test func `the first change waits for the store's time-out, and later changes fail at once until one succeeds`()
        throws
    {
        let store = try other(busyTimeout: .milliseconds(20))
        var transaction: Connection? = try transaction()
        #expect(code { try store.put("new", [1]) } == .busy)
        #expect(store.index.withLock { $0.isStalled })
        #expect(code { try store.remove(EntryKey("k")) } == .busy)
        #expect(code { _ = try store.beginBody(for: EntryKey("large")).start(header: [], total: 1 << 20) } == .busy)
        transaction = nil
        try store.put("new", [1])
        #expect(!store.index.withLock { $0.isStalled })
        #expect(try store.read("new") == [1] && store.read("k") == pattern(1000))
        withExtendedLifetime(transaction) {}
    }

    @Test func `changes that share a transaction fail together, after one wait`() throws {
        let store = try other(busyTimeout: .milliseconds(20))
        let entry = try #require(try store.entries(for: EntryKey("k")).first)
        let transaction = try transaction()
        let changes = (0..<64).map { Index.updateMetadata(of: entry, [UInt8($0)], variant: nil, holds: false) }
        let results = store.perform(changes)
        #expect(
            results.allSatisfy { result in if case .failure(let error) = result { error.code == .busy } else { false } }
        )
        #expect(try store.entries(for: EntryKey("k")).first?.metadata == [1, 2, 3])
        withExtendedLifetime(transaction) {}
    }

    @Test func `other threads read while one thread waits for a writer`() async throws {
        let store = try other(busyTimeout: Self.forever)
        var transaction: Connection? = try transaction()
        let change = Task.detached { try store.put("new", [1]) }
        // The change waits by now, or soon: both orders are right.
        #expect(await eventually { store.index.withLock { $0.busySince != nil } })
        for _ in 0..<100 { #expect(try store.read("k") == pattern(1000)) }
        transaction = nil
        _ = try await change.value
        #expect(try store.read("new") == [1])
        withExtendedLifetime(transaction) {}
    }

    // MARK: Creation and repair

    @Test func `several processes create an index at once, even while the lock is held`() async throws {
        let directory = try TestDirectory()
        let path = directory.path("cache")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let lock = try LockFile(path + "/locks")
        guard case .locked = lock.lock(LockByte.index) else {
            Issue.record("not locked")
            return
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask { try StoreUnderTest.open(path, capacity: 8 << 20).put("\(number)", [UInt8(number)]) }
            }
            try await group.waitForAll()
        }
        let store = try StoreUnderTest.open(path, capacity: 8 << 20)
        for number in 0..<8 { #expect(try store.read("\(number)") == [UInt8(number)]) }
        #expect(!DiskUsage.files(at: path).contains { $0.contains("aside") })
        withExtendedLifetime(lock) {}
    }

    @Test func `opening a damaged index that another process repairs waits no longer than the time-out`() throws {
        let lock = try LockFile(test.path + "/locks")
        guard case .locked = lock.lock(LockByte.index) else {
            Issue.record("not locked")
            return
        }
        test.store.close()
        try Data("noise".utf8).write(to: URL(filePath: test.path + "/index.sqlite"))
        #expect(code { _ = try other(busyTimeout: .milliseconds(20)) } == .busy)
        clinuxUnlock(lock)
        try other(busyTimeout: .milliseconds(20)).put("new", [1])
    }

    private func clinuxUnlock(_ lock: LockFile) {
        var range = flock()
        range.l_type = Int16(F_UNLCK)
        _ = withUnsafeMutablePointer(to: &range) { fcntl(lock.file.descriptor, 37, $0) }
    }

    // MARK: Locks that say nothing

    /// Locks all bytes of the lock file from one on, as a stranger's open file.
    private func lockAll(from start: Int64) throws -> File {
        let file = try File(test.path + "/locks", O_RDWR | O_CREAT, mode: 0o600)
        var range = flock()
        range.l_type = Int16(F_WRLCK)
        range.l_start = off_t(start)
        // F_OFD_SETLK
        #expect(withUnsafeMutablePointer(to: &range) { fcntl(file.descriptor, 37, $0) } == 0)
        return file
    }

    @Test func `a stranger's lock over the whole lock file prevents neither downloads nor holds`()
        async throws
    {
        let stranger = try lockAll(from: 0)
        let store = try other(busyTimeout: Self.forever, holding: true)
        let lock = try store.tryLock(EntryKey("new"))
        #expect(lock != nil)
        #expect(try store.tryLock(EntryKey("new")) == nil, "callers of one process exclude each other all the same")
        #expect(try await store.lock(EntryKey("other")) { _ in false } != nil)
        #expect(try store.place(with: "http://a:80", of: 1) != nil)
        try store.put("new", [1])
        #expect(try store.read("new") == [1] && store.read("k") == pattern(1000))
        store.close()
        withExtendedLifetime((stranger, lock)) {}
    }

    @Test func `locks that always fail end neither a delivery nor a wait`() async throws {
        // The byte that detects a lock over the whole file stays free.
        let stranger = try lockAll(from: 2)
        let store = try other(busyTimeout: Self.forever, holding: true)
        try store.put("new", [1])
        #expect(try store.read("new") == [1] && store.read("k") == pattern(1000))
        var looks = 0
        let lock = try await store.lock(EntryKey("new")) { _ in
            looks += 1
            return looks < 3
        }
        #expect(lock == nil && looks == 3)
        store.close()
        withExtendedLifetime(stranger) {}
    }
}
