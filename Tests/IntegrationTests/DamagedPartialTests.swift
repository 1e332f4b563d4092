import Foundation
import Glibc
import TestSupport
import Testing

/// A block of a partial counts only if it matches its checksum: whatever happened to the file, only the bad blocks are
/// fetched again.
@Suite(.fewAtATime) struct DamagedPartialTests {
    private static let representation = Representation(seed: 61, size: 3_000_000)
    private static let cut: Int64 = 2_000_000
    /// The whole blocks before the cut; the one that was cut is kept too, unless something is wrong with the partial.
    private static let held = cut / blockSize * blockSize
    private let work: TestWorkspace
    private let origin: ScriptedOrigin

    init() throws {
        work = try TestWorkspace()
        origin = try ScriptedOrigin { request in
            Behaviour(Self.representation).with { if request.number == 1 { $0.cutAfter = Self.cut } }
        }
    }

    private func file(_ ending: String) throws -> String {
        let found = DiskUsage.files(at: work.cache).filter { $0.hasPrefix("partials/") && $0.hasSuffix(ending) }
        try #require(found.count <= 1, "\(DiskUsage.files(at: work.cache))")
        return "\(work.cache)/\(try #require(found.first))"
    }

    private func overwrite(_ path: String, at offset: Int64, with bytes: [UInt8]) throws {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemCallFailure("open \(path)") }
        defer { close(descriptor) }
        guard pwrite(descriptor, bytes, bytes.count, off_t(offset)) == bytes.count else {
            throw SystemCallFailure("pwrite")
        }
    }

    /// Runs to the cut, damages the partial, and runs again.
    private func transferredAfter(_ damage: () throws -> Void) async throws -> Int64 {
        try await work.fetchUntilCut(origin.url())
        try damage()
        let (outcome, answer) = try await work.fetchJSON("--retry", "0", origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(
            Self.representation.content.equalsFile(at: answer.path ?? ""), "a wrong file was handed out: \(outcome)")
        try await work.expectSoundStore()
        return origin.requests.dropFirst().reduce(0) { $0 + $1.bodyBytesSent }
    }

    private var rest: Int64 { Self.representation.size - Self.held }

    @Test func `an undamaged partial costs only the rest`() async throws {
        #expect(try await transferredAfter {} == Self.representation.size - Self.cut)
    }

    @Test func `a flipped byte in a partial costs its block and the rest`() async throws {
        let transferred = try await transferredAfter {
            let offset = 2 * blockSize + 77
            let byte = Self.representation.content.bytes(offset..<(offset + 1))[0]
            try overwrite(file(".data"), at: offset, with: [byte ^ 1])
        }
        #expect(transferred <= rest + blockSize)
        #expect(transferred >= Self.representation.size - Self.cut + blockSize)
    }

    @Test func `a zeroed tail of a partial, as after a power cut, costs its blocks and the rest`() async throws {
        let transferred = try await transferredAfter {
            let start = Self.held - 2 * blockSize - 1000
            try overwrite(file(".data"), at: start, with: [UInt8](repeating: 0, count: Int(Self.cut - start)))
        }
        #expect(transferred <= rest + 3 * blockSize)
    }

    @Test func `a truncated partial is resumed after its last whole block`() async throws {
        let transferred = try await transferredAfter {
            let path = try file(".data")
            guard truncate(path, off_t(blockSize + 5)) == 0 else { throw SystemCallFailure("truncate") }
        }
        #expect(transferred == Self.representation.size - blockSize)
    }

    @Test func `a partial with another file's bytes is fetched again as a whole`() async throws {
        let transferred = try await transferredAfter {
            try overwrite(file(".data"), at: 0, with: Content(seed: 62, size: Self.cut).bytes())
        }
        #expect(transferred == Self.representation.size)
    }

    @Test func `a partial without its data file is fetched again as a whole`() async throws {
        let transferred = try await transferredAfter { try FileManager.default.removeItem(atPath: file(".data")) }
        #expect(transferred == Self.representation.size)
    }

    @Test(arguments: [0, 1, 20, 300])
    func `a truncated or random record of a partial does not fail the download`(length: Int) async throws {
        var generator = SeededGenerator(for: "record")
        let transferred = try await transferredAfter {
            let noise = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
            try Data(noise).write(to: URL(filePath: file(".record")))
        }
        #expect(transferred == Self.representation.size)
    }

    @Test(arguments: [(false, false), (true, false), (false, true), (true, true)])
    func `bytes that another process overwrites during a download are fetched again in the same run`(
        isResumed: Bool, hasDigest: Bool
    ) async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { request in
            Behaviour(Self.representation).with {
                if isResumed && request.number == 1 { $0.cutAfter = Self.cut }
                if request.number == (isResumed ? 2 : 1) { $0.bodyGate = (isResumed ? 400_000 : Self.cut, gate) }
            }
        }
        if isResumed { try await work.fetchUntilCut(origin.url()) }
        let digest = hasDigest ? ["--sha256", Self.representation.content.sha256] : []
        let process = try work.command.start(["fetch", "--json", origin.url()] + digest)
        let sent: Int64 = isResumed ? 400_000 : Self.cut
        #expect(await origin.waits { $0.last?.bodyBytesSent == sent && $0.count == (isResumed ? 2 : 1) })
        #expect(await work.waitForRecordedBytes(2 * blockSize))
        try overwrite(file(".data"), at: blockSize + 100, with: [UInt8](repeating: 0x5A, count: 5000))
        gate.open()
        let outcome = await CommandRunner.outcome(of: process)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        let answer = try FetchReport(outcome)
        #expect(
            Self.representation.content.equalsFile(at: answer.path ?? ""), "a wrong file was handed out: \(outcome)")
        try await work.expectSoundStore()
        #expect(origin.bodyBytesSent <= Self.representation.size + 2 * blockSize)
    }
}
