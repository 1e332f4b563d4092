import Foundation
import TestSupport
import Testing

/// `imgcache cat`: ranges of a large file.
@Suite(.fewAtATime) struct CatTests {
    private static let block: Int64 = 262_144
    private let work: TestWorkspace
    private let representation = Representation(seed: 71, size: 34 * block + 1000)
    private let origin: ScriptedOrigin

    init() throws {
        work = try TestWorkspace()
        origin = try ScriptedOrigin(serving: representation)
    }

    private func content(_ range: Range<Int64>) -> [UInt8] { representation.content.bytes(range) }

    @Test func `ranges are written one after another, and cost the blocks that they touch`() async throws {
        let size = representation.size
        let outcome = try await work.run(
            "cat", origin.url(), "-r", "300000-300009", "--range", "-10", "-r", "\(size - 5)-", "-r", "300005-600000")
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(
            outcome.outputBytes
                == content(300_000..<300_010) + content(size - 10..<size) + content(size - 5..<size)
                + content(300_005..<600_001))
        #expect(
            origin.requests.map { $0["Range"] } == ["bytes=262144-524287", "bytes=8912896-", "bytes=524288-786431"])
        // A later run finds them, and a download goes on with them.
        let again = try await work.run("cat", "--offline", origin.url(), "-r", "262144-786431")
        #expect(again.outputBytes == content(262_144..<786_432), "\(again)")
        let file = try await work.fetch("-o", "file", "--segments", "1", origin.url())
        #expect(file.ending == .exited(0) && representation.content.equalsFile(at: work.output("file")), "\(file)")
        #expect(origin.bodyBytesSent == size)
    }

    @Test func `a range of more than a window is written as it arrives, and each byte comes once`() async throws {
        let outcome = try await work.run("cat", origin.url(), "-r", "100-")
        #expect(outcome.ending == .exited(0), "\(outcome.ending) \(outcome.errorOutput)")
        #expect(outcome.outputBytes == content(100..<representation.size))
        #expect(origin.bodyBytesSent == representation.size)
        let all = try await work.run("cat", origin.url())
        #expect(all.outputBytes == content(0..<representation.size))
    }

    @Test func `cat does not fetch again the bytes that a killed run received`() async throws {
        let gate = Gate()
        let slow = try ScriptedOrigin { [representation] request in
            Behaviour(representation).with { behaviour in
                if request.number == 1 { behaviour.bodyGate = (5 * Self.block + 10, gate) }
            }
        }
        let process = try work.command.start(["cat", slow.url(), "-r", "0-\(20 * Self.block - 1)"])
        #expect(await work.waitForRecordedBytes(5 * Self.block))
        process.send(signal: SIGKILL)
        _ = await process.end()
        gate.open()
        let outcome = try await work.run("cat", slow.url(), "-r", "0-\(20 * Self.block - 1)")
        #expect(outcome.outputBytes == content(0..<20 * Self.block), "\(outcome.errorOutput)")
        #expect(slow.requests.dropFirst().first?["Range"] == "bytes=\(5 * Self.block)-\(20 * Self.block - 1)")
        #expect(slow.requests.dropFirst().first?["If-Range"] == representation.etag)
    }

    @Test func `blocks that arrive in smaller parts than requested are fetched once`() async throws {
        let small = try ScriptedOrigin { [representation] _ in
            Behaviour(representation).with { $0.rangeFault = .atMost(300_000) }
        }
        let outcome = try await work.run("cat", small.url(), "-r", "300000-2000000")
        #expect(outcome.outputBytes == content(300_000..<2_000_001), "\(outcome.errorOutput)")
        // Of the first response only whole blocks are kept.
        #expect(small.bodyBytesSent < 8 * Self.block)
        let all = try await work.fetch("--segments", "1", small.url())
        #expect(representation.content.equalsFile(at: all.lines.first ?? ""), "\(all)")
        #expect(small.bodyBytesSent < representation.size + Self.block)
    }

    static let storedVersions: [String] = ["kept", "replaced"]

    @Test(arguments: storedVersions)
    func `a range of a stored file that is stale costs a confirmation, or the blocks of the new version`(
        version: String
    ) async throws {
        let old = Representation(seed: 71, size: representation.size, cacheControl: nil)
        let new = version == "kept" ? old : Representation(seed: 73, size: old.size, cacheControl: nil)
        let changing = try ScriptedOrigin { request in Behaviour(request.number == 1 ? old : new) }
        #expect(try await work.fetch(changing.url()).ending == .exited(0))
        let outcome = try await work.run("cat", changing.url(), "-r", "1000000-1000009", "-r", "0-9")
        #expect(outcome.outputBytes == new.content.bytes(1_000_000..<1_000_010) + new.content.bytes(0..<10))
        let asked = changing.requests.dropFirst()
        #expect(asked.first?["If-None-Match"] == old.etag)
        if version == "kept" {
            #expect(asked.allSatisfy { $0.status == 304 }, "\(asked)")
            let stored = try await work.run("ls", "--json")
            #expect(stored.lines.count { $0.contains("incomplete") } == 0, "\(stored)")
        } else {
            #expect(asked.allSatisfy { $0.status == 206 && $0.bodyBytesSent <= Self.block }, "\(asked)")
        }
        try await work.expectSoundStore()
    }

    @Test func `two processes that read the same ranges fetch each block once`() async throws {
        let starts: [Int64] = (0..<8).map { number in Int64(number) * 4 * Self.block + 5 }
        let ranges: [String] = starts.flatMap { start in ["-r", "\(start)-\(start + 495)"] }
        let processes = try (0..<2).map { _ in try work.command.start(["cat", origin.url()] + ranges) }
        let expected: [UInt8] = starts.flatMap { start in content(start..<start + 496) }
        for process in processes {
            let outcome = await CommandRunner.outcome(of: process)
            #expect(outcome.ending == .exited(0) && outcome.outputBytes == expected, "\(outcome.errorOutput)")
        }
        #expect(Set(origin.requests.map { $0["Range"] }).count == origin.requests.count)
    }

    @Test func `versions are not mixed between two ranges`() async throws {
        let other = Representation(seed: 72, size: representation.size)
        let changing = try ScriptedOrigin { [representation] request in
            Behaviour(request.number == 1 ? representation : other)
        }
        let outcome = try await work.run("cat", changing.url(), "-r", "0-9", "-r", "1000000-1000009")
        #expect(outcome.ending == .exited(5) && outcome.outputBytes == content(0..<10), "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.contains("the file changed at the origin between two of its ranges"))
    }

    static let impossible: [([String], Int32)] = [
        (["-r", "99999999-"], 4), (["-r", "5-4"], 2), (["-r", "-"], 2), (["-r", "-0"], 2), (["-r", "a-b"], 2),
        (["-r", "0-9", "--offline"], 7), (["-r", "0-9", "--sha256", String(repeating: "0", count: 64)], 2),
    ]

    @Test(arguments: impossible)
    func `cat rejects a range or an option that cannot be satisfied`(_ arguments: [String], _ code: Int32) async throws
    {
        let outcome = try await work.command.run(["cat", origin.url()] + arguments)
        #expect(outcome.ending == .exited(code) && outcome.outputBytes == [], "\(outcome)")
        #expect(!outcome.errorOutput.isEmpty)
    }

    @Test func `cat ends like other filters when its reader is gone`() async throws {
        let outcome = try await work.command.shell(
            "$IMGCACHE cat \(origin.url()) -r 0-8000000 | head -c 10 >part; echo ${PIPESTATUS[0]}; cat part")
        #expect(outcome.output.hasPrefix("141\n"), "\(outcome)")
        #expect(outcome.outputBytes.suffix(10) == content(0..<10)[...])
        #expect(outcome.errorOutput == "")
    }
}
