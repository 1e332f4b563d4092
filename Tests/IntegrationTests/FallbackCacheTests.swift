import Foundation
import TestSupport
import Testing

/// With `-o` and `-d`, files that do not fit into the store are downloaded next to it.
@Suite(.fewAtATime(limit: .seconds(120))) struct FallbackCacheTests {
    private let work: TestWorkspace
    private let large = Representation(seed: 61, size: 6_000_000)

    init() throws {
        work = try TestWorkspace()
    }

    private func fetch(_ arguments: String...) async throws -> CommandRunner.Outcome {
        try await work.command.run(["fetch", "--capacity", "4MiB"] + arguments)
    }

    @Test(arguments: [true, false])
    func `a body that is larger than the store arrives, and a line says that it was not cached`(
        hasLength: Bool
    ) async throws {
        let origin = try ScriptedOrigin { [large] request in
            Behaviour(request.path == "/small" ? Representation(seed: 1, size: 4000) : large).with {
                if !hasLength { $0.framing = .chunked }
            }
        }
        let small = try await fetch(origin.url("/small"))
        for arguments in [["-o", "x.tar"], ["-d", "out"]] {
            let outcome = try await work.command.run(["fetch"] + arguments + [origin.url("/x.tar")])
            #expect(outcome.ending == .exited(0), "\(outcome)")
            #expect(
                outcome.errorOutput.contains("not cached") && outcome.errorOutput.contains("4.00 MiB"), "\(outcome)")
            #expect(outcome.errorOutput.split(separator: "\n").count == 1, "\(outcome)")
            #expect(large.content.equalsFile(at: work.output(outcome.lines.first ?? "")))
        }
        #expect(work.outputNames == ["out", "x.tar"])
        #expect(DiskUsage.files(at: work.output("out")) == ["x.tar"])
        #expect(try await work.run("ls").lines.count == 1)
        if hasLength { #expect(FileManager.default.fileExists(atPath: small.lines.first ?? "")) }
    }

    /// The second name has only two characters, of 121 bytes each.
    static let longNames = [
        String(repeating: "n", count: 255),
        String(repeating: "e" + String(repeating: "\u{301}", count: 60), count: 2),
    ]

    @Test(arguments: longNames)
    func `an uncached download to a file with the longest possible name is delivered`(name: String) async throws {
        let origin = try ScriptedOrigin(serving: large)
        let outcome = try await work.fetch("--capacity", "4MiB", "-o", name, origin.url("/x.tar"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(large.content.equalsFile(at: work.output(name)))
        #expect(work.outputNames == [name])
    }

    @Test(arguments: ["-o", "-d"])
    func `an uncached download is resumed after a kill`(option: String) async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [large] request in
            Behaviour(large).with { if request.number <= 2 { $0.bodyGate = (4_000_000, gate) } }
        }
        let target = option == "-o" ? "x.tar" : "out"
        // The store refuses it at its head; the second request is for all of it.
        let process = try work.command.start(["fetch", "--capacity", "4MiB", option, target, origin.url("/x.tar")])
        #expect(await origin.waits { $0.last?.bodyBytesSent == 4_000_000 && $0.count == 2 })
        #expect(await work.waitForRecordedBytes(3_500_000, in: work.output("")))
        process.send(signal: SIGKILL)
        _ = await process.end()
        gate.open()
        let (outcome, answer) = try await work.fetchJSON("-q", option, target, origin.url("/x.tar"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(answer.source == "resumed" && answer.resumedFrom > 3_000_000, "\(outcome)")
        #expect(answer.path == nil)
        #expect(origin.requests.count == 3)
        #expect(large.content.equalsFile(at: work.output(option == "-o" ? "x.tar" : "out/x.tar")))
        #expect(work.outputNames == [target])
        #expect(DiskUsage.files(at: work.output("")).count == 1)
    }

    @Test func `a new version at the origin is not spliced onto the partial next to the target`() async throws {
        let gate = Gate()
        let changed = Representation(seed: 62, size: 6_000_000)
        let origin = try ScriptedOrigin { [large] request in
            Behaviour(request.number <= 2 ? large : changed).with {
                if request.number <= 2 { $0.bodyGate = (4_000_000, gate) }
            }
        }
        let process = try work.command.start(["fetch", "--capacity", "4MiB", "-o", "x", origin.url()])
        #expect(await origin.waits { $0.last?.bodyBytesSent == 4_000_000 && $0.count == 2 })
        #expect(await work.waitForRecordedBytes(3_500_000, in: work.output("")))
        process.send(signal: SIGKILL)
        _ = await process.end()
        gate.open()
        #expect(try await work.fetch("-o", "x", origin.url()).ending == .exited(0))
        #expect(changed.content.equalsFile(at: work.output("x")))
    }

    @Test func `the run that ends first leaves another's download alone, the last one cleans up`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [large] request in
            // The second request for it is the one past the store: nothing of it is there when the other run ends.
            Behaviour(large).with { if request.path == "/slow", request.number >= 2 { $0.gate = gate } }
        }
        let slow = try work.command.start(["fetch", "--capacity", "4MiB", "-d", "out", origin.url("/slow")])
        #expect(await origin.waits { $0.count == 2 })
        let quick = try await fetch("-d", "out", origin.url("/quick"))
        #expect(quick.ending == .exited(0), "\(quick)")
        gate.open()
        let outcome = await CommandRunner.outcome(of: slow)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(DiskUsage.files(at: work.output("out")) == ["quick", "slow"])
        #expect(large.content.equalsFile(at: work.output("out/slow")))
        #expect(origin.requests.count == 4, "each once for the store, and once past it")
    }

    @Test func `two runs with one target both end well`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [large] _ in Behaviour(large).with { $0.bodyGate = (4_000_000, gate) } }
        let runs = try (0..<2).map { _ in
            try work.command.start(["fetch", "--capacity", "4MiB", "-o", "x.tar", origin.url("/x.tar")])
        }
        // Each asks for the store first; one of them then loads it past the store.
        #expect(await origin.waits { $0.count >= 3 && $0.contains { $0.bodyBytesSent == 4_000_000 } })
        gate.open()
        for run in runs {
            let outcome = await CommandRunner.outcome(of: run)
            #expect(outcome.ending == .exited(0), "\(outcome)")
        }
        #expect(large.content.equalsFile(at: work.output("x.tar")))
        #expect(DiskUsage.files(at: work.output("")) == ["x.tar"])
    }

    @Test func `-o - outputs a body larger than the store and leaves no file`() async throws {
        let origin = try ScriptedOrigin(serving: large)
        let outcome = try await fetch("-o", "-", origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome.ending)")
        #expect(outcome.outputBytes == large.content.bytes())
        #expect(work.outputNames.isEmpty)
    }

    @Test func `several files that do not fit into the store together all arrive`() async throws {
        let origin = try ScriptedOrigin { request in
            Behaviour(Representation(seed: UInt64(request.path.utf8.last ?? 0), size: 1_800_000))
        }
        let outcome = try await fetch(
            "-d", "out", "-j", "4", origin.url("/a"), origin.url("/b"), origin.url("/c"), origin.url("/d"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        for name in ["a", "b", "c", "d"] {
            let content = Content(seed: UInt64(name.utf8.first ?? 0), size: 1_800_000)
            #expect(content.equalsFile(at: work.output("out/\(name)")))
        }
        #expect(DiskUsage.files(at: work.output("out")) == ["a", "b", "c", "d"])
    }

    @Test func `a body larger than the store is refused without -o or -d, and beyond --max-filesize`() async throws {
        let origin = try ScriptedOrigin(serving: large)
        let refused = try await fetch(origin.url())
        #expect(refused.ending == .exited(6), "\(refused)")
        #expect(refused.errorOutput.contains("--capacity") && refused.errorOutput.contains("4.00 MiB"), "\(refused)")
        let limited = try await fetch("--max-filesize", "5MB", "-o", "x", origin.url())
        #expect(limited.ending == .exited(6), "\(limited)")
        #expect(work.outputNames.isEmpty)
    }
}
