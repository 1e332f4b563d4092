import ArgumentParser
import RemoteStore

struct FleetInitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Write the bucket's lifecycle rules for the prefix, so that objects expire. Rules of others are kept."
    )

    @OptionGroup var bucket: BucketOptions

    @Option(help: ArgumentHelp("The days after which responses and images expire.", valueName: "n"))
    var days = 30

    @OptionGroup var format: FormatOptions

    private struct Report: Encodable {
        var written: [String: Int]
        var kept: Int
    }

    func validate() throws {
        guard (1...3650).contains(days) else { throw ValidationError("--days must be from 1 to 3650.") }
    }

    func run() async throws {
        try await withBucket(bucket) { bucket in
            let expiries = ObjectClass.allCases.map {
                LifecycleRules.Expiry(prefix: bucket.location.prefix + $0.prefix, days: $0.lifetime(days: days))
            }
            var rules = try await bucket.run { () async throws(RemoteError) in try await bucket.tier.lifecycle() }
            let kept = rules.count - expiries.count { rules.hasRule(forPrefix: $0.prefix) }
            rules.set(expiries)
            let written = rules
            try await bucket.run { () async throws(RemoteError) in try await bucket.tier.setLifecycle(written) }
            if format.json {
                let days = Dictionary(expiries.map { ($0.prefix, $0.days) }, uniquingKeysWith: { first, _ in first })
                return try Output.json(Report(written: days, kept: kept))
            }
            for expiry in expiries {
                Output.line(
                    "\(expiry.prefix.forTerminal)  expires after \(expiry.days) day\(expiry.days == 1 ? "" : "s")")
            }
            if kept > 0 { Output.line("kept \(kept) other rule\(kept == 1 ? "" : "s")") }
        }
    }
}
