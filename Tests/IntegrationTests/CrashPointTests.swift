import Foundation
import Glibc
import TestSupport
import Testing

/// Every system call is a place at which a process may die, or at which the system may refuse.
///
/// The store's whole life (`Tests/CrashPoints`: download, resume, commit, replace, evict, purge, sweep, clear) runs once for
/// each of its system calls. Here a sample of them, another one each time; `IMGCACHE_SOAK=1` takes all.
@Suite(
    .fewAtATime(limit: .seconds(300)),
    .enabled(if: CrashPoints.unavailableReason == nil, "\(CrashPoints.unavailableReason ?? "")"))
struct CrashPointTests {
    @Test(arguments: CrashPoints.Mode.allCases)
    func `the store keeps its invariants wherever it is interrupted`(mode: CrashPoints.Mode) async throws {
        let directory = try TestDirectory(in: CrashPoints.fastFolder)
        var generator = SeededGenerator(for: "CrashPoint, \(mode)")
        let every = Soak.isOn ? 1 : mode.sample
        let arguments = [
            mode.rawValue, "--every", "\(every)", "--start", "\(Int.random(in: 1...every, using: &generator))",
            "--seed", "\(generator.seed)", "--directory", directory.path,
        ]
        let process = try ChildProcess(
            CrashPoints.tool, arguments, environment: ProcessInfo.processInfo.environment)
        let outcome = await CommandRunner.outcome(of: process, within: Soak.isOn ? 14_000 : 200)
        print(outcome.lines.last ?? "")
        #expect(outcome.ending == .exited(0), "\(outcome)")
    }

    @Test
    func `the command is killed at a system call, and the next run completes the file`() async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { request in
            Behaviour(Representation(seed: UInt64(request.path.dropFirst()) ?? 0, size: Self.size))
        }
        var generator = SeededGenerator(for: "CrashPoint, command")
        // The first one also makes the cache.
        _ = try await work.fetch(origin.url("/0"))
        let calls = try await traced(work, origin.url("/1000000"), at: 0).calls
        let every = Soak.isOn ? 1 : max(1, calls / 12)
        var killed = 0
        for point in stride(from: Int.random(in: 1...every, using: &generator), through: calls, by: every) {
            let run = try await traced(work, origin.url("/\(point)"), at: point)
            // Threads may come in another order: then there may have been fewer calls.
            #expect(run.ending == .exited(137) || run.ending == .exited(0), "call \(point)")
            if run.ending == .exited(137) { killed += 1 }
            let held = try await bytesHeld(work, origin.url("/\(point)"))
            let requests = origin.requests(to: "/\(point)").count
            let outcome = try await work.fetch(origin.url("/\(point)"))
            #expect(outcome.ending == .exited(0), "after a kill at call \(point): \(outcome)")
            let content = Content(seed: UInt64(point), size: Self.size)
            #expect(content.equalsFile(at: outcome.lines.first ?? ""), "after a kill at call \(point)")
            let sent = origin.requests(to: "/\(point)").dropFirst(requests).reduce(0) { $0 + $1.bodyBytesSent }
            // One byte proves that a whole body which was not yet committed is still the representation.
            #expect(sent <= max(1, Self.size - held), "\(held) bytes were held after a kill at call \(point)")
            if point % 16 == 0 { _ = try await work.run("clear") }
        }
        print("command: \(killed) of \(calls) system calls")
        #expect(killed > 0)
        try await work.expectSoundStore()
        try await work.expectNoOrphans()
    }

    private static let size: Int64 = 900_000

    /// The bytes that a killed run left: of a stored body, or of a partial.
    private func bytesHeld(_ work: TestWorkspace, _ url: String) async throws -> Int64 {
        struct Report: Decodable {
            struct Entry: Decodable { var size: Int64 }
            struct Partial: Decodable { var received: Int64 }
            var entries: [Entry]
            var partial: Partial?
        }
        let outcome = try await work.run("info", "--json", url)
        guard outcome.ending == .exited(0) else { return 0 }
        let report = try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8))
        return report.entries.first?.size ?? report.partial?.received ?? 0
    }

    /// Fetches, and dies at a system call; 0: at none.
    private func traced(
        _ work: TestWorkspace, _ url: String, at point: Int
    ) async throws -> (ending: ChildProcess.Ending, calls: Int) {
        var environment = ProcessInfo.processInfo.environment.merging(work.command.environment) { $1 }
        environment["IMGCACHE_DIR"] = work.cache
        let process = try ChildProcess(
            CrashPoints.tool, ["run", "\(point)", CommandRunner.executable, "fetch", url], environment: environment)
        let ending = await process.end(within: 120)
        let last = process.errorOutput.split(separator: "\n").last { $0.hasPrefix("system calls: ") }
        return (ending, last.flatMap { Int($0.dropFirst("system calls: ".count)) } ?? 0)
    }
}

/// The tool that traces: see `Tests/CrashPoints`.
enum CrashPoints {
    enum Mode: String, CaseIterable, Sendable {
        case kill, fail, power

        /// One of so many points is tried where there is no time for all.
        var sample: Int {
            switch self {
            case .kill: 50
            case .fail: 120
            case .power: 80
            }
        }
    }

    static let tool = CommandRunner.built("crash-points")

    /// The reason why tracing is impossible here, or nil: for `.enabled(if:)`.
    static let unavailableReason: String? = {
        #if arch(x86_64)
            return isSanitized() ? "a sanitizer's own system calls are in the way" : nil
        #else
            return "system calls are traced on x86-64 only"
        #endif
    }()

    /// Thousands of small stores are made and deleted: in memory where that can be.
    static let fastFolder: String? = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : nil
}
