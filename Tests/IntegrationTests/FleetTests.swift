import CacheTestSupport
import ConcurrencyPrimitives
import Fleet
import Foundation
import Glibc
import HTTPCaching
import HTTPTypes
import ImageCache
import Logging
import TestSupport
import Testing

/// Machines, which are caches with directories of their own, on one bucket of a real object store.
@Suite(
    .serialized, .fewAtATime(limit: .seconds(180)),
    .enabled(if: ObjectStore.unavailableReason == nil, "\(ObjectStore.unavailableReason ?? "")"))
struct FleetTests {
    private static let size: Int64 = 200_000

    private let folder: TestDirectory
    private let store: ObjectStore

    init() async throws {
        folder = try TestDirectory()
        store = try await ObjectStore()
        // It may respond 500 at first: it is ready when an object gets there.
        let origin = try ScriptedOrigin { _ in Behaviour(Representation(seed: 1, size: 1000)) }
        let probe = try machine("probe", prefix: "probe")
        for number in 0..<600 where probe.remoteStatistics?.uploads == 0 {
            _ = try await probe.file(for: origin.url("/\(number)"))
            _ = await eventually(within: 1) { probe.remoteStatistics?.waitingUploads == 0 }
            try await Task.sleep(for: .milliseconds(20))
        }
        try #require(probe.remoteStatistics?.uploads != 0)
        await probe.close()
    }

    /// A machine whose clock is wrong by so much; the time-outs are for a busy computer.
    private func machine(
        _ name: String, prefix: String = "fleet", skewedBy skew: TimeInterval = 0, secret: String? = nil,
        leaseTime: Duration = .seconds(3), logger: Logger? = nil
    ) throws -> DownloadCache {
        var remote = RemoteStoreConfiguration(
            location: try S3Location(endpoint: store.endpoint, bucket: ObjectStore.bucket, prefix: prefix),
            credentials: S3Credentials(
                accessKeyID: ObjectStore.accessKeyID, secretKey: secret ?? ObjectStore.secretAccessKey))
        remote.setReadTimeouts(.seconds(20))
        remote.readTimeout = .seconds(30)
        remote.invalidationInterval = .milliseconds(100)
        remote.leaseTime = leaseTime
        var configuration = DownloadCache.Configuration()
        configuration.remote = remote
        configuration.rules = CacheRules(mode: .shared)
        configuration.now = { Date().addingTimeInterval(skew) }
        configuration.sweepsInBackground = false
        if let logger { configuration.logger = logger } else { configuration.logger.logLevel = .critical }
        return try DownloadCache(directory: folder.path(name), configuration: configuration)
    }

