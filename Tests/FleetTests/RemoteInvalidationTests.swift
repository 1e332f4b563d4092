import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import HTTPTypes
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

@testable import Fleet

/// An invalidation by one machine ends what the others have: at the next look-up in the store, and on their disks and in memory within the interval.
@Suite("Invalidations in a store that machines share", .timeLimit)
struct RemoteInvalidationTests {
    private let store = FakeObjectStore()
    /// The origin's present version, which a POST replaces by the next one.
    private let version = Locked<UInt8>(1)

    private func content(_ version: UInt8) -> ScriptedRepresentation {
        ScriptedRepresentation(
            ScriptedRepresentation.bytes(5000, seed: version), etag: "\"\(version)\"", [.cacheControl: "max-age=1000"])
    }

    private func machine(
        in directory: TestDirectory? = nil, prefix: String = "ci", interval: Duration? = .milliseconds(10),
        _ delay: @escaping @Sendable (ScriptedResponse) -> ScriptedResponse = { $0 }
    ) throws -> Bench {
        var remote = try store.configuration(prefix: prefix)
        remote.invalidationInterval = interval
        return try Bench(.shared, in: directory) { [remote] in
            $0.remote = remote
        } script: { [self] request in
            guard request.method == .get else {
                version.withLock { $0 += 1 }
                return ScriptedResponse(.noContent)
            }
            return delay(content(version.withLock { $0 }).response(to: request))
        }
    }

    private func body(_ machine: Bench, _ consumer: Bench.Consumer = .file) async throws -> Body {
        try await machine.get(consumer).body
    }

    /// The ways to invalidate one URL.
    enum Way: String, CaseIterable, Sendable {
        case post, request, url, entry, prefix, host, everything

        /// Those that name several URLs.
        static let ofSeveral: [Way] = [.prefix, .host, .everything]
    }

    private func invalidate(_ machine: Bench, _ way: Way) async throws {
        if way != .post { version.withLock { $0 += 1 } }
        switch way {
        case .post: _ = try await machine.get(.proxied) { $0.method = .post }
        case .request: _ = try await machine.cache.remove(FileRequest(Bench.url))
        case .url: _ = try await machine.cache.remove(.url(Bench.url))
        case .entry:
            let id = try #require(try await machine.cache.entries().first?.id)
            _ = try await machine.cache.remove(.entry(id))
        case .prefix: _ = try await machine.cache.remove(.prefix("http://origin.example/"))
        case .host: _ = try await machine.cache.remove(.host("origin.example"))
        case .everything: _ = try await machine.cache.remove(.everything)
        }
    }

    private func received(_ machine: Bench) -> Int { machine.cache.remoteStatistics?.receivedInvalidations ?? 0 }

    // MARK: Disk and memory

