import ConcurrencyPrimitives
import Foundation
import Glibc
import TestSupport
import Testing

/// One body from two mirrors at once, each of which caps the rate of a connection.
@Suite(.fewAtATime(limit: .seconds(300))) struct MirroredSegmentTests {
    private static let size: Int64 = 32 << 20
    private static let first = Representation(seed: 91, size: size, etag: "\"first\"")
    private static let second = Representation(seed: 91, size: size, etag: "\"second\"")
    /// Other bytes under the second one's tag.
    private static let wrong = Representation(seed: 92, size: size, etag: "\"second\"")
    private static let sum = first.content.sha256

    private let work: TestWorkspace

    init() throws { work = try TestWorkspace() }

    private static func capped(_ representation: Representation, at rate: Int64 = 2_000_000) -> Behaviour {
        Behaviour(representation).with { $0.bytesPerSecond = rate }
    }

    private static func origin(
        _ representation: Representation, _ change: @escaping @Sendable (inout Behaviour, ReceivedRequest) -> Void
    ) throws -> ScriptedOrigin {
        try ScriptedOrigin { request in capped(representation).with { change(&$0, request) } }
    }

    private static func origins() throws -> (ScriptedOrigin, ScriptedOrigin) {
        (try ScriptedOrigin { _ in capped(first) }, try ScriptedOrigin { _ in capped(second) })
    }

    private func arguments(_ one: ScriptedOrigin, _ other: ScriptedOrigin, sum: String = Self.sum) -> [String] {
        [one.url("/f"), "--mirror", other.url("/f"), "--sha256", sum]
    }

    private func expectFile(_ outcome: CommandRunner.Outcome, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(outcome.ending == .exited(0), "\(outcome)", sourceLocation: sourceLocation)
        #expect(
            Self.first.content.equalsFile(at: outcome.lines.first ?? ""), "\(outcome)", sourceLocation: sourceLocation)
    }

    @Test func `both mirrors bring their parts, each by its own validator, and each byte once`() async throws {
        let (one, other) = try Self.origins()
        let outcome = try await work.command.run(["fetch", "-u", "user:secret"] + arguments(one, other))
        expectFile(outcome)
        #expect(other.requests.first?.request.method == "HEAD")
        for (origin, tag) in [(one, "\"first\""), (other, "\"second\"")] {
            #expect(origin.bodyBytesSent > Self.size / 16, "\(origin.bodyBytesSent)")
            let further = origin.requests.dropFirst()
            #expect(further.count > 1 && further.allSatisfy { $0.status == 206 && $0["If-Range"] == tag })
            #expect(origin.requests.count { $0.request.method == "HEAD" } <= 1)
        }
        // The password is the first URL's.
        #expect(one.requests.allSatisfy { $0["Authorization"] != nil })
        #expect(other.requests.allSatisfy { $0["Authorization"] == nil })
        // A connection whose part ends has more under way.
        let requests = Int64(one.requests.count + other.requests.count)
        #expect(one.bodyBytesSent + other.bodyBytesSent <= Self.size + requests * blockSize)
        try await work.expectSoundStore()
    }

    @Test func `without a digest, only one mirror is used`() async throws {
        let (one, other) = try Self.origins()
        let outcome = try await work.fetch(one.url("/f"), "--mirror", other.url("/f"))
        expectFile(outcome)
        #expect(other.requests.isEmpty)
    }

    @Test(arguments: [true, false])
    func `wrong bytes of one mirror never show in the file`(isFirst: Bool) async throws {
        let right = try ScriptedOrigin { _ in Self.capped(Self.first, at: 6_000_000) }
        let wrong = try ScriptedOrigin { _ in Self.capped(Self.wrong, at: 6_000_000) }
        let outcome = try await work.command.run(
            ["fetch"] + (isFirst ? arguments(wrong, right) : arguments(right, wrong)))
        expectFile(outcome)
        #expect(wrong.bodyBytesSent > 0)
        try await work.expectSoundStore()
    }

    @Test func `wrong bytes everywhere are an error, and nothing is stored`() async throws {
        let (one, other) = try Self.origins()
        let outcome = try await work.command.run(
            ["fetch"] + arguments(one, other, sum: String(repeating: "0", count: 64)))
        #expect(outcome.ending == .exited(5), "\(outcome)")
        let path = try await work.run("path", one.url("/f"))
        #expect(path.ending != .exited(0), "\(path)")
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (inout Behaviour, ReceivedRequest) -> Void

        init(_ description: String, _ change: @escaping @Sendable (inout Behaviour, ReceivedRequest) -> Void) {
            testDescription = description
            self.change = change
        }
    }

    private static let silence = Gate()
    private static let faults = [
        Fault("another length") { behaviour, _ in behaviour.representation = Representation(seed: 91, size: size + 1) },
        Fault("another ETag from the second answer on, of other bytes") { behaviour, request in
            guard request.number > 3 else { return }
            behaviour.representation = wrong
            behaviour.rangeFault = .etag("\"else\"")
        },
        Fault("200 instead of 206") { behaviour, _ in behaviour.rangeFault = .ignored },
        Fault("503 to ranges") { behaviour, _ in behaviour.rangeFault = .status(503) },
        Fault("503 to all") { behaviour, _ in behaviour.status = 503 },
        Fault("405 to HEAD") { behaviour, request in if request.method == "HEAD" { behaviour.status = 405 } },
        Fault("a shifted range") { behaviour, _ in behaviour.rangeFault = .shifted(start: 1, end: 0) },
        Fault("a cut after a while") { behaviour, _ in behaviour.cutAfter = 1_000_000 },
        Fault("silence") { behaviour, _ in behaviour.gate = silence },
        Fault("silence in the middle") { behaviour, _ in behaviour.stallAfter = 700_000 },
        Fault("a slow one") { behaviour, _ in behaviour.bytesPerSecond = 20_000 },
    ]

    @Test(arguments: faults)
    func `a fault of the other mirror never shows in the file`(fault: Fault) async throws {
        let one = try ScriptedOrigin { _ in Self.capped(Self.first) }
        let other = try Self.origin(Self.second, fault.change)
        let outcome = try await work.command.run(["fetch"] + arguments(one, other))
        expectFile(outcome)
        #expect(!other.requests.isEmpty)
        #expect(one.requests.count { $0["Range"] == nil } == 1)
        try await work.expectSoundStore()
    }

    @Test(arguments: [true, false])
    func `a mirror that dies in the middle leaves its part to the other`(isFirst: Bool) async throws {
        let (one, other) = try Self.origins()
        let process = try work.command.start(["fetch"] + arguments(one, other))
        #expect(await other.waits { $0.reduce(0) { $0 + $1.bodyBytesSent } > 2_000_000 })
        (isFirst ? one : other).stop()
        let outcome = await CommandRunner.outcome(of: process)
        expectFile(outcome)
        let dead = isFirst ? one : other
        #expect(outcome.errorOutput.contains("\(dead.url("/f")): "), "\(outcome)")
        #expect(one.bodyBytesSent + other.bodyBytesSent < Self.size * 5 / 4)
        try await work.expectSoundStore()
    }

    @Test(arguments: [true, false])
    func `a kill in the middle costs unfinished blocks, and either mirror continues`(
        isFirstGone: Bool
    ) async throws {
        // Each answer before the kill stops: the first ones after some of it, all others before their first block is whole. So the middle
        // is reached however slow the machine is, and not passed.
        let isKilled = Locked(false)
        let stalling: @Sendable (inout Behaviour, ReceivedRequest) -> Void = { behaviour, request in
            guard !isKilled.withLock({ $0 }) else { return }
            behaviour.stallAfter = request.number > 2 ? blockSize / 2 : request.number == 1 ? 8_000_000 : 1_500_000
        }
        let (one, other) = (try Self.origin(Self.first, stalling), try Self.origin(Self.second, stalling))
        let process = try work.command.start(["fetch"] + arguments(one, other))
        for origin in [one, other] {
            #expect(await origin.waits { $0.reduce(0) { $0 + $1.bodyBytesSent } > 1_000_000 })
        }
        process.send(signal: SIGKILL)
        isKilled.withLock { $0 = true }
        _ = await CommandRunner.outcome(of: process)
        #expect(await one.waits { $0.allSatisfy { $0.ending != .underway } })
        #expect(await other.waits { $0.allSatisfy { $0.ending != .underway } })
        let before = one.bodyBytesSent + other.bodyBytesSent
        let connections = Int64(one.connections + other.connections)
        (isFirstGone ? one : other).stop()
        let (outcome, answer) = try await work.fetchJSON(["--retry", "1"] + arguments(one, other))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(Self.first.content.equalsFile(at: answer.path ?? ""))
        #expect(answer.resumedFrom >= before - connections * (blockSize + 64 << 10), "\(outcome)")
        try await work.expectSoundStore()
    }

    @Test(.enabled(if: Nginx.unavailableReason == nil, "\(Nginx.unavailableReason ?? "")"))
    func `two servers that limit each connection bring one file`() async throws {
        var options = Nginx.Options()
        options.bytesPerSecond = 1_500_000
        let (one, other) = (try await Nginx(options), try await Nginx(options))
        for nginx in [one, other] { try nginx.serve(Self.first.content, as: "file.bin") }
        let outcome = try await work.fetch(
            one.url("/file.bin"), "--mirror", other.url("/file.bin"), "--sha256", Self.sum)
        expectFile(outcome)
        var bytes: Int64 = 0
        for nginx in [one, other] {
            let sent = try await nginx.requests(atLeast: 2).reduce(0) { $0 + $1.bodyBytesSent }
            #expect(sent > Self.size / 16)
            bytes += sent
        }
        #expect(bytes < Self.size * 5 / 4)
    }
}
