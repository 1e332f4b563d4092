import Foundation
import Glibc
import TestSupport
import Testing

/// A real server over each version of HTTP, with and without TLS: killed and cut anywhere, the file is right, and what
/// arrived is not fetched again.
@Suite(
    .fewAtATime(limit: .seconds(120)),
    .enabled(if: Nginx.unavailableReason == nil, "\(Nginx.unavailableReason ?? "")"))
struct WireTests {
    private let work: TestWorkspace
    private let content = Content(seed: 83, size: 5_000_000)

    init() throws {
        work = try TestWorkspace()
    }

    private func nginx(over wire: Wire, bytesPerSecond: Int? = nil) async throws -> Nginx {
        var options = Nginx.Options()
        options.bytesPerSecond = bytesPerSecond
        try await wire.apply(to: &options)
        let nginx = try await Nginx(options)
        try nginx.serve(content, as: "file.bin")
        return nginx
    }

    @Test(arguments: Wire.allCases)
    func `a download that is killed at any moment completes when it is run again`(wire: Wire) async throws {
        var generator = SeededGenerator(for: "WireTests, kills, \(wire)")
        let nginx = try await nginx(over: wire, bytesPerSecond: 20_000_000)
        var kills = 0
        while kills < Soak.count("IMGCACHE_SOAK_WIRE_KILLS", usual: 6) {
            let process = try work.command.start(["fetch"] + nginx.trust + [nginx.url("/file.bin")])
            // The kill comes at a random moment.
            try await Task.sleep(for: .microseconds(Int.random(in: 0...350_000, using: &generator)))
            process.send(signal: SIGKILL)
            let outcome = await CommandRunner.outcome(of: process)
            if outcome.ending == .signaled(SIGKILL) {
                kills += 1
                continue
            }
            #expect(outcome.ending == .exited(0), "\(outcome)")
            #expect(content.equalsFile(at: outcome.lines.first ?? ""), "after \(kills) kills")
            _ = try await work.run("clear")
        }
        let last = try await work.command.run(["fetch"] + nginx.trust + [nginx.url("/file.bin")])
        #expect(last.ending == .exited(0), "\(last)")
        #expect(content.equalsFile(at: last.lines.first ?? ""))
        try await work.expectSoundStore()
        try await work.expectNoOrphans()
    }

    @Test(arguments: Wire.allCases, [false, true])
    func `a download that is cut after any byte, cleanly or by a reset, is resumed`(wire: Wire, isReset: Bool)
        async throws
    {
        var generator = SeededGenerator(for: "WireTests, cuts, \(wire), \(isReset)")
        let nginx = try await nginx(over: wire)
        for _ in 0..<Soak.count("IMGCACHE_SOAK_WIRE_CUTS", usual: 2) {
            let cuts = (0..<5).map { _ in Int.random(in: 0...2_000_000, using: &generator) }
            let relay = try Relay(to: nginx.port) { number in
                number > cuts.count ? nil : Relay.Cut(after: cuts[number - 1], isReset: isReset)
            }
            let url = nginx.url("/file.bin").replacing(":\(nginx.port)/", with: ":\(relay.port)/")
            for run in 1...12 {
                let outcome = try await work.command.run(["fetch", "--json", "--retry", "0"] + nginx.trust + [url])
                guard outcome.ending == .exited(0) else {
                    #expect(outcome.ending == .exited(3) && run <= cuts.count, "\(outcome)")
                    continue
                }
                let answer = try FetchReport(outcome)
                #expect(content.equalsFile(at: answer.path ?? ""), "cuts after \(cuts)")
                // A reset also drops what the kernel holds for the client.
                if isReset { break }
                // All bytes before a cut are kept, except for a handshake, heads and at most a block. Over HTTP/2, the bytes that libcurl
                // had not yet read from the stream are lost too; on a busy machine these are more.
                let lost = 16_384 + blockSize + (wire == .http2 ? 1 << 20 : 0)
                let held = cuts.prefix(run - 1).reduce(0) { $0 + max(0, Int64($1) - lost) }
                #expect(answer.resumedFrom >= held, "cuts after \(cuts)")
                break
            }
        }
        try await work.expectSoundStore()
    }
}
