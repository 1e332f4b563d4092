import Foundation
import Glibc
import TestSupport
import Testing
import Units

/// Ctrl-C and SIGTERM: received bytes are kept, one line reports it, and the next run continues.
@Suite(.fewAtATime) struct InterruptTests {
    private let work: TestWorkspace
    private let representation = Representation(seed: 41, size: 3_000_000)

    init() throws {
        work = try TestWorkspace()
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `a signal ends with 130, keeps what arrived, and the next run fetches the rest`(signal: Int32) async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [representation] _ in
            Behaviour(representation).with { $0.bodyGate = (2_000_000, gate) }
        }
        let process = try work.command.start(["fetch", origin.url()])
        #expect(await origin.waits { $0.first?.bodyBytesSent == 2_000_000 })
        #expect(await work.waitForRecordedBytes(1_500_000))
        process.send(signal: signal)
        let outcome = await CommandRunner.outcome(of: process)
        #expect(outcome.ending == .exited(130), "\(outcome)")
        #expect(outcome.lines.isEmpty)
        #expect(outcome.errorOutput.split(separator: "\n").count == 1, "\(outcome)")
        gate.open()
        let (again, answer) = try await work.fetchJSON(origin.url())
        #expect(again.ending == .exited(0), "\(again)")
        #expect(representation.content.equalsFile(at: answer.path ?? ""))
        #expect(answer.source == "resumed")
        // Bytes that were still in the sockets' buffers were not received.
        #expect(answer.resumedFrom > 1_500_000 && answer.resumedFrom <= 2_000_000)
        #expect(answer.bytesTransferred == 3_000_000 - answer.resumedFrom)
        #expect(outcome.errorOutput.contains("\(ByteSize(answer.resumedFrom).description) of 2.86 MiB"), "\(outcome)")
    }

    @Test func `a hangup does not end a command under nohup`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [representation] _ in
            Behaviour(representation).with { $0.bodyGate = (1_000_000, gate) }
        }
        let process = try work.command.startShell("trap '' HUP; exec \"$IMGCACHE\" fetch -o file \(origin.url())")
        #expect(await origin.waits { $0.first?.bodyBytesSent == 1_000_000 })
        process.send(signal: SIGHUP)
        gate.open()
        #expect(await process.end() == .exited(0))
        #expect(representation.content.equalsFile(at: work.output("file")))
    }

    @Test func `an interrupted -o FILE leaves no file, and the next run makes it whole`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [representation] _ in
            Behaviour(representation).with { $0.bodyGate = (1_000_000, gate) }
        }
        let process = try work.command.start(["fetch", "-o", "file", origin.url()])
        #expect(await origin.waits { $0.first?.bodyBytesSent == 1_000_000 })
        process.send(signal: SIGINT)
        #expect(await process.end() == .exited(130))
        #expect(work.outputNames == [])
        gate.open()
        #expect(try await work.fetch("-o", "file", origin.url()).ending == .exited(0))
        #expect(representation.content.equalsFile(at: work.output("file")))
    }

    @Test func `an interrupt keeps the printed paths of finished files and starts no other file`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { request in
            Behaviour(Representation(seed: 42, size: 400_000)).with {
                if request.path != "/done" { $0.bodyGate = (300_000, gate) }
            }
        }
        let urls = ["/done", "/held", "/held2", "/never"].map { origin.url($0) }
        let process = try work.command.start(["fetch", "-j", "2"] + urls)
        #expect(await origin.waits { $0.filter { $0.bodyBytesSent == 300_000 }.count == 2 })
        process.send(signal: SIGINT)
        let outcome = await CommandRunner.outcome(of: process)
        #expect(outcome.ending == .exited(130), "\(outcome)")
        #expect(outcome.lines.count == 1)
        #expect(origin.requests(to: "/never").isEmpty)
        #expect(outcome.errorOutput.contains("not started"), "\(outcome)")
    }

    @Test func `a signal during a retry's delay ends at once`() async throws {
        let origin = try ScriptedOrigin { _ in .status(503, fields: [("Retry-After", "30")]) }
        let process = try work.command.start(["fetch", origin.url()])
        #expect(await origin.waits { $0.first?.ending == .completed })
        process.send(signal: SIGINT)
        #expect(await process.end() == .exited(130))
    }
}
