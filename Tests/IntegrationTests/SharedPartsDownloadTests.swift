import ConcurrencyPrimitives
import Foundation
import Glibc
import TestSupport
import Testing

/// Machines, which are cache directories, that share a large download through a real object store: 160 MiB, or 1 GiB in the long form.
@Suite(
    .fewAtATime(limit: .seconds(300)),
    .enabled(if: ObjectStore.seaweedUnavailableReason == nil, "\(ObjectStore.seaweedUnavailableReason ?? "")"))
struct SharedPartsDownloadTests {
    private static let size: Int64 = Soak.isOn ? 1 << 30 : 160 << 20
    private static let place = "s3://\(ObjectStore.bucket)/ci"
    /// A busy computer may take longer to respond than a store is given.
    private static let shared = ["--remote", place, "--remote-timeout", "2min", "--remote-connect-timeout", "2min"]
    private let representation = Representation(seed: 73, size: size + 12345)
    private var size: Int64 { representation.size }

    /// Downloads two fifths with a machine that is then killed, after it has uploaded them.
    private func downloadSome(_ url: String, _ store: ObjectStore) async throws {
        let before = store.storedBytes
        let machine = try TestWorkspace(sharing: store)
        let process = try machine.command.start(["fetch", "--segments", "1"] + Self.shared + [url])
        let expected = size * 2 / 5 / (8 << 20) * (8 << 20)
        let isUploaded = try await eventually(within: 4 * patience) {
            // Looking at all files takes a while itself.
            try await Task.sleep(for: .milliseconds(50))
            return store.storedBytes - before >= expected
        }
        #expect(isUploaded, "\(store.storedBytes - before) bytes of \(expected) were uploaded")
        process.send(signal: SIGKILL)
        _ = await process.end()
    }

    @Test(arguments: [false, true])
    func `a machine resumes the download of a killed one, unless the file has changed`(
        _ hasChanged: Bool
    ) async throws {
        let store = try await ObjectStore()
        let new = Representation(seed: 74, size: size, etag: "\"new\"")
        // A busy computer may take longer to respond than a store is given.
        for number in 1...5 {
            let gate = Gate()
            let origin = try ScriptedOrigin(sendBuffer: nil) { [representation, size] _ in
                var behaviour = Behaviour(hasChanged && gate.isOpen ? new : representation)
                if !gate.isOpen { behaviour.bodyGate = (size * 2 / 5, gate) }
                return behaviour
            }
            let url = origin.url("/\(number)")
            try await downloadSome(url, store)
            gate.open()
            let other = try TestWorkspace(sharing: store)
            let (outcome, answer) = try await other.fetchJSON(Self.shared + [url])
            #expect(outcome.ending == .exited(0), "\(outcome)")
            #expect((hasChanged ? new : representation).content.equalsFile(at: answer.path ?? ""))
            if hasChanged {
                #expect(answer.etag == "\"new\"")
                // A connection that continues behind another one's part receives that part, too.
                #expect(answer.bytesTransferred >= size)
                return
            }
            if origin.bodyBytesSent <= size + 16 << 20 { return }
        }
        Issue.record("the origin sent too much each time")
    }

    /// Ends a machine's download over several connections without warning, when two fifths have come and all of them but two parts are
    /// in the store.
    private func downloadSomeAtOnce(_ url: String, _ store: ObjectStore) async throws {
        let before = store.storedBytes
        let machine = try TestWorkspace(sharing: store)
        let process = try machine.command.start(["fetch"] + Self.shared + [url])
        let expected = size * 2 / 5 - 16 << 20
        let isUploaded = try await eventually(within: 4 * patience) {
            // Looking at all files takes a while itself.
            try await Task.sleep(for: .milliseconds(50))
            return store.storedBytes - before >= expected
        }
        #expect(isUploaded, "\(store.storedBytes - before) bytes of \(expected) were uploaded")
        process.send(signal: SIGKILL)
        _ = await process.end()
    }

    @Test func `a machine that is killed amid several connections leaves others all but two parts of what it had`()
        async throws
    {
        let store = try await ObjectStore()
        let isKilled = Gate()
        let sent = Locked<Int64>(0)
        let origin = try ScriptedOrigin(sendBuffer: nil) { [representation, size] request in
            let behaviour = Behaviour(representation).with { $0.bytesPerSecond = 1 << 20 }
            // All connections together send two fifths, and the rest after the kill.
            var steps: [OriginStep] = []
            for step in behaviour.script(for: request) {
                guard case .content(let content, let range) = step else {
                    steps.append(step)
                    continue
                }
                for start in stride(from: range.lowerBound, to: range.upperBound, by: 1 << 16) {
                    let piece = start..<min(start + 1 << 16, range.upperBound)
                    let wait = OriginStep.perform {
                        block(within: 5 * patience) { isKilled.isOpen || sent.withLock { $0 < size * 2 / 5 } }
                        sent.withLock { $0 += Int64(piece.count) }
                    }
                    steps += [wait, .content(content, piece)]
                }
            }
            return steps
        }
        try await downloadSomeAtOnce(origin.url(), store)
        isKilled.open()
        let other = try TestWorkspace(sharing: store)
        // At this rate the rest of the long form takes more than a minute.
        let outcome = try await other.command.run(
            ["fetch", "--json"] + Self.shared + [origin.url()], within: Soak.isOn ? 600 : patience)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(representation.content.equalsFile(at: try FetchReport(outcome).path ?? ""))
        #expect(origin.requests.count > 2)
        #expect(origin.bodyBytesSent <= size + 16 << 20)
    }

    @Test func `a machine gets a large file from the store, and right bytes when that is killed`() async throws {
        let store = try await ObjectStore()
        let origin = try ScriptedOrigin(sendBuffer: nil) { [representation] _ in Behaviour(representation) }
        var shared: String?
        for number in 1...5 where shared == nil {
            let url = origin.url("/\(number)")
            _ = try await TestWorkspace(sharing: store).fetchJSON(Self.shared + [url])
            let count = origin.requests.count
            let other = try TestWorkspace(sharing: store)
            let (outcome, answer) = try await other.fetchJSON(Self.shared + [url])
            #expect(outcome.ending == .exited(0), "\(outcome)")
            #expect(representation.content.equalsFile(at: answer.path ?? ""))
            if origin.requests.count == count {
                #expect(answer.source == "remote")
                try await other.expectSoundStore()
                shared = url
            }
        }
        let url = try #require(shared, "no machine got the file from the store")
        let last = try TestWorkspace(sharing: store)
        let process = try last.command.start(["fetch", "--json"] + Self.shared + [url])
        await eventually { DiskUsage.bytes(at: last.cache) >= size / 5 || process.ending != nil }
        await store.kill()
        let outcome = await CommandRunner.outcome(of: process)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(representation.content.equalsFile(at: try FetchReport(outcome).path ?? ""))
    }
}
