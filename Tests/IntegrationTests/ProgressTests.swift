import Foundation
import Glibc
import TestSupport
import Testing

/// The progress bar: on a terminal only, and never in the way of the output.
@Suite(.fewAtATime) struct ProgressTests {
    private let work: TestWorkspace
    private let representation = Representation(seed: 101, size: 3_000_000)

    init() throws {
        work = try TestWorkspace()
    }

    private func origin(_ change: @escaping @Sendable (inout Behaviour) -> Void = { _ in }) throws -> ScriptedOrigin {
        try ScriptedOrigin { [representation] _ in
            Behaviour(representation).with {
                $0.bytesPerSecond = 4_000_000
                change(&$0)
            }
        }
    }

    private func errorOutput(
        of arguments: [String], columns: UInt16 = 100, rows: UInt16 = 24, environment: [String: String] = [:]
    ) async throws -> (outcome: CommandRunner.Outcome, screen: String) {
        var command = work.command
        command.environment.merge(environment) { $1 }
        let terminal = try PseudoTerminal(columns: columns, rows: rows)
        let process = try command.start(["fetch"] + arguments, terminal: terminal)
        let outcome = await CommandRunner.outcome(of: process)
        return (outcome, await terminal.wholeText())
    }

    @Test func `a short download prints no progress if standard error is not a terminal`() async throws {
        let origin = try origin()
        let outcome = try await work.fetch(origin.url("/file.bin"))
        #expect(outcome.ending == .exited(0))
        #expect(outcome.errorOutput.isEmpty, "\(outcome)")
    }

    @Test func `--json-progress writes lines of JSON from the first bytes to the last`() async throws {
        let origin = try origin { $0.bytesPerSecond = 3_000_000 }
        let outcome = try await work.fetch("--json", "--json-progress", origin.url("/a.bin"), origin.url("/b.bin"))
        #expect(outcome.ending == .exited(0) && outcome.errorOutput.isEmpty, "\(outcome)")
        struct Line: Decodable {
            var type: String?
            var received: Int?
            var total: Int?
            var finished: Int?
            var files: Int?
            var url: String?
        }
        let lines = try outcome.lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
        let told = lines.filter { $0.type == "progress" }
        #expect(told.count > 2 && lines.compactMap(\.url).count == 2)
        let received = told.compactMap(\.received)
        #expect(received == received.sorted() && received.last == 6_000_000)
        #expect(told.last?.total == 6_000_000 && told.last?.finished == 2 && told.last?.files == 2)
        #expect(try await work.fetch("--json-progress", origin.url("/a.bin")).ending == .exited(2))
    }

    @Test func `a terminal shows name, percentage, bytes, rate and time left, and standard output only the path`()
        async throws
    {
        // Some seconds: a rate needs one.
        let origin = try origin { $0.bytesPerSecond = 1_000_000 }
        let (outcome, screen) = try await errorOutput(of: [origin.url("/file.bin")])
        #expect(outcome.ending == .exited(0))
        #expect(outcome.lines.count == 1)
        #expect(screen.contains("file.bin"), "\(screen)")
        #expect(screen.contains(" %"))
        #expect(screen.contains("of 2.86 MiB"))
        #expect(screen.contains("/s"))
        #expect(screen.contains("left"))
    }

    @Test func `a long download on a terminal ends with a summary of its size and time`() async throws {
        let origin = try origin { $0.bytesPerSecond = 1_500_000 }
        let (outcome, screen) = try await errorOutput(of: [origin.url("/file.bin")])
        #expect(outcome.ending == .exited(0))
        #expect(screen.contains("imgcache: 2.86 MiB in "), "\(screen)")
        let (list, lines) = try await errorOutput(of: [origin.url("/1"), origin.url("/2")])
        #expect(list.ending == .exited(0))
        #expect(lines.contains("imgcache: 2 of 2 files, 5.72 MiB in "), "\(lines)")
    }

    @Test func `-q shows no progress bar`() async throws {
        let origin = try origin()
        let (outcome, screen) = try await errorOutput(of: ["-q", origin.url("/file.bin")])
        #expect(outcome.ending == .exited(0))
        #expect(screen.isEmpty, "\(screen)")
    }

