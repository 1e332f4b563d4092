import Foundation
import Glibc
import TestSupport
import Testing

/// One body over several connections to an origin that caps the rate of each.
@Suite(.fewAtATime(limit: .seconds(300))) struct SegmentedFetchTests {
    static let size: Int64 = 14_000_000
    static let rate: Int64 = 2_000_000
    static let content = Representation(seed: 71, size: size)
    /// A change of the first one that keeps its entity tag: what only a splice would show.
    static let other = Representation(seed: 72, size: size, etag: content.etag)

    private static func capped(_ representation: Representation = content) -> Behaviour {
        Behaviour(representation).with { $0.bytesPerSecond = Self.rate }
    }

    @Test(arguments: [[], ["-o", "-"]])
    func `a file whose connections are limited is fetched over several at once`(options: [String]) async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { _ in Self.capped() }
        let outcome = try await work.command.run(["fetch", "-j", "16", origin.url()] + options)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        if options.isEmpty {
            #expect(Self.content.content.equalsFile(at: outcome.lines.first ?? ""))
        } else {
            #expect(outcome.outputBytes == Self.content.content.bytes())
        }
        #expect(origin.requests.count > 2)
        for further in origin.requests.dropFirst() {
            #expect(further.status == 206 && further["If-Range"] == Self.content.etag, "\(further)")
        }
        // A connection whose part ends has more under way.
        #expect(origin.bodyBytesSent <= Self.size + Int64(origin.requests.count) * blockSize)
        try await work.expectSoundStore()
    }

    @Test func `the original of a thumbnail is also fetched over several connections`() async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { _ in Self.capped() }
        // The bytes are not an image, which is seen when they are decoded: after the transfer.
        let thumb = try await work.run("thumb", origin.url(), "-o", "t.jpg")
        #expect(thumb.ending != .exited(0), "\(thumb)")
        let requests = origin.requests
        #expect(requests.count > 2 && requests.dropFirst().allSatisfy { $0.status == 206 })
        let outcome = try await work.fetch(origin.url())
        #expect(Self.content.content.equalsFile(at: outcome.lines.first ?? ""), "\(outcome)")
        #expect(origin.requests.count == requests.count)
        try await work.expectSoundStore()
    }

    @Test func `with one segment there is one request`() async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { _ in Self.capped().with { $0.bytesPerSecond = 6_000_000 } }
        let outcome = try await work.fetch("--segments", "1", origin.url())
        #expect(Self.content.content.equalsFile(at: outcome.lines.first ?? ""))
        #expect(origin.requests.count == 1)
        #expect(try await work.fetch("--segments", "0", origin.url()).ending == .exited(2))
        #expect(try await work.fetch("--segments", "17", origin.url()).ending == .exited(2))
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (inout Behaviour) -> Void

        init(_ description: String, _ change: @escaping @Sendable (inout Behaviour) -> Void) {
            testDescription = description
            self.change = change
        }
    }

    static let faults = [
        Fault("200: ranges are ignored") { $0.rangeFault = .ignored },
        Fault("another range") { $0.rangeFault = .shifted(start: 1, end: 0) },
        Fault("less than was asked for") { $0.rangeFault = .atMost(300_000) },
        Fault("another total") { $0.rangeFault = .total(offBy: 7) },
        Fault("another ETag, of other bytes") {
            $0.representation = other
            $0.rangeFault = .etag("\"else\"")
        },
        Fault("no ETag, of other bytes") {
            $0.representation = other
            $0.rangeFault = .etag(nil)
        },
        Fault("without Content-Range") { $0.rangeFault = .missingContentRange },
        Fault("multipart/byteranges") { $0.rangeFault = .multipart },
        Fault("429") { $0.rangeFault = .status(429) },
        Fault("503") { $0.rangeFault = .status(503) },
        Fault("403") { $0.rangeFault = .status(403) },
        Fault("a body that is too short") { $0.rangeFault = .short(by: 1000) },
        Fault("a cut") { $0.cutAfter = 1000 },
    ]

    /// All further requests get the fault. The stream alone brings the body.
    @Test(arguments: faults)
    func `a fault of a further connection never shows in the file`(fault: Fault) async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { request in
            var behaviour = Self.capped()
            if request["Range"] != nil { fault.change(&behaviour) }
            return behaviour
        }
        let outcome = try await work.fetch(origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(Self.content.content.equalsFile(at: outcome.lines.first ?? ""), "\(outcome)")
        #expect(origin.requests.count > 1 && origin.bodyBytesSent < 2 * Self.size)
        #expect(origin.requests.count { $0["Range"] == nil } == 1)
        try await work.expectSoundStore()
    }

    @Test func `a segment that is redirected to another resource is not used, though the ETags are equal`() async throws
    {
        let work = try TestWorkspace()
        let elsewhere = try ScriptedOrigin(serving: Self.other)
        let origin = try ScriptedOrigin { request in
            request["Range"] == nil ? Self.capped() : .redirect(to: elsewhere.url())
        }
        let outcome = try await work.fetch(origin.url())
        #expect(Self.content.content.equalsFile(at: outcome.lines.first ?? ""), "\(outcome)")
        // The three of the first trial, at most: the first difference ends the others.
        #expect((1...3).contains(elsewhere.requests.count))
    }

    @Test(arguments: [2, 3, 6, 12])
    func `a representation that changes in the middle is the old one or the new one`(after requests: Int) async throws {
        let work = try TestWorkspace()
        let new = Representation(seed: 73, size: Self.size)
        let origin = try ScriptedOrigin { request in
            // The stream is cut off after some MB. Later requests get the new representation.
            request.number <= requests
                ? Self.capped().with { if request.number == 1 { $0.cutAfter = 6_000_000 } } : Self.capped(new)
        }
        let outcome = try await work.fetch("-j", "16", origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        let path = outcome.lines.first ?? ""
        #expect(new.content.equalsFile(at: path) || Self.content.content.equalsFile(at: path))
        try await work.expectSoundStore()
    }

    @Test func `a kill with sixteen connections running costs no more than their unfinished blocks`() async throws {
        let large = Representation(seed: 74, size: 80_000_000)
        @Sendable func running(_ requests: [RecordedRequest]) -> Int { requests.count { $0.ending == .underway } }
        var (work, origin) = (try TestWorkspace(), try ScriptedOrigin { _ in Self.capped(large) })
        // On a busy computer further connections may bring too little: then others are tried.
        for _ in 0..<8 {
            let process = try work.command.start(["fetch", "-j", "16", origin.url()])
            #expect(await origin.waits { running($0) == 16 || (!$0.isEmpty && running($0) == 0) })
            let isRunning = running(origin.requests) == 16
            try? await Task.sleep(for: .milliseconds(600))  // Into the middle of blocks.
            process.send(signal: SIGKILL)
            _ = await CommandRunner.outcome(of: process)
            if isRunning { break }
            (work, origin) = (try TestWorkspace(), try ScriptedOrigin { _ in Self.capped(large) })
        }
        #expect(await origin.waits { $0.count >= 16 && running($0) == 0 })
        let before = origin.bodyBytesSent
        let connections = origin.connections

        let (outcome, answer) = try await work.fetchJSON("-j", "16", origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(large.content.equalsFile(at: answer.path ?? ""))
        // A connection may pass over what another one has brought meanwhile, if it is on its way already.
        #expect(answer.bytesTransferred + answer.resumedFrom >= large.size)
        #expect(answer.bytesTransferred + answer.resumedFrom <= large.size + 16 * blockSize)
        // A block of each of 16, and what was in the sockets' buffers.
        let inFlight: Int64 = 64 << 10
        #expect(answer.resumedFrom >= before - 16 * blockSize - Int64(connections) * inFlight)
        #expect(origin.bodyBytesSent <= large.size + 16 * blockSize + Int64(origin.connections) * inFlight)
        try await work.expectSoundStore()
    }

    @Test func `a download over several connections survives many kills`() async throws {
        let work = try TestWorkspace()
        let large = Representation(seed: 75, size: 40_000_000)
        let origin = try ScriptedOrigin { _ in Self.capped(large) }
        var generator = SeededGenerator(for: "SegmentedFetch")
        for _ in 0..<8 {
            let process = try work.command.start(["fetch", "-j", "16", origin.url()])
            try? await Task.sleep(for: .milliseconds(Int.random(in: 300...1500, using: &generator)))
            process.send(signal: SIGKILL)
            _ = await CommandRunner.outcome(of: process)
        }
        let outcome = try await work.fetch("-j", "16", origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(large.content.equalsFile(at: outcome.lines.first ?? ""))
        try await work.expectSoundStore()
    }
}
