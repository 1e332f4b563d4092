import Foundation
import TestSupport
import Testing

/// `--limit-rate` holds whatever the origin's speed.
@Suite(.fewAtATime) struct RateTests {
    private let work: TestWorkspace

    init() throws {
        work = try TestWorkspace()
    }

    /// Bytes that the partial of a URL holds.
    private func received(_ url: String) async throws -> Int64 {
        let info = try await work.run("info", "--json", url)
        let partial = info.objects.first?["partial"] as? [String: any Sendable]
        return (partial?["received"] as? NSNumber)?.int64Value ?? 0
    }

    @Test func `a fast origin does not pass the limit, and neither does the run that resumes`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 21, size: 20_000_000), sendBuffer: nil)
        let arguments = ["fetch", "--limit-rate", "400000", "-m", "2", "--retry", "0", origin.url()]
        var before: Int64 = 0
        for _ in 0..<2 {
            let outcome = try await work.command.run(arguments)
            #expect(outcome.ending == .exited(3), "\(outcome)")
            let now = try await received(origin.url())
            // 2 seconds at 400 kB, and half as much again for whatever the machine does meanwhile.
            #expect(now > before && now - before <= 1_200_000, "\(now - before)")
            before = now
        }
    }
}
