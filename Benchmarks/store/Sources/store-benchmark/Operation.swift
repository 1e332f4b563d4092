import ConcurrencyPrimitives
import DiskStore
import Foundation

/// An operation that is measured: microseconds of wall time and of CPU each.
struct Operation: Sendable {
    let name: String
    /// Measures it on a store with a number of entries, which has the same ones afterwards.
    let run: @Sendable (_ directory: String, _ count: Int) async throws -> [String: [Double]]

    static let all = [
        Operation(name: "open", run: open), Operation(name: "look-up", run: lookUp), Operation(name: "hit", run: hit),
        Operation(name: "confirm", run: confirm), Operation(name: "change", run: change),
    ]

    struct Missing: Error {}

    /// A process's first look-up, from nothing; the first one here also pays for what only a new process pays.
    private static func open(_ directory: String, _ count: Int) throws -> [String: [Double]] {
        var opens: [[Double]] = []
        for attempt in 0..<15 {
            opens.append(
                try timed(1) {
                    let store = try Filling.open(directory)
                    _ = try store.entries(for: Filling.key(attempt))
                    store.close()
                })
        }
        opens.sort { $0[0] < $1[0] }
        return ["open": opens[opens.count / 2]]
    }

    private static func randomKeys(_ number: Int, of count: Int) -> [EntryKey] {
        (0..<number).map { _ in Filling.key(Int.random(in: 0..<count)) }
    }

    private static func lookUp(_ directory: String, _ count: Int) throws -> [String: [Double]] {
        let store = try Filling.open(directory)
        defer { store.close() }
        let keys = randomKeys(40_000, of: count)
        for key in keys.prefix(20_000) { _ = try store.entries(for: key) }
        return [
            "look-up": try timed(20_000) {
                for key in keys.dropFirst(20_000) where try store.entries(for: key).isEmpty { throw Missing() }
            }
        ]
    }

    private static func hit(_ directory: String, _ count: Int) throws -> [String: [Double]] {
        let store = try Filling.open(directory)
        defer { store.close() }
        let keys = randomKeys(6000, of: count)
        func hit(_ key: EntryKey) throws {
            guard let entry = try store.entries(for: key).first, try store.open(entry) != nil else { throw Missing() }
            try store.touch(entry)
        }
        for key in keys.prefix(1000) { try hit(key) }
        return ["hit": try timed(5000) { for key in keys.dropFirst(1000) { try hit(key) } }]
    }

    /// What a 304 does, several at the same time.
    private static func confirm(_ directory: String, _ count: Int) async throws -> [String: [Double]] {
        let store = try Filling.open(directory)
        defer { store.close() }
        let executor = BlockingExecutor(width: 2)
        defer { executor.close() }
        let keys = randomKeys(6000, of: count)
        let filling = Filling(directory)
        try await filling.confirmTogether(store, Array(keys.prefix(1000)), on: executor)
        return [
            "confirm": try await timed(5000) {
                try await filling.confirmTogether(store, Array(keys.dropFirst(1000)), on: executor)
            }
        ]
    }

    /// The oldest go and come again as the newest, so that the store keeps its size and its keys.
    private static func change(_ directory: String, _ count: Int) async throws -> [String: [Double]] {
        let store = try Filling.open(directory)
        defer { store.close() }
        let filling = Filling(directory)
        let executor = BlockingExecutor(width: 2)
        defer { executor.close() }
        let names = ["evict", "commit", "commit together"]
        let changes = min(count / 4, 1000)
        let steps = 8000 / changes
        var sums = Array(repeating: [0.0, 0.0], count: names.count)
        func add(_ index: Int, _ share: Int, _ times: [Double]) {
            for clock in 0..<2 { sums[index][clock] += times[clock] / Double(share) }
        }
        for step in 0..<steps {
            let keys = try oldest(changes, in: store)
            let bytes = try store.statistics().bodyBytes
            // What is evicted is on the disk by then, also in a small store.
            sync()
            add(
                0, steps,
                try timed(changes) {
                    if try store.prune(to: bytes - Int64(changes) * 4096).entries != changes { throw Missing() }
                })
            if step % 2 == 0 {
                add(1, steps / 2, try timed(changes) { try filling.commit(store, keys) })
            } else {
                add(
                    2, steps / 2,
                    try await timed(changes) {
                        try await filling.commitTogether(store, keys, on: executor)
                    })
            }
        }
        return Dictionary(uniqueKeysWithValues: zip(names, sums))
    }

    private static func oldest(_ number: Int, in store: DiskStore) throws -> [EntryKey] {
        // A listing has the numbers of all entries in memory.
        let memory = PeakMemory.now
        defer { PeakMemory.reset(to: memory) }
        var keys: [EntryKey] = []
        try store.list(by: .age) {
            keys.append($0.key)
            return keys.count < number
        }
        return keys
    }
}

/// Microseconds an operation: wall, and CPU of this process.
private func timed(_ operations: Int, _ body: () throws -> Void) rethrows -> [Double] {
    let start = clocks()
    try body()
    return zip(clocks(), start).map { ($0 - $1) / Double(operations) }
}

private func timed(_ operations: Int, _ body: () async throws -> Void) async rethrows -> [Double] {
    let start = clocks()
    try await body()
    return zip(clocks(), start).map { ($0 - $1) / Double(operations) }
}

private func clocks() -> [Double] {
    [CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID].map { clock in
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }
}

/// The greatest memory of this process so far, without what is not measured.
enum PeakMemory {
    nonisolated(unsafe) private static var before = 0.0

    /// KiB.
    static var now: Double {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
        return max(before, line.split(separator: " ").compactMap { Double($0) }.first ?? 0)
    }

    static func reset(to peak: Double) {
        before = peak
        // 5: the peak is the present size again (proc(5)).
        let file = fopen("/proc/self/clear_refs", "w")
        fputs("5", file)
        fclose(file)
    }
}
