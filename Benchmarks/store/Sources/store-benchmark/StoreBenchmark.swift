import Foundation
import ImageCache

/// Fills a store, or measures one operation after the other on it and prints them as JSON.
///
///     store-benchmark fill DIRECTORY COUNT
///     store-benchmark measure DIRECTORY COUNT
@main
struct StoreBenchmark {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 4, let count = Int(arguments[3]) else {
            print("usage: store-benchmark fill DIRECTORY COUNT | measure DIRECTORY COUNT")
            exit(2)
        }
        switch arguments[1] {
        case "fill": try fill(arguments[2], count)
        default: try measure(arguments[2], count)
        }
    }

    static func open(_ directory: String) throws -> DiskStore {
        try DiskStore(directory: directory, configuration: StoreConfiguration(capacity: 1 << 40))
    }

    /// 400 bytes, about what a response's stored fields take.
    static let metadata = (0..<400).map { UInt8(truncatingIfNeeded: $0) }
    static let body = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    static func key(_ name: String) -> EntryKey {
        EntryKey("GET https://images.example.org/library/\(name)/original.jpg")
    }

    static func commit(_ store: DiskStore, _ key: EntryKey) throws {
        let writer = try store.beginBody(for: key)
        try writer.start(header: metadata, total: Int64(body.count))
        try body.withUnsafeBytes { try writer.write($0) }
        _ = try writer.commit(NewEntry(key: key, url: key.value, metadata: metadata))
    }

    static func fill(_ directory: String, _ count: Int) throws {
        let store = try open(directory)
        for number in Int(try store.statistics().entries)..<count { try commit(store, key("\(number)")) }
        store.close()
    }

    static func measure(_ directory: String, _ count: Int) throws {
        var results: [String: [Double]] = [:]

        // A process's first look-up, from nothing; the first one here also pays for what only a new process pays.
        var opens: [[Double]] = []
        for attempt in 0..<15 {
            opens.append(
                try timed(1) {
                    let store = try open(directory)
                    _ = try store.entries(for: key("\(attempt)"))
                    store.close()
                })
        }
        opens.sort { $0[0] < $1[0] }
        results["open"] = opens[opens.count / 2]

        let store = try open(directory)
        var random = SystemRandomNumberGenerator()
        let keys = (0..<20_000).map { _ in key("\(Int.random(in: 0..<count, using: &random))") }

        for key in keys.prefix(2000) { _ = try store.entries(for: key) }
        results["look-up"] = try timed(keys.count) {
            for key in keys where try store.entries(for: key).isEmpty { throw Missing() }
        }
        results["hit: look-up, open, touch"] = try timed(5000) {
            for key in keys.prefix(5000) {
                guard let entry = try store.entries(for: key).first, try store.open(entry) != nil else {
                    throw Missing()
                }
                try store.touch(entry)
            }
        }
        // The oldest go and come again as the newest, so that the store keeps its size and its keys.
        let changes = min(count / 4, 1000)
        var (evicted, committed) = ([0.0, 0.0], [0.0, 0.0])
        let steps = 4000 / changes
        for _ in 0..<steps {
            var oldest: [EntryKey] = []
            try store.list(by: .age) {
                oldest.append($0.key)
                return oldest.count < changes
            }
            let bytes = try store.statistics().bodyBytes
            let removed = try timed(changes * steps) {
                let result = try store.prune(to: bytes - Int64(changes) * 4096)
                if result.entries != changes { throw Missing() }
            }
            let stored = try timed(changes * steps) { for key in oldest { try commit(store, key) } }
            for clock in 0..<2 {
                evicted[clock] += removed[clock]
                committed[clock] += stored[clock]
            }
        }
        results["commit"] = committed
        results["evict"] = evicted
        store.close()
        results["memory"] = [peakMemory(), 0]
        print(String(decoding: try JSONEncoder().encode(results), as: UTF8.self))
    }

    struct Missing: Error {}

    /// Microseconds an operation: wall, and CPU of this process.
    static func timed(_ operations: Int, _ body: () throws -> Void) rethrows -> [Double] {
        let (wall, cpu) = (now(CLOCK_MONOTONIC), now(CLOCK_PROCESS_CPUTIME_ID))
        try body()
        return [(now(CLOCK_MONOTONIC) - wall), (now(CLOCK_PROCESS_CPUTIME_ID) - cpu)].map { $0 / Double(operations) }
    }

    static func now(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }

    /// KiB.
    static func peakMemory() -> Double {
        var usage = rusage()
        getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
        return Double(usage.ru_maxrss)
    }
}
