import CTracing
import ConcurrencyPrimitives
import DiskStore
import Dispatch
import Foundation
import Logging

/// A body that follows from its key and version: no two have a block in common.
struct Body: Equatable {
    let key: String
    let version: UInt64
    let size: Int

    /// Metadata stored with the body, from which its expected content follows.
    var header: [UInt8] { withUnsafeBytes(of: (version, UInt64(size))) { Array($0) } }

    init(key: String, version: UInt64, size: Int) {
        self.key = key
        self.version = version
        self.size = size
    }

    init(key: EntryKey, header: [UInt8]) throws {
        guard header.count == 16 else { throw Failure("the header of \(key) is not one of ours") }
        let (version, size) = header.withUnsafeBytes {
            ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
        self.init(key: key.value, version: version, size: Int(size))
    }

    func bytes(_ range: Range<Int>) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        let seed = version << 8 | UInt64(key.utf8.first ?? 0)
        ctracing_fill(&bytes, UInt64(range.lowerBound), range.count, seed)
        return bytes
    }

    func matches(_ stored: StoredBody) throws -> Bool {
        guard stored.size == Int64(size) else { return false }
        var buffer = [UInt8](repeating: 0, count: size)
        let count = try buffer.withUnsafeMutableBytes { try stored.read(into: $0, at: 0) }
        return count == size && buffer == bytes(0..<size)
    }
}

/// One process's work on the store.
final class Session {
    static let capacity: Int64 = 4 << 20
    static let piece = 100_000

    let directory: String
    let page: SharedPage
    private let clock: SteppingClock
    private let boot: Int64
    private var opened: DiskStore?

    init(directory: String, page: SharedPage, clockSeed: UInt64, boot: Int64 = 1) {
        self.directory = directory
        self.page = page
        self.boot = boot
        clock = SteppingClock(seed: clockSeed)
    }

    /// The store; opened when it is asked for first, and again after that failed.
    var store: DiskStore {
        get throws {
            if let opened { return opened }
            var configuration = StoreConfiguration(
                capacity: Self.capacity, logger: Logger(label: "crash-points") { _ in SwiftLogNoOpLogHandler() })
            configuration.minimumFreeSpace = 0
            configuration.clock = { [clock] in clock.now }
            configuration.boot = { [boot] in boot }
            let store = try DiskStore(directory: directory, configuration: configuration)
            opened = store
            return store
        }
    }

    func stepClock() { clock.step() }

    func close() {
        opened?.close()
        opened = nil
    }

    // MARK: Bodies

    func put(_ body: Body, isLengthKnown: Bool = true) throws {
        let writer = try begin(body, isLengthKnown: isLengthKnown)
        try feed(writer, body, to: body.size)
        try commit(writer, body)
    }

    /// Stores small bodies, with the transactions that they share.
    func put(_ bodies: [Body]) throws {
        let writers = Writers(
            try bodies.map { body in
                let writer = try begin(body)
                try feed(writer, body, to: body.size)
                return (
                    writer, NewEntry(key: EntryKey(body.key), url: "http://test/\(body.key)", metadata: body.header)
                )
            })
        unpromise()
        let executor = BlockingExecutor(width: 1)
        defer { executor.close() }
        try wait {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in writers.all.indices {
                    group.addTask(executorPreference: executor) {
                        let (writer, entry) = writers.all[index]
                        _ = try await writer.commit(entry, on: executor)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    /// `@unchecked Sendable`: each writer is used by one task.
    private final class Writers: @unchecked Sendable {
        let all: [(BodyWriter, NewEntry)]
        init(_ all: [(BodyWriter, NewEntry)]) { self.all = all }
    }

    func begin(_ body: Body, isLengthKnown: Bool = true) throws -> BodyWriter {
        let writer = try store.beginBody(for: EntryKey(body.key))
        try writer.start(header: body.header, total: isLengthKnown ? Int64(body.size) : nil)
        return writer
    }

    /// Writes the missing bytes of the body, up to an end.
    func feed(_ writer: BodyWriter, _ body: Body, from start: Int = 0, to end: Int) throws {
        var position = start
        while position < end {
            let next = min(position + Self.piece, end)
            try body.bytes(position..<next).withUnsafeBytes { try writer.write($0) }
            position = next
            promise(writer, body)
        }
        try writer.endRange(complete: end == body.size)
        promise(writer, body)
    }

    private func promise(_ writer: BodyWriter, _ body: Body) {
        page.promisedKey = body.key
        page.promisedVersion = body.version
        page.promisedBytes = writer.availableEnd
    }

    func commit(_ writer: BodyWriter, _ body: Body) throws {
        page.isCommitting = true
        var entry = NewEntry(key: EntryKey(body.key), url: "http://test/\(body.key)", metadata: body.header)
        entry.isResumable = true
        _ = try writer.commit(entry)
        unpromise()
    }

    func unpromise() {
        page.promisedBytes = 0
        page.isCommitting = false
    }

    /// Resumes a partial body, writes the rest and commits it.
    func resume(_ body: Body) throws {
        let writer = try store.beginBody(for: EntryKey(body.key))
        if writer.held == nil { return try put(body) }
        // Bytes after a gap within one block are dropped when the gap is filled, so the ranges are queried each time.
        while let missing = writer.held?.missing.first {
            try writer.resume(at: missing.lowerBound, total: Int64(body.size))
            try feed(writer, body, from: Int(missing.lowerBound), to: min(body.size, Int(clamping: missing.upperBound)))
        }
        try commit(writer, body)
    }

    func entry(_ key: String) throws -> StoredEntry? { try store.entries(for: EntryKey(key)).first }

    /// Waits for asynchronous work.
    func wait(_ work: @escaping @Sendable () async throws -> Void) throws {
        let semaphore = DispatchSemaphore(value: 0)
        let failure = Box()
        Task.detached {
            do { try await work() } catch { failure.error = error }
            semaphore.signal()
        }
        semaphore.wait()
        if let error = failure.error { throw error }
    }

    /// `@unchecked Sendable`: written before the semaphore is signalled, read after.
    private final class Box: @unchecked Sendable { var error: (any Error)? }
}

/// A clock that may jump, by seconds or by years, forth or back, at every step.
///
/// `@unchecked Sendable`: only the session's thread changes it, without concurrent readers.
final class SteppingClock: @unchecked Sendable {
    private(set) var now = Date(timeIntervalSince1970: 1_700_000_000)
    private var generator: Random
    private let isStepping: Bool

    /// - Parameter seed: of its jumps; 0: there are none.
    init(seed: UInt64) {
        generator = Random(seed: seed)
        isStepping = seed != 0
    }

    func step() {
        guard isStepping else { return }
        let jumps: [Double] = [0, 1, -1, 3600, -3600, 86_400, -86_400, 400 * 86_400, -400 * 86_400]
        now += jumps[Int(generator.next() % UInt64(jumps.count))]
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