    @Test(arguments: Way.allCases, Bench.Consumer.allCases)
    func `an invalidation ends the copies on the disk and in memory of another machine`(
        _ way: Way, _ consumer: Bench.Consumer
    ) async throws {
        let (one, other) = (try machine(), try machine())
        for machine in [one, other] { #expect(try await body(machine, consumer) == content(1).content) }
        _ = try await other.get(.proxied)
        try await invalidate(one, way)
        #expect(await eventually { received(other) >= 1 })
        #expect(try await body(other, consumer) == content(2).content)
        #expect(try await body(one, consumer) == content(2).content)
    }

    @Test func `a machine that was off learns of an invalidation when it starts again`() async throws {
        let directory = try TestDirectory()
        let (one, other) = (try machine(interval: nil), try machine(in: directory))
        #expect(try await body(other) == content(1).content)
        // It has looked at the log, and knows where it ends.
        #expect(await eventually { store.count(.get, of: "bell") >= 2 })
        await other.cache.close()
        try await invalidate(one, .request)
        await one.cache.close()
        let again = try machine(in: directory)
        #expect(await eventually { received(again) == 1 })
        #expect(try await body(again) == content(2).content)
        await again.cache.close()
        let before = store.count(.get, of: "bell")
        let third = try machine(in: directory)
        #expect(await eventually { store.count(.get, of: "bell") >= before + 2 })
        #expect(try await body(third) == content(2).content && received(third) == 0 && third.sent.isEmpty)
    }

    @Test func `concurrent invalidations of many machines are all received`() async throws {
        let watcher = try machine()
        _ = try await body(watcher)
        let machines = try (0..<6).map { _ in try machine(interval: nil) }
        await withTaskGroup(of: Void.self) { group in
            for (number, machine) in machines.enumerated() {
                group.addTask {
                    for url in 0..<5 {
                        _ = try? await machine.cache.remove(FileRequest("http://origin.example/\(number)/\(url)"))
                    }
                    // Closing drops what a slow store has not taken within its time.
                    #expect(await eventually { machine.cache.remoteStatistics?.waitingInvalidations == 0 })
                    await machine.cache.close()
                }
            }
        }
        // An invalidation whose upload seemed to fail is reported twice.
        #expect(await eventually { received(watcher) >= 30 })
    }

    @Test func `fleets with other prefixes do not see each other`() async throws {
        let (one, other, third) = (try machine(), try machine(prefix: "other"), try machine())
        for machine in [one, other, third] { _ = try await body(machine) }
        #expect(other.sent == ["GET"] && third.sent.isEmpty)
        try await invalidate(one, .request)
        #expect(await eventually { received(third) == 1 })
        #expect(try await body(other) == content(1).content && received(other) == 0)
    }

    // MARK: Look-ups and fills

    @Test func `a fill in flight elsewhere does not bring the old bytes back`() async throws {
        let gate = AsyncGate()
        // It does not hear of the invalidation before it uploads.
        let filling = try machine(interval: nil) { $0.after(gate) }
        async let late = body(filling)
        #expect(await eventually { filling.sent.count == 1 })
        let one = try machine()
        try await invalidate(one, .post)
        #expect(await eventually { one.cache.remoteStatistics?.invalidations == 1 })
        gate.open()
        #expect(try await late == content(1).content, "it was asked for before")
        await filling.cache.close()
        #expect(store.keys.count == 1, "it was uploaded, and is of an old generation")
        let other = try machine()
        #expect(try await body(other) == content(2).content && other.sent == ["GET"])
        await other.cache.close()
        let third = try machine()
        #expect(try await body(third) == content(2).content && third.sent.isEmpty)
    }

    @Test func `a confirmation that was under way does not bring the old bytes back`() async throws {
        let filled = try machine()
        _ = try await body(filled)
        await filled.cache.close()
        let gate = AsyncGate(isOpen: true)
        let stale = try machine(interval: nil) { $0.after(gate) }
        #expect(try await body(stale) == content(1).content)
        gate.close()
        stale.advance(seconds: 2000)
        async let confirmed = body(stale)
        #expect(await eventually { stale.sent.count == 1 })
        let one = try machine()
        try await invalidate(one, .request)
        #expect(await eventually { one.cache.remoteStatistics?.invalidations == 1 })
        version.withLock { $0 = 1 }
        gate.open()
        #expect(try await confirmed == content(1).content)
        await stale.cache.close()
        version.withLock { $0 = 2 }
        let other = try machine()
        #expect(try await body(other) == content(2).content)
    }

    @Test func `an invalidation that the store did not take is sent later, and the old object stays unused`()
        async throws
    {
        let (one, other) = (try machine(), try machine())
        for machine in [one, other] { _ = try await body(machine) }
        store.fault = .status500
        try await invalidate(one, .post)
        #expect(try await body(one) == content(2).content)
        #expect(one.cache.remoteStatistics?.waitingInvalidations == 1)
        store.fault = nil
        #expect(await eventually { received(other) == 1 })
        #expect(try await body(other) == content(2).content)
    }

    @Test func `an invalidation that was never sent is counted`() async throws {
        let one = try machine()
        store.fault = .status500
        try await invalidate(one, .request)
        #expect(await one.cache.tellFleet(within: .milliseconds(10)) == 1)
        #expect(one.cache.remoteStatistics?.lostInvalidations == 1)
    }

    @Test func `an invalidation after the end of the cache is counted as lost, and not sent`() async throws {
        let machine = try machine()
        _ = try await body(machine)
        await machine.cache.close()
        let remote = try #require(machine.cache.tier as? RemoteCache)
        remote.invalidate([], url: Bench.url, allOwners: true)
        #expect(remote.statistics.lostInvalidations == 1)
        #expect(remote.state.withLock { $0.publisher == nil })
        remote.invalidate(.everything)
        #expect(remote.statistics.lostInvalidations == 2)
    }

    @Test func `a response fetched after an invalidation is shared, also by the machine that invalidated`() async throws
    {
        let one = try machine()
        _ = try await body(one)
        try await invalidate(one, .post)
        #expect(try await body(one) == content(2).content)
        await one.cache.close()
        let before = store.count(.get, of: "bell")
        let other = try machine()
        // Otherwise news that arrives in the middle of a look-up makes it begin again, at the origin.
        #expect(await eventually { store.count(.get, of: "bell") >= before + 2 })
        #expect(try await body(other) == content(2).content && other.sent.isEmpty)
    }

    @Test(arguments: [404, 410])
    func `a response whose resource is gone is used by no other machine`(_ status: Int) async throws {
        try await fill()
        let one = try machine { _ in ScriptedResponse(.init(code: status)) }
        let failure = await one.failure(.file) { $0.policy = .reloadRevalidatingCacheData }
        #expect(failure == .status(status))
        #expect(await eventually { one.cache.remoteStatistics?.invalidations == 1 })
        await one.cache.close()
        let other = try machine { _ in ScriptedResponse(.init(code: status)) }
        #expect(await other.failure(.file) == .status(status))
    }

    // MARK: Several URLs

    /// Has a machine ask the origin, and upload what it gets.
    private func fill() async throws {
        let machine = try machine()
        _ = try await body(machine)
        await machine.cache.close()
        #expect(store.keys.count == 1)
    }

    @Test(arguments: Way.ofSeveral, [Duration.milliseconds(10), nil])
    func `a purge covers objects of URLs that the purging machine does not have`(
        _ way: Way, _ interval: Duration?
    ) async throws {
        try await fill()
        let (one, running) = (try machine(interval: interval), try machine(interval: interval))
        try await invalidate(one, way)
        #expect(try await body(one) == content(2).content, "before the fleet knows")
        #expect(await eventually { one.cache.remoteStatistics?.waitingInvalidations == 0 })
        // The log as read within the last interval is as good as the present one.
        if let interval { try await Task.sleep(for: interval) }
        #expect(try await body(running) == content(2).content)
        // Later responses are shared again.
        await running.cache.close()
        let started = try machine(interval: interval)
        #expect(try await body(started) == content(2).content && started.sent.isEmpty)
    }

    @Test(arguments: Way.ofSeveral)
    func `a purging machine uses no old object before the fleet is notified`(_ way: Way) async throws {
        try await fill()
        let gate = AsyncGate()
        store.hold("news", at: gate)
        let one = try machine()
        _ = try await body(one)
        try await invalidate(one, way)
        #expect(try await body(one) == content(2).content)
        #expect(one.cache.remoteStatistics?.waitingInvalidations == 1)
        gate.open()
        #expect(await eventually { one.cache.remoteStatistics?.waitingInvalidations == 0 })
        #expect(try await body(one) == content(2).content)
    }

    @Test(arguments: Way.ofSeveral)
    func `a fill in progress does not restore bytes that a purge of several URLs removed`(_ way: Way) async throws {
        let gate = AsyncGate()
        let filling = try machine(interval: nil) { $0.after(gate) }
        async let late = body(filling)
        #expect(await eventually { filling.sent.count == 1 })
        let one = try machine()
        try await invalidate(one, way)
        #expect(await eventually { one.cache.remoteStatistics?.invalidations == 1 })
        gate.open()
        _ = try await late
        await filling.cache.close()
        let other = try machine()
        #expect(try await body(other) == content(2).content && other.sent == ["GET"])
    }

    @Test func `URLs outside a purged prefix stay shared`() async throws {
        try await fill()
        let one = try machine()
        _ = try await one.cache.remove(.prefix(Bench.url + "/"))
        #expect(await eventually { one.cache.remoteStatistics?.invalidations == 1 })
        let other = try machine()
        #expect(try await body(other) == content(1).content && other.sent.isEmpty)
    }

    @Test(arguments: Way.ofSeveral)
    func `a starting machine sees a purge even if the log head is outdated`(_ way: Way) async throws {
        try await fill()
        let one = try machine(interval: nil)
        _ = try await one.cache.remove(FileRequest("http://origin.example/other"))
        #expect(await eventually { one.cache.remoteStatistics?.invalidations == 1 })
        let logHead = "/bucket/ci/v1/bell"
        let former = try #require(store.bytes(of: logHead))
        try await invalidate(one, way)
        #expect(await eventually { one.cache.remoteStatistics?.invalidations == 2 })
        store.edit(logHead) { _ in former }
        let other = try machine()
        #expect(try await body(other) == content(2).content && other.sent == ["GET"])
    }
}
