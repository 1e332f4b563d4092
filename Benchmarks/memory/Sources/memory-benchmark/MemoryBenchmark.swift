import Foundation

/// Measures one cache and prints the figures as JSON.
///
///     memory-benchmark imgcache|nscache|dictionary|bare
///     memory-benchmark hits
///
/// `hits` compares hits of the first with those of `dictionary`, in turns.
@main
struct MemoryBenchmark {
    static func main() throws {
        switch CommandLine.arguments.dropFirst().first {
        case "imgcache": try measure(Ours.self)
        case "nscache": try measure(Foundations.self)
        case "dictionary": try measure(Dictionaries.self)
        case "bare": try measure(Bare.self)
        case "hits": try compareHits(turns: 60)
        default:
            print("usage: memory-benchmark imgcache|nscache|dictionary|bare|hits")
            exit(2)
        }
    }

    static func measure<Cache: Contender>(_ type: Cache.Type) throws {
        var results: [String: [Double]] = [:]
        let image = Image()
        let entries = 10_000

        // The memory of an entry besides its value and the characters of its URL, which exist before. First of all, as
        // nothing has been freed yet that it could use.
        let full = Cache(capacity: 2_000_000)
        let before = residentBytes()
        for key in 0..<200_000 { full.insert(image, key) }
        results["overhead"] = [(residentBytes() - before) / 200_000]
        guard full.find(0) else { throw Missing() }

        let warm = Cache(capacity: 2 * entries)
        for key in 0..<entries { warm.insert(image, key) }
        var random = SystemRandomNumberGenerator()
        let orders = (0..<2).map { _ in (0..<500_000).map { _ in Int.random(in: 0..<entries, using: &random) } }
        let rounds = 6
        for threads in 1...2 {
            var misses = 0
            // Of the wall clock, and of the processor: what each thread would do that nobody else disturbs.
            let time = timed(threads * rounds * orders[0].count) {
                misses = inThreads(threads) { thread in
                    (0..<rounds).reduce(0) { misses, _ in
                        orders[thread].reduce(misses) { warm.find($1) ? $0 : $0 + 1 }
                    }
                }
            }
            results["hits \(threads)"] = time.map { 1e6 / $0 }
            guard misses == 0 else { throw Missing() }
        }

        // New entries, and their removal, per entry.
        let filling = Cache(capacity: 2_000_000)
        results["insert"] = timed(1_000_000) { for key in 0..<1_000_000 { filling.insert(image, key) } }
        results["remove"] = timed(1_000_000) { for key in 0..<1_000_000 { filling.remove(key) } }

        // 10,000 of 20,000 entries go, with a value of their own each; per entry. The median of nine.
        var purges: [[Double]] = []
        for _ in 0..<9 {
            let cache = Cache(capacity: 3 * entries)
            for key in 0..<2 * entries { cache.insert(Image(), key) }
            purges.append(timed(1) { cache.purge(leaving: entries) })
        }
        results["purge"] = purges.sorted { $0[1] < $1[1] }[4]

        print(String(decoding: try JSONEncoder().encode(results), as: UTF8.self))
    }

    /// Prints the millions of hits a CPU second of both, and their ratio: medians over turns of 200,000 hits each, which come so soon after
    /// one another that other work on the machine disturbs both.
    static func compareHits(turns: Int) throws {
        let (image, entries) = (Image(), 10_000)
        let (ours, dictionary) = (Ours(capacity: 2 * entries), Dictionaries(capacity: 2 * entries))
        for key in 0..<entries {
            ours.insert(image, key)
            dictionary.insert(image, key)
        }
        let order = (0..<200_000).map { _ in Int.random(in: 0..<entries) }
        var (rates, ratios): ([[Double]], [Double]) = ([[], []], [])
        var misses = 0
        for turn in 0..<turns {
            var times = [0.0, 0.0]
            for number in [turn % 2, 1 - turn % 2] {
                times[number] =
                    timed(order.count) {
                        for key in order where !(number == 0 ? ours.find(key) : dictionary.find(key)) { misses += 1 }
                    }[1]
                rates[number].append(1 / times[number])
            }
            ratios.append(times[1] / times[0])
        }
        guard misses == 0 else { throw Missing() }
        let results = ["imgcache": rates[0], "dictionary": rates[1], "ratio": ratios]
        let medians = results.mapValues { [$0.sorted()[turns / 2]] }
        print(String(decoding: try JSONEncoder().encode(medians), as: UTF8.self))
    }

    struct Missing: Error {}

    static func inThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Int) -> Int {
        let results = (0..<count).map { _ in Box() }
        let threads = (0..<count).map { number in
            let thread = Thread { results[number].finish(body(number)) }
            thread.start()
            return thread
        }
        _ = threads
        return results.reduce(0) { $0 + $1.wait() }
    }

    /// A thread's result. `@unchecked Sendable`: written before the semaphore is signalled, read after it.
    final class Box: @unchecked Sendable {
        private let done = DispatchSemaphore(value: 0)
        private var result = 0
        func finish(_ result: Int) {
            self.result = result
            done.signal()
        }
        func wait() -> Int {
            done.wait()
            return result
        }
    }

    /// Microseconds an operation: wall, and CPU of this process.
    static func timed(_ operations: Int, _ body: () -> Void) -> [Double] {
        let (wall, cpu) = (now(CLOCK_MONOTONIC), now(CLOCK_PROCESS_CPUTIME_ID))
        body()
        return [(now(CLOCK_MONOTONIC) - wall), (now(CLOCK_PROCESS_CPUTIME_ID) - cpu)].map { $0 / Double(operations) }
    }

    static func now(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }

    static func residentBytes() -> Double {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0
        return pages * Double(getpagesize())
    }
}
