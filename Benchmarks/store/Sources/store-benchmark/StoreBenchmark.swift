import ConcurrencyPrimitives
import DiskStore
import Foundation

/// Fills a store, or measures one operation after the other on it and prints them as JSON.
///
///     store-benchmark fill DIRECTORY COUNT [BYTES]
///     store-benchmark measure DIRECTORY COUNT [OPERATION…]
///     store-benchmark space DIRECTORY COUNT BYTES
@main
struct StoreBenchmark {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 4, let count = Int(arguments[3]) else { usage() }
        let directory = arguments[2]
        switch arguments[1] {
        case "fill": try await Filling(directory, bytes: arguments.dropFirst(4).first.flatMap(Int.init)).run(count)
        case "measure": try await measure(directory, count, Set(arguments.dropFirst(4)))
        case "space":
            guard arguments.count == 5, let bytes = Int(arguments[4]) else { usage() }
            try printSpace(directory, content: Double(count) * Double(bytes))
        default: usage()
        }
    }

    static func usage() -> Never {
        print(
            "usage: store-benchmark fill DIRECTORY COUNT [BYTES] | measure DIRECTORY COUNT | space DIRECTORY COUNT BYTES"
        )
        exit(2)
    }

    /// Measures all operations, or those that are named.
    static func measure(_ directory: String, _ count: Int, _ names: Set<String>) async throws {
        var results: [String: [Double]] = [:]
        for operation in Operation.all where names.isEmpty || names.contains(operation.name) {
            results.merge(try await operation.run(directory, count)) { $1 }
        }
        results["memory"] = [PeakMemory.now, 0]
        print(String(decoding: try JSONEncoder().encode(results), as: UTF8.self))
    }

    /// Bytes on disk for each byte of content: all, and the index alone for each entry.
    static func printSpace(_ directory: String, content: Double) throws {
        let store = try Filling.open(directory)
        let statistics = try store.statistics()
        store.close()
        let index = try FileManager.default.attributesOfItem(atPath: directory + "/index.sqlite")[.size] as? Int ?? 0
        let space = [
            "bodies": Double(statistics.bodyBytes) / content,
            "all": (Double(statistics.bodyBytes) + Double(index)) / content,
            "index bytes an entry": Double(index) / Double(statistics.entries),
        ]
        print(String(decoding: try JSONEncoder().encode(space), as: UTF8.self))
    }
}