    @Test(arguments: [0.0, 600])
    func `48 clients of 3 machines that ask for a new URL cost the origin one request`(_ skew: Double) async throws {
        let representation = Representation(seed: 81, size: Self.size)
        let origin = try ScriptedOrigin { _ in
            Behaviour(representation).with { $0.fields = [("Cache-Control", "max-age=3600")] }
        }
        let prefix = "clients-\(Int(skew))"
        let machines = try [0, skew, -skew].enumerated().map { number, skew in
            try machine("\(Int(skew))-\(number)", prefix: prefix, skewedBy: skew, leaseTime: .seconds(300))
        }
        for machine in machines { #expect(await eventually { machine.remoteStatistics?.honoursConditions == true }) }
        for path in ["/a", "/b", "/c"] {
            let url = origin.url(path)
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for machine in machines {
                    for client in 0..<16 {
                        group.addTask {
                            guard client % 2 == 0 else {
                                let response = try await machine.forward(ForwardRequest(url))
                                return try await response.bytes() == representation.content.bytes()
                            }
                            return representation.content.equalsFile(at: try await machine.file(for: url).path)
                        }
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
            #expect(origin.requests(to: path).count == 1, "\(machines.map(\.remoteStatistics))")
        }
        for machine in machines { await machine.close() }
    }

    @Test func `when the machine that asks is killed, another one asks, once`() async throws {
        let representation = Representation(seed: 82, size: Self.size)
        let gates = (0..<10).map { _ in Gate() }
        let origin = try ScriptedOrigin { request in
            Behaviour(representation).with { $0.gate = Int(request.path.dropFirst()).map { gates[$0] } }
        }
        let machines = try (0..<2).map { try machine("killed-\($0)", prefix: "killed") }
        func count(_ count: KeyPath<RemoteStatistics, Int>) -> [Int] {
            machines.map { $0.remoteStatistics?[keyPath: count] ?? 0 }
        }
        // On a busy computer the store may be too slow for the command, which then asks without a lease.
        for (number, gate) in gates.enumerated() {
            let url = origin.url("/\(number)")
            let before = (waits: count(\.leaseWaits), taken: count(\.leasesTakenOver))
            let work = try TestWorkspace(sharing: store)
            let owner = try work.command.start([
                "fetch", "--remote", "s3://\(ObjectStore.bucket)/killed", "--remote-timeout", "2min",
                "--remote-connect-timeout", "2min", url,
            ])
            #expect(await origin.waits { $0.contains { $0.request.path == "/\(number)" } })
            let all = Task {
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for machine in machines {
                        for _ in 0..<8 {
                            group.addTask {
                                representation.content.equalsFile(at: try await machine.file(for: url).path)
                            }
                        }
                    }
                    return try await group.reduce(true) { $0 && $1 }
                }
            }
            let areWaiting = await eventually(within: 10) {
                zip(count(\.leaseWaits), before.waits).allSatisfy { $0 == $1 + 1 }
            }
            owner.send(signal: SIGKILL)
            #expect(await owner.end() == .signaled(SIGKILL))
            withExtendedLifetime(work) {}
            gate.open()
            #expect(try await all.value)
            guard areWaiting else { continue }
            #expect(origin.requests(to: "/\(number)").count == 2)
            let taken = zip(count(\.leasesTakenOver), before.taken).map { $0 - $1 }
            #expect(taken.sorted() == [0, 1])
            for machine in machines { await machine.close() }
            return
        }
        Issue.record("no command got a lease")
    }

    @Test func `a purge or a POST on one machine invalidates the entries of the others`() async throws {
        let version = Locked(0)
        let held = Gate()
        let origin = try ScriptedOrigin { request in
            guard request.method == "GET" else { return .status(204) }
            let present = version.withLock { $0 }
            return Behaviour(Representation(seed: 90 + UInt64(present), size: Self.size, etag: "\"\(present)\"")).with {
                $0.fields = [("Cache-Control", "max-age=600")]
                if request["x-held"] != nil { $0.gate = held }
            }
        }
        let machines = try ["a", "b", "c", "d"].map { try machine("purge-\($0)", prefix: "purge") }
        let (one, other, filling, later) = (machines[0], machines[1], machines[2], machines[3])
        let url = origin.url("/a")
        func isOf(_ number: Int, _ file: CachedFile) -> Bool {
            Representation(seed: 90 + UInt64(number), size: Self.size).content.equalsFile(at: file.path)
        }
        for machine in [one, other] { #expect(isOf(0, try await machine.file(for: url))) }
        #expect(await eventually { one.remoteStatistics?.honoursConditions == true })

        version.withLock { $0 += 1 }
        _ = try await one.remove(.url(url))
        #expect(await eventually { other.remoteStatistics?.receivedInvalidations ?? 0 >= 1 })
        #expect(isOf(1, try await other.file(for: url)))

        var slow = FileRequest(origin.url("/b"))
        slow.fields[try #require(HTTPField.Name("X-Held"))] = "1"
        let late = Task { [slow] in try await filling.file(for: slow) }
        #expect(await origin.waits { $0.contains { $0.request.path == "/b" } })
        version.withLock { $0 += 1 }
        let answer = try await one.forward(ForwardRequest(origin.url("/b"), method: .post))
        #expect(answer.head.status.code == 204)
        #expect(await eventually { one.remoteStatistics?.invalidations ?? 0 >= 2 })
        held.open()
        #expect(isOf(1, try await late.value))
        await filling.close()
        #expect(isOf(2, try await later.file(for: origin.url("/b"))))
        #expect(later.remoteStatistics?.hits == 0)
        for machine in [one, other, later] { await machine.close() }
    }

    @Test func `wrong credentials are reported in one line at the start, and the origin is asked`() async throws {
        let origin = try ScriptedOrigin { _ in Behaviour(Representation(seed: 83, size: 1000)) }
        let lines = RecordedLines()
        let machine = try machine("wrong", secret: "wrong", logger: lines.logger)
        #expect(await eventually { lines.all.contains { $0.contains("refuses the credentials") } })
        for number in 0..<6 { _ = try await machine.file(for: origin.url("/\(number)")) }
        #expect(lines.all.count == 1 && origin.requests.count == 6)
        await machine.close()
    }

    @Test func `rm --fleet removes the entry of another machine`() async throws {
        let origin = try ScriptedOrigin { _ in
            Behaviour(Representation(seed: 84, size: 1000)).with { $0.fields = [("Cache-Control", "max-age=600")] }
        }
        let machine = try machine("rm", prefix: "rm")
        _ = try await machine.file(for: origin.url("/a"))
        #expect(await eventually { machine.remoteStatistics?.uploads == 1 })
        let work = try TestWorkspace(sharing: store)
        // On a busy computer a request may take longer than it is given; it is tried again until it has succeeded.
        let outcome = try await work.run("rm", "--fleet", "s3://\(ObjectStore.bucket)/rm", origin.url("/a"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(await eventually { machine.remoteStatistics?.receivedInvalidations == 1 })
        _ = try await machine.file(for: origin.url("/a"))
        #expect(origin.requests.count == 2)
        await machine.close()
    }
}
