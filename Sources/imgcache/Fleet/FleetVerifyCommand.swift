import ArgumentParser
import RemoteStore
import Units

struct FleetVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Read every object and check its SHA-256 and its key; exit code 5 if one is wrong.")

    @OptionGroup var bucket: BucketOptions

    @Flag(help: "Delete damaged objects.")
    var delete = false

    @OptionGroup var format: FormatOptions

    private struct Report: Encodable {
        var checked = 0
        var bytes: Int64 = 0
        /// The keys of damaged objects.
        var damaged: [String] = []
        var deleted = 0
    }

    /// The number of objects that are read in parallel.
    private static let width = 4

    func run() async throws {
        try await withBucket(bucket) { bucket in
            var report = Report()
            try await bucket.pages { page throws(Failure) in
                for start in stride(from: 0, to: page.count, by: Self.width) {
                    let some = Array(page[start..<min(start + Self.width, page.count)])
                    try await check(some, in: bucket, &report)
                }
            }
            if format.json {
                try Output.json(report)
            } else {
                Output.line(
                    "checked \(report.checked) objects, \(ByteSize(report.bytes)); \(report.damaged.count) damaged, "
                        + "\(report.deleted) deleted")
            }
            guard report.damaged.count == report.deleted else {
                throw Failure(.wrongBytes, "\(report.damaged.count) damaged; --delete deletes them")
            }
        }
    }

    private func check(
        _ objects: [(RemoteListing, ObjectClass)], in bucket: SharedBucket, _ report: inout Report
    ) async throws(Failure) {
        let results = await withTaskGroup(of: (RemoteListing, Result<Bool, RemoteError>).self) { group in
            for (object, kind) in objects {
                group.addTask {
                    do throws(RemoteError) {
                        return (object, .success(try await Self.isSound(object, kind, bucket)))
                    } catch { return (object, .failure(error)) }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        for (object, result) in results.sorted(by: { $0.0.key < $1.0.key }) {
            let isSound = try await bucket.run { () throws(RemoteError) in try result.get() }
            report.checked += 1
            report.bytes += object.size
            if !isSound { try await note(object.key, in: bucket, &report) }
        }
    }

    /// Returns true for a valid object, or one that no longer exists.
    private static func isSound(
        _ object: RemoteListing, _ kind: ObjectClass, _ bucket: SharedBucket
    ) async throws(RemoteError) -> Bool {
        do throws(RemoteError) {
            guard let bytes = try await bucket.tier.get(object.key) else { return true }
            return kind.isSound(bytes, at: object.key)
        } catch {
            switch error {
            case .damaged, .tooLong: return false
            default: throw error
            }
        }
    }

    private func note(_ key: String, in bucket: SharedBucket, _ report: inout Report) async throws(Failure) {
        report.damaged.append(key)
        if !format.json { Output.line("damaged  \(key.forTerminal)") }
        guard delete else { return }
        try await bucket.run { () async throws(RemoteError) in try await bucket.tier.delete(key) }
        report.deleted += 1
    }
}
