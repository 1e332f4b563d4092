import ConcurrencyPrimitives
import Foundation
import Logging
import TestSupport

@testable import DiskStore

/// A clock that goes where the test puts it, also backwards.
final class TestClock: Sendable {
    private let date = Locked(Date(timeIntervalSince1970: 1_700_000_000))

    var now: Date { date.withLock { $0 } }
    func advance(_ seconds: Double) { date.withLock { $0 += seconds } }
}

/// A store in its own directory, which is removed with it.
struct StoreUnderTest {
    let directory: TestDirectory
    let clock = TestClock()
    let store: DiskStore

    var path: String { store.directory }

    init(capacity: Int64 = 64 << 20, minimumFreeSpace: Int64 = 0, on fileSystem: FileSystemKind? = nil) throws {
        directory = try TestDirectory()
        store = try Self.open(directory.path("cache"), capacity: capacity, minimumFreeSpace, clock, on: fileSystem)
    }

    /// Another store on the same directory, as another process would open it.
    func again(capacity: Int64? = nil, on fileSystem: FileSystemKind? = nil) throws -> DiskStore {
        try Self.open(path, capacity: capacity ?? store.capacity, 0, clock, on: fileSystem)
    }

    static func open(
        _ path: String, capacity: Int64, _ minimumFreeSpace: Int64 = 0, _ clock: TestClock = TestClock(),
        on fileSystem: FileSystemKind? = nil
    ) throws -> DiskStore {
        var configuration = StoreConfiguration(
            capacity: capacity, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        configuration.minimumFreeSpace = minimumFreeSpace
        configuration.clock = { clock.now }
        if let fileSystem { configuration.fileSystem = { _ in fileSystem } }
        return try DiskStore(directory: path, configuration: configuration)
    }

    /// The size of the directory according to `du -s --block-size=1`.
    var allocated: Int64 { DiskUsage.bytes(at: path) }
}

extension DiskStore {
    @discardableResult
    func put(_ key: String, _ body: [UInt8], variant: String = "", metadata: [UInt8] = [1, 2, 3]) throws -> StoredEntry
    {
        try writeWhole(key, body).commit(
            NewEntry(key: EntryKey(key), variant: variant, url: "http://test/\(key)", metadata: metadata)
        ).entry
    }

    /// A writer to which all of a body was given.
    func writeWhole(_ key: String, _ body: [UInt8]) throws -> BodyWriter {
        let writer = try beginBody(for: EntryKey(key))
        try writer.start(header: Array("header of \(key)".utf8), total: Int64(body.count))
        try writer.write(body)
        return writer
    }

    /// The body of the key's only entry, or nil for a miss.
    func read(_ key: String) throws -> [UInt8]? {
        guard let entry = try entries(for: EntryKey(key)).first, let body = try open(entry) else { return nil }
        return try body.all()
    }

    func has(_ key: String) throws -> Bool { try !entries(for: EntryKey(key)).isEmpty }

    /// The transactions of `body`: their number, and the greatest number in one call, during which no other thread can use the index.
    ///
    /// - Parameter limit: The number of transactions after which the next one fails, as if the process had ended.
    func transactions(
        limit: Int = .max, _ body: () throws -> Void
    ) throws -> (count: Int, mostInCall: Int) {
        let seen = Locked((count: 0, inCall: 0, mostInCall: 0))
        try withIndex { (index) throws(StoreError) in
            index.beforeChange = { [unowned index] () throws(StoreError) in
                let isFollowing = index.hasChanged
                let isBeyond = seen.withLock { (seen) -> Bool in
                    if seen.count == limit { return true }
                    seen.count += 1
                    seen.inCall = isFollowing ? seen.inCall + 1 : 1
                    seen.mostInCall = max(seen.mostInCall, seen.inCall)
                    return false
                }
                if isBeyond { throw StoreError(.io, "the process ended") }
            }
        }
        defer { try? withIndex { (index) throws(StoreError) in index.beforeChange = nil } }
        try body()
        return seen.withLock { ($0.count, $0.mostInCall) }
    }
}

extension StoredBody {
    func all() throws -> [UInt8] {
        guard let bytes = try file.bytes(at: 0, count: Int(size)) else { throw StoreError(.incomplete, "short") }
        return bytes
    }
}

extension BodyWriter {
    func write(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { try write($0) }
    }

    func write(_ bytes: ArraySlice<UInt8>) throws {
        try bytes.withUnsafeBytes { try write($0) }
    }
}

/// Bytes that differ from place to place: a table whose length is no multiple of any block's, again and again.
func pattern(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        var start = Int(seed % 1000) * 997
        while filled < count {
            let part = table[start...].prefix(count - filled)
            _ = UnsafeMutableBufferPointer(rebasing: buffer[filled...]).update(fromContentsOf: part)
            filled += part.count
            start = 0
        }
    }
}

private let table: [UInt8] = {
    var state: UInt64 = 42
    return (0..<1_000_003).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(truncatingIfNeeded: state >> 56)
    }
}()
