import Dispatch
import Foundation
import ImageCache
import Synchronization

/// Makes thumbnails of many files, or measures calls that memory answers, or placeholders.
///
///     images-benchmark batch LIST OUTPUT-DIRECTORY
///     images-benchmark warm CACHE-DIRECTORY URL CALLS
///     images-benchmark placeholders FILE CALLS
@main
struct ImagesBenchmark {
    static func main() async throws {
        let arguments = CommandLine.arguments
        // The last argument of all but `batch`.
        let calls = arguments.last.flatMap { Int($0) } ?? 0
        switch (arguments.dropFirst().first, arguments.count) {
        case ("batch", 4): try batch(list: arguments[2], output: arguments[3])
        case ("warm", 5) where calls > 0: try await warm(directory: arguments[2], url: arguments[3], calls: calls)
        case ("placeholders", 4) where calls > 0: try placeholders(of: arguments[2], calls: calls)
        default:
            print(
                "usage: images-benchmark batch LIST OUTPUT-DIRECTORY | warm CACHE-DIRECTORY URL CALLS | placeholders FILE CALLS")
            exit(2)
        }
    }

    // MARK: Batch

    /// Each line's file, at most 256 pixels wide and high, as OUTPUT-DIRECTORY/NUMBER.jpg; two threads.
    static func batch(list: String, output: String) throws {
        let files = try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n").map(String.init)
        let next = Atomic(0)
        let failures = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 2) { _ in
            while true {
                let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
                guard number < files.count else { return }
                do {
                    let image = try ImageDecoder().decode(ImageSource(path: files[number]), to: .fit(256, 256))
                    let bytes = try ImageEncoder.jpeg(quality: 80).encode(image)
                    try Data(bytes).write(to: URL(fileURLWithPath: "\(output)/\(number).jpg"))
                } catch {
                    failures.withLock { $0.append("\(files[number]): \(error)") }
                }
            }
        }
        let failed = failures.withLock { $0 }
        guard failed.isEmpty else {
            FileHandle.standardError.write(Data((failed.joined(separator: "\n") + "\n").utf8))
            exit(1)
        }
    }

    // MARK: Warm

    /// Prints microseconds a call, wall and CPU, as JSON.
    static func warm(directory: String, url: String, calls: Int) async throws {
        let cache = try DownloadCache(directory: directory)
        let sizing = ImageSizing.fit(256, 256)
        let request = ImageRequest(url, sizing)
        _ = try await cache.thumbnail(for: request)
        var results: [String: [Double]] = [:]
        for _ in 0..<(calls / 10) { _ = try await cache.thumbnail(for: request) }
        results["thumbnail(for: request)"] = try await timed(calls) {
            guard try await cache.thumbnail(for: request).source == .memory else { throw NotFromMemory() }
        }
        results["thumbnail(for: url, resizedTo: sizing)"] = try await timed(calls) {
            guard try await cache.thumbnail(for: url, resizedTo: sizing).source == .memory else { throw NotFromMemory() }
        }
        _ = try await cache.image(for: request)
        results["image(for: request)"] = try await timed(calls) {
            guard try await cache.image(for: request).source == .memory else { throw NotFromMemory() }
        }
        await cache.close()
        print(String(decoding: try JSONEncoder().encode(results), as: UTF8.self))
    }

    struct NotFromMemory: Error {}

    // MARK: Placeholders

    /// Prints microseconds of CPU, as JSON: of the decode to the size from which placeholders are computed, and of each.
    static func placeholders(of path: String, calls: Int) throws {
        let source = try ImageSource(path: path)
        let image = try ImageDecoder().decode(source, to: .fit(100, 100))
        let results = [
            "decode": try cpu(calls) { try ImageDecoder().decode(source, to: .fit(100, 100)).width },
            "thumbHash": try cpu(calls) { try image.thumbHash.count },
            "blurHash": try cpu(calls) { try image.blurHash.utf8.count },
            "dominantColor": try cpu(calls) { try image.dominantColor == nil ? 0 : 1 },
        ]
        print(String(decoding: try JSONEncoder().encode(results), as: UTF8.self))
    }

    static func cpu(_ calls: Int, _ call: () throws -> Int) rethrows -> Double {
        let start = now(CLOCK_PROCESS_CPUTIME_ID)
        var total = 0
        for _ in 0..<calls { total += try call() }
        let taken = now(CLOCK_PROCESS_CPUTIME_ID) - start
        precondition(total > 0)
        return taken / Double(calls)
    }

    /// Microseconds a call: wall, and CPU of this process.
    static func timed(_ calls: Int, _ call: () async throws -> Void) async rethrows -> [Double] {
        let (wall, cpu) = (now(CLOCK_MONOTONIC), now(CLOCK_PROCESS_CPUTIME_ID))
        for _ in 0..<calls { try await call() }
        return [(now(CLOCK_MONOTONIC) - wall), (now(CLOCK_PROCESS_CPUTIME_ID) - cpu)].map { $0 / Double(calls) }
    }

    static func now(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }
}
