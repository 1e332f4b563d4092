import FoundationEssentials
import Glibc
import HTTPCaching
import HTTPTypes

/// The duration of one caching decision: microseconds of processor time at the median and the 99th percentile of batches, for a typical response,
/// and by how much the process's peak memory grew over 100,000 of them.
@main
struct DecisionBenchmark {
    static let now = Date(timeIntervalSince1970: 1_767_225_600)

    static let responseFields: HTTPFields = [
        .date: HTTPDate.format(now - 30), .server: "nginx/1.26.2", .contentType: "image/jpeg", .contentLength: "48213",
        .lastModified: HTTPDate.format(now - 864_000), .eTag: "\"5f3c1a2b-bc55\"",
        .cacheControl: "public, max-age=3600, stale-while-revalidate=60",
        .expires: HTTPDate.format(now + 3600), .age: "12", .vary: "Accept-Encoding", .acceptRanges: "bytes",
        .strictTransportSecurity: "max-age=63072000; includeSubDomains; preload", .xContentTypeOptions: "nosniff",
        .accessControlAllowOrigin: "*",
    ]
    static let requestFields: HTTPFields = [
        .accept: "image/avif,image/webp,image/*,*/*;q=0.8", .acceptEncoding: "gzip, br", .userAgent: "imgcache/1.0",
    ]
    static let url = "https://example.org/images/2026/picture-large.jpg?width=640"

    static func main() {
        let rules = CacheRules(mode: .private)
        let request = CacheRequest(url: url, fields: requestFields)
        let response = HTTPResponse(status: .ok, headerFields: responseFields)
        let stored = rules.stored(
            response, to: request, requestTime: now - 30, responseTime: now - 30, bodyLength: 48_213)
        var conditional = request
        conditional.fields[.ifNoneMatch] = "\"5f3c1a2b-bc55\""
        let shared = CacheRules(mode: .shared)

        measure("decide: fresh") { rules.decide(request, stored: [stored], now: now).isServed }
        measure("decide: stale, validate") { rules.decide(request, stored: [stored], now: now + 9000).isServed }
        measure("decide: stale while revalidating") {
            rules.decide(request, stored: [stored], now: now + 3610).isServed
        }
        measure("decide: client's own condition") { rules.decide(conditional, stored: [stored], now: now).isServed }
        measure("decide: fresh, shared cache") { shared.decide(request, stored: [stored], now: now).isServed }
        measure("decide: three candidates") {
            rules.decide(request, stored: [stored, stored, stored], now: now).isServed
        }
        measure("storability") { rules.storability(of: response, to: request, receivedAt: now).isStorable }
        measure("freshened by a 304") {
            rules.freshened(stored, by: responseFields, requestTime: now, responseTime: now).isComplete
        }
        measure("key URL") { rules.keyURL(of: url).isEmpty }
    }

    static func measure(_ name: String, _ body: () -> Bool) {
        let batch = 200
        var times: [Double] = []
        var results = 0
        for _ in 0..<2000 where body() { results += 1 }
        times.reserveCapacity(500)
        let before = peakMemory
        for _ in 0..<500 {
            let start = processorTime
            for _ in 0..<batch where body() { results += 1 }
            times.append((processorTime - start) / Double(batch))
        }
        let growth = peakMemory - before
        times.sort()
        print(
            "\(name): median \(rounded(times[250])) µs, p99 \(rounded(times[495])) µs, peak memory +\(growth) KiB (\(results))"
        )
    }

    /// This thread's processor time in microseconds: what others do on the machine does not count.
    static var processorTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }

    /// The greatest resident size so far, in KiB.
    static var peakMemory: Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_maxrss
    }

    static func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }
}

extension CacheDecision {
    fileprivate var isServed: Bool {
        switch self {
        case .serve, .serveAndRevalidate: true
        default: false
        }
    }
}
