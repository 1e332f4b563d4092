import FoundationEssentials
import Units

/// The summary of a run, for `--report`.
struct RunReport: Encodable {
    /// The number of files requested.
    var files = 0
    /// The number of files present at the end of the run.
    var arrived = 0
    var failed = 0
    var notBegun = 0
    /// The total size of the files present at the end of the run, in bytes.
    var bytes: Int64 = 0
    /// The number of body bytes received from the network.
    var bytesTransferred: Int64 = 0
    /// The number of bytes that earlier runs had received.
    var bytesResumed: Int64 = 0
    var seconds = 0.0
    var exitCode: Int32 = 0
    /// The number of files from each source, by the values of `source` in `--json`.
    var sources: [String: Int] = [:]
    /// The number of failures of each kind, by the values of `kind` in `--json`.
    var kinds: [String: Int] = [:]

    private enum CodingKeys: String, CodingKey {
        case files, arrived, failed, bytes, seconds, sources, kinds
        case notBegun = "not_begun"
        case bytesTransferred = "bytes_transferred"
        case bytesResumed = "bytes_resumed"
        case exitCode = "exit_code"
    }

    mutating func add(_ result: FetchResult) {
        bytesTransferred += result.bytesTransferred
        guard result.exitStatus == .done else {
            failed += 1
            kinds[result.kind ?? "other", default: 0] += 1
            return
        }
        arrived += 1
        bytes += result.size ?? 0
        bytesResumed += result.resumedFrom
        sources[result.source ?? "other", default: 0] += 1
    }

    /// One line for the user.
    var summary: String {
        var parts: [String] = []
        if files > 1 { parts.append("\(arrived) of \(files) files") }
        let rate = seconds > 0 ? " (\(ByteSize(Int64(Double(bytesTransferred) / seconds)))/s)" : ""
        parts.append("\(ByteSize(bytesTransferred)) in \(TimeSpan(seconds: max(1, seconds.rounded())))\(rate)")
        if bytesResumed > 0 { parts.append("\(ByteSize(bytesResumed)) from earlier runs") }
        if failed > 0 { parts.append("\(failed) failed") }
        return parts.joined(separator: ", ")
    }

    var text: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return (try? Array(encoder.encode(self)) + [UInt8(ascii: "\n")]) ?? []
    }
}
