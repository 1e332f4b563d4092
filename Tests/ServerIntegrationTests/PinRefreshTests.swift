import Foundation
import TestSupport
import Testing

/// Pins while a service runs.
@Suite(.timeLimit) struct PinRefreshTests {
    @Test func `the service refreshes a pinned set at its interval`() async throws {
        let origin = try ScriptedOrigin { request in
            Behaviour(Representation(seed: 1, size: 20_000)).script(for: request)
        }
        let directory = try TestDirectory()
        let command = CommandRunner(cacheDirectory: directory.path("cache"), workingDirectory: directory.path)
        let pinned = try await command.run(["pin", "trip", "--interval", "1s", origin.url("/a")])
        #expect(pinned.ending == .exited(0), "\(pinned)")
        #expect(origin.requests.count == 1)
        let server = try await ServerProcess(origin: origin.url(""), directory: directory)
        // A request is recorded before its response is chosen.
        #expect(await origin.waits { $0.compactMap(\.status).count >= 4 })
        #expect(origin.requests.dropFirst().compactMap(\.status).allSatisfy { $0 == 304 })
        withExtendedLifetime(server) {}
    }
}