    @Test func `a continued download says where it resumed`() async throws {
        let origin = try ScriptedOrigin { [representation] request in
            Behaviour(representation).with {
                if request.number == 1 { $0.cutAfter = 1_500_000 } else { $0.bytesPerSecond = 2_000_000 }
            }
        }
        try await work.fetchUntilCut(origin.url("/file.bin"))
        let (outcome, screen) = try await errorOutput(of: [origin.url("/file.bin")])
        #expect(outcome.ending == .exited(0))
        #expect(screen.contains("resumed at 50 %"), "\(screen)")
    }

    @Test func `an unknown length shows bytes without percent`() async throws {
        let origin = try origin { $0.framing = .chunked }
        let (outcome, screen) = try await errorOutput(of: [origin.url("/file.bin")])
        #expect(outcome.ending == .exited(0))
        #expect(screen.contains("MiB"), "\(screen)")
        #expect(!screen.contains("%"), "\(screen)")
    }

    @Test func `several files get a line each and a total`() async throws {
        let origin = try origin()
        let (outcome, screen) = try await errorOutput(of: [origin.url("/one.bin"), origin.url("/two.bin")])
        #expect(outcome.ending == .exited(0))
        for text in ["one.bin", "two.bin", "total"] { #expect(screen.contains(text), "\(screen)") }
    }

    @Test func `the total of all files is asked for by HEAD while the first is on its way`() async throws {
        let gate = Gate()
        let origin = try origin { $0.bodyGate = (1_000_000, gate) }
        try work.directory.write(
            (1...3).map { origin.url("/\($0).bin") + "\n" }.joined(), to: "output/list")
        let terminal = try PseudoTerminal(columns: 100)
        let process = try work.command.start(["fetch", "-i", "list", "-d", "set", "-j", "1"], terminal: terminal)
        #expect(await eventually { terminal.text.contains("of 8.58 MiB") }, "\(terminal.text)")
        #expect(terminal.text.contains("total 0 of 3"))
        #expect(origin.requests.filter { $0.request.method == "HEAD" }.count == 2)
        gate.open()
        #expect(await process.end() == .exited(0))
        #expect(origin.requests.filter { $0.request.method == "HEAD" }.count == 2)
    }

    @Test func `without a terminal a line for all files comes now and then, and nothing asks for their total`()
        async throws
    {
        let origin = try origin { $0.bytesPerSecond = 100_000 }
        let urls = ["/one.bin", "/two.bin", "/three.bin"].map { origin.url($0) }
        let running = try work.command.start(["fetch", "-j", "2"] + urls)
        #expect(await eventually { running.errorOutput.contains("\n") })
        let line = running.errorOutput.split(separator: "\n").first ?? ""
        #expect(line.hasPrefix("imgcache: total 0 of 3, ") && line.hasSuffix("/s"), "\(line)")
        #expect(origin.requests.allSatisfy { $0.request.method == "GET" })
        running.send(signal: SIGKILL)
        _ = await running.end()
    }

    @Test func `without a terminal a single file has its line now and then, too`() async throws {
        let origin = try origin { $0.bytesPerSecond = 100_000 }
        let running = try work.command.start(["fetch", origin.url("/one.bin")])
        #expect(await eventually { running.errorOutput.contains("\n") })
        let line = running.errorOutput.split(separator: "\n").first ?? ""
        #expect(line.hasPrefix("imgcache: one.bin, "), "\(line)")
        #expect(line.contains(" of 2.86 MiB, "), "\(line)")
        running.send(signal: SIGKILL)
        _ = await running.end()
    }

    @Test func `without a terminal a failed attempt of a single file is reported with its reason and the next try`()
        async throws
    {
        let origin = try ScriptedOrigin { [representation] request in
            request.number == 1 ? .status(503) : Behaviour(representation)
        }
        let outcome = try await work.fetch(origin.url("/one.bin"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        let lines = outcome.errorOutput.split(separator: "\n")
        #expect(lines.count == 1, "\(outcome)")
        #expect(lines.first?.hasPrefix("imgcache: one.bin: ") == true, "\(outcome)")
        #expect(lines.first?.contains("503") == true && lines.first?.contains(", again in ") == true, "\(outcome)")
    }

    @Test func `a line that stalls reports the silence, and neither a rate nor a time left`() async throws {
        let gate = Gate()
        let origin = try origin {
            $0.bytesPerSecond = nil
            $0.bodyGate = (1_000_000, gate)
        }
        let terminal = try PseudoTerminal(columns: 100)
        let process = try work.command.start(["fetch", origin.url("/file.bin")], terminal: terminal)
        #expect(await eventually { terminal.text.contains("no data for") }, "\(terminal.text)")
        let screen = terminal.text
        let silence = try #require(screen.range(of: "no data for"))
        let after = screen[silence.lowerBound...]
        #expect(!after.contains("/s") && !after.contains(" left"), "\(screen)")
        #expect(after.contains("no data for"))
        gate.open()
        #expect(await process.end() == .exited(0))
    }

    @Test func `NO_COLOR leaves out the colours`() async throws {
        let origin = try origin()
        let urls = [origin.url("/one.bin"), origin.url("/two.bin")]
        let plain = try await errorOutput(of: urls, environment: ["NO_COLOR": "1"])
        #expect(plain.screen.contains("total"))
        #expect(!plain.screen.contains(/\u{1B}\[[0-9;]*m/), "\(plain.screen)")
    }

    @Test func `no progress line is wider than the terminal`() async throws {
        let origin = try origin()
        let (outcome, screen) = try await errorOutput(
            of: [origin.url("/a-name-that-is-much-longer-than-forty-columns-are-wide.bin")], columns: 40)
        #expect(outcome.ending == .exited(0))
        #expect(!screen.isEmpty)
        let visible = screen.replacing(/\u{1B}\[[0-9;]*[A-Za-z]/, with: "")
        for line in visible.split(whereSeparator: { $0 == "\n" || $0 == "\r" || $0 == "\r\n" }) {
            #expect(line.count <= 40, "\(line)")
        }
    }

    @Test(arguments: ["dumb", ""])
    func `a terminal that cannot move its cursor gets no escape sequences`(term: String) async throws {
        let origin = try origin()
        let urls = [origin.url("/one.bin"), origin.url("/two.bin")]
        let (outcome, screen) = try await errorOutput(of: urls, environment: ["TERM": term])
        #expect(outcome.ending == .exited(0))
        #expect(!screen.contains("\u{1B}"), "\(screen)")
    }

    @Test func `no more progress lines are drawn than the terminal can redraw`() async throws {
        let origin = try origin()
        let urls = (1...9).map { origin.url("/\($0).bin") }
        let (outcome, screen) = try await errorOutput(of: urls, rows: 5)
        #expect(outcome.ending == .exited(0))
        let moves = screen.matches(of: /\u{1B}\[([0-9]+)A/).compactMap { Int($0.output.1) }
        #expect(moves.max().map { $0 <= 4 } == true, "\(moves)")
    }

    @Test func `control characters in a file name do not reach the terminal`() async throws {
        let origin = try origin()
        let (_, screen) = try await errorOutput(of: [origin.url("/a%1B%5D0;evil%07b.bin")])
        #expect(!screen.contains("\u{7}"), "\(screen)")
        #expect(!screen.contains("\u{1B}]"), "\(screen)")
    }

    @Test func `waiting for another process is shown`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [representation] _ in
            Behaviour(representation).with { $0.bodyGate = (1_000_000, gate) }
        }
        let first = try work.command.start(["fetch", origin.url("/file.bin")])
        #expect(await origin.waits { $0.first?.bodyBytesSent == 1_000_000 })
        let terminal = try PseudoTerminal(columns: 100)
        let second = try work.command.start(["fetch", origin.url("/file.bin")], terminal: terminal)
        #expect(await eventually { terminal.text.contains("waiting") }, "\(terminal.text)")
        gate.open()
        #expect(await first.end() == .exited(0))
        #expect(await second.end() == .exited(0))
        #expect(origin.requests.count == 1)
    }
}
