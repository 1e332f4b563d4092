import ArgumentParser
import FoundationEssentials
import RemoteStore
import Units

struct FleetCollectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gc",
        abstract: "Delete objects that nobody has written for long, and what killed machines have left behind.",
        discussion: "For stores that have no lifecycle rules (imgcache fleet init).")

    @OptionGroup var bucket: BucketOptions

    @Option(
        help: ArgumentHelp(
            "Delete responses, images and parts that were stored longer ago than this (default: 30d). Leases and probes go after a day.",
            valueName: "time"))
    var olderThan: TimeSpan?

    @Flag(help: "Report the objects to be deleted, without deleting them.")
    var dryRun = false

    @OptionGroup var format: FormatOptions

    private struct Report: Encodable {
        var deleted = ObjectCount()
        var kept = ObjectCount()
        var dryRun: Bool

        private enum CodingKeys: String, CodingKey {
            case deleted, kept
            case dryRun = "dry_run"
        }
    }

    private static let day = 86_400.0

    func run() async throws {
        let age = olderThan?.duration.inSeconds ?? 30 * Self.day
        try await withBucket(bucket) { bucket in
            let now = Date()
            var report = Report(dryRun: dryRun)
            try await bucket.pages { page throws(Failure) in
                for (object, kind) in page {
                    let limit = Self.limit(of: kind, age)
                    guard let modified = object.modified, now.timeIntervalSince(modified) > limit else {
                        report.kept.add(object)
                        continue
                    }
                    if !dryRun {
                        try await bucket.run { () async throws(RemoteError) in try await bucket.tier.delete(object.key)
                        }
                    }
                    report.deleted.add(object)
                }
            }
            if format.json { return try Output.json(report) }
            Output.line(
                "\(dryRun ? "would delete" : "deleted") \(report.deleted.objects) objects, \(ByteSize(report.deleted.bytes)); "
                    + "kept \(report.kept.objects)")
        }
    }

    /// The age in seconds after which objects of a class are deleted.
    private static func limit(of kind: ObjectClass, _ age: Double) -> Double {
        switch kind {
        case .responses, .images, .parts: age
        case .leases, .probes: min(age, day)
        // Tombstones and log entries must outlive the objects that they invalidate.
        case .others: age + 30 * day
        }
    }
}
