import Foundation
import TestSupport
import Testing

/// A thread inherits the niceness of the one that starts it: work in the background must not start those that fetch.
@Suite(.fewAtATime) struct ThreadPriorityTests {
    @Test func `no thread of a download is nicer than its process`() async throws {
        let work = try TestWorkspace()
        let gate = Gate()
        let origin = try ScriptedOrigin { _ in
            Behaviour(Representation(seed: 43, size: 3_000_000)).with { $0.bodyGate = (2_000_000, gate) }
        }
        let process = try work.command.start(["fetch", origin.url()])
        #expect(await work.waitForRecordedBytes(1_500_000))
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.pid)/task")
        let own = try #require(niceness(of: "/proc/\(process.pid)/stat"))
        let values = threads.compactMap { niceness(of: "/proc/\(process.pid)/task/\($0)/stat") }
        #expect(values.count > 2)
        #expect(values.allSatisfy { $0 <= max(0, own) }, "\(values)")
        gate.open()
        #expect(await process.end() == .exited(0))
    }

    /// The nineteenth field; the second one, the name in parentheses, may contain spaces.
    private func niceness(of path: String) -> Int? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8), let end = text.lastIndex(of: ")") else {
            return nil
        }
        let fields = text[end...].split(separator: " ")
        return fields.count > 17 ? Int(fields[17]) : nil
    }
}
