import ArgumentParser
import RemoteStore
import Units

struct FleetStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Try the bucket, and count its objects and bytes by class; exit code 3 or 4 if it cannot be used.")

    @OptionGroup var bucket: BucketOptions
    @OptionGroup var format: FormatOptions

    private struct Report: Encodable {
        var honoursConditions: Bool
        var probeSeconds: Double
        /// `nil` if the store does not report it.
        var expires: Bool?
        var classes: [String: ObjectCount]

        private enum CodingKeys: String, CodingKey {
            case expires, classes
            case honoursConditions = "honours_conditions"
            case probeSeconds = "probe_seconds"
        }
    }

    func run() async throws {
        try await withBucket(bucket) { bucket in
            let began = ContinuousClock.now
            let outcome = try await bucket.run { () async throws(RemoteError) in
                try await RemoteProbe(bucket.tier).outcome()
            }
            let time = ContinuousClock.now - began
            var counts: [ObjectClass: ObjectCount] = [:]
            try await bucket.pages { page throws(Failure) in
                for (object, kind) in page { counts[kind, default: ObjectCount()].add(object) }
            }
            // Some stores have no lifecycle rules, and some credentials cannot read them.
            let rules = try? await bucket.tier.lifecycle()
            let prefix = bucket.location.prefix + ObjectClass.responses.prefix
            let report = Report(
                honoursConditions: outcome == .honoursConditions,
                probeSeconds: time.inSeconds,
                expires: rules.map { $0.hasRule(forPrefix: prefix) },
                classes: Dictionary(counts.map { ($0.key.word, $0.value) }, uniquingKeysWith: { first, _ in first }))
            if format.json { return try Output.json(report) }
            tell(report, counts, bucket)
        }
    }

    private func tell(_ report: Report, _ counts: [ObjectClass: ObjectCount], _ bucket: SharedBucket) {
        let milliseconds = Int(report.probeSeconds * 1000)
        Output.line("endpoint    \(bucket.location.endpoint.forTerminal)")
        Output.line("writable    yes; two uploads and a deletion took \(milliseconds) ms")
        Output.line("conditions  \(report.honoursConditions ? "honoured" : "ignored: no leases")")
        let expiry = report.expires.map { $0 ? "lifecycle rules are set" : "none: run imgcache fleet init" }
        Output.line("expiry      \(expiry ?? "unknown: the lifecycle rules cannot be read")")
        for kind in ObjectClass.allCases {
            guard let count = counts[kind] else { continue }
            let name = kind.word.leftAligned(in: 12)
            Output.line("\(name)\(count.objects) objects, \(ByteSize(count.bytes))")
        }
        if counts.isEmpty { Output.line("objects     none") }
    }
}
