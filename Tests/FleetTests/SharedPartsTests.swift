import CacheTestSupport
import ConcurrencyPrimitives
import Fleet
import Foundation
import HTTPTypes
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// Large bodies, which machines share in parts.
@Suite("Parts of large bodies", .timeLimit)
struct SharedPartsTests {
    private static let partSize = 256 << 10
    private static let count = 7
    private static let size = (count - 1) * partSize + 1000
    private static let bytes = ScriptedRepresentation.bytes(size)
    private let representation = ScriptedRepresentation(bytes)
    private let store = FakeObjectStore()

    /// A machine with its own directory.
    ///
    /// - Parameter cut: The bytes after which its origin fails.
    private func machine(
        _ representation: ScriptedRepresentation? = nil, cutAfter cut: Int? = nil,
        _ change: (inout RemoteStoreConfiguration) -> Void = { _ in },
        pausing: @escaping @Sendable (ScriptedResponse) -> ScriptedResponse = { $0 }
    ) throws -> Bench {
        var remote = try store.configuration()
        remote.partSize = Int64(Self.partSize)
        remote.maxBodySize = 100_000
        // No machine waits for the next part.
        remote.leaseTime = .zero
        change(&remote)
        return try Bench { [remote] in
            $0.remote = remote
        } script: { [representation = representation ?? self.representation] request in
            let response = pausing(representation.response(to: request))
            guard let cut else { return response }
            return request.number == 1 ? response.cut(after: cut) : .failure()
        }
    }

    /// Has one machine download it, and waits until it has been uploaded.
    private func fill(_ representation: ScriptedRepresentation? = nil) async throws {
        let machine = try machine(representation)
        _ = try await machine.get(.file)
        await machine.cache.close()
    }

    /// Has one machine download some of it, and die.
    private func begin(_ count: Int, _ representation: ScriptedRepresentation? = nil) async throws {
        let machine = try machine(representation, cutAfter: count)
        #expect(await machine.failure(.file) { $0.transfer.retry.maxRetries = 0 } == .unreachable)
        await machine.cache.close()
    }

    /// Expects that a further machine gets all of it from the store.
    private func expectShared() async throws {
        let machine = try machine()
        let file = try await machine.cache.file(for: machine.request())
        #expect(try Bench.body(of: file) == representation.content && file.source == .remote)
        #expect(machine.sent.isEmpty)
    }

    // MARK: Whole bodies

    @Test(arguments: Bench.Consumer.allCases)
    func `another machine gets a large body part by part, without asking the origin`(
        _ consumer: Bench.Consumer
    ) async throws {
        try await fill()
        #expect(store.partCount(.put) == Self.count && store.parts.count == Self.count)
        let other = try machine()
        for _ in 0..<2 { #expect(try await other.get(consumer).body == representation.content) }
        #expect(other.sent.isEmpty && store.partCount(.get) == Self.count)
        #expect(other.cache.remoteStatistics?.hits == 1)
        try await expectShared()
    }

    @Test func `a large body from the remote store keeps its age`() async throws {
        try await fill()
        let other = try machine()
        other.advance(seconds: 40)
        let response = try await other.cache.forward(other.request())
        #expect(response.head.headerFields[.age] == "40")
        #expect("\(response.cacheStatus)" == "imgcache; hit; ttl=20; detail=REMOTE")
        #expect(try await Bench.body(of: response) == representation.content && other.sent.isEmpty)
    }

    @Test func `a revalidation at the origin writes the list of parts again, but no part`() async throws {
        try await fill()
        let other = try machine()
        other.advance(seconds: 61)
        #expect(try await other.get(.file).body == representation.content)
        #expect(other.transport.requests.map { $0.fields[.ifNoneMatch] } == ["\"1\""])
        await other.cache.close()
        #expect(store.partCount(.put) == Self.count)
        let third = try machine()
        third.advance(seconds: 100)
        #expect(try await third.get(.file).body == representation.content && third.sent.isEmpty)
    }

    @Test func `a removal deletes the list of parts`() async throws {
        try await fill()
        let machine = try machine()
        _ = try await machine.get(.file)
        _ = try await machine.cache.remove(machine.request())
        await machine.cache.close()
        #expect(store.keys.isEmpty && store.parts.count == Self.count)
        let other = try self.machine()
        #expect(try await other.get(.file).body == representation.content)
        #expect(other.sent == ["GET"])
    }

    // MARK: Unfinished bodies

    @Test(arguments: [1, 2, 5].map { $0 * partSize + 300 }, [Bench.Consumer.file, .proxied])
    func `another machine resumes with the parts that a dead machine has uploaded`(
        _ received: Int, _ consumer: Bench.Consumer
    ) async throws {
        try await begin(received)
        let other = try machine()
        #expect(try await other.get(consumer).body == representation.content)
        let held = received / Self.partSize * Self.partSize
        #expect(other.transport.requests.map { $0.fields[.range] } == ["bytes=\(held)-"])
        #expect(other.transport.requests.map { $0.fields[.ifRange] } == ["\"1\""])
        #expect(other.cache.transferTotals.bytesReceived == Self.size - held)
        await other.cache.close()
        #expect(store.partCount(.put) == Self.count, "no part is uploaded twice")
        try await expectShared()
    }

    @Test func `parts that another machine uploads are taken as they appear, and the origin is not asked`() async throws
    {
        try await begin(2 * Self.partSize)
        let other = try machine { $0.leaseTime = .seconds(100) }
        async let followed = other.get(.file)
        #expect(await eventually { store.partCount(.get) >= Self.count })
        let first = try machine()
        _ = try await first.get(.file)
        await first.cache.close()
        #expect(try await followed.body == representation.content)
        #expect(other.sent.isEmpty && store.partCount(.put) == Self.count)
    }

    @Test(arguments: Bench.Consumer.allCases)
    func `machines that ask for a new large body at once get about one body from the origin`(
        _ consumer: Bench.Consumer
    ) async throws {
        let (head, rest) = (AsyncGate(), AsyncGate())
        let machines = try (0..<3).map { _ in
            try machine(
                nil, { $0.leaseTime = .seconds(300) },
                pausing: { [count = Self.partSize * 2] in $0.after(head).pausing(after: count, for: rest) })
        }
        let bodies = try await withThrowingTaskGroup(of: Body.self) { group in
            for machine in machines { group.addTask { try await machine.get(consumer).body } }
            // One has the lease; the others have looked at it.
            #expect(await eventually { store.count(.get, of: "lease") >= 4 })
            head.open()
            // The others have taken the first parts as they appeared.
            #expect(await eventually { store.partCount(.get) >= 2 })
            rest.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(bodies.allSatisfy { $0 == representation.content })
        #expect(machines.map(\.sent.count).sorted() == [0, 0, 1])
        #expect(machines.reduce(0) { $0 + $1.cache.transferTotals.bytesReceived } == Self.size)
        let counts = machines.compactMap(\.cache.remoteStatistics)
        #expect(counts.map(\.hits).sorted() == [0, 1, 1] && counts.map(\.misses).sorted() == [0, 0, 1])
        for machine in machines { await machine.cache.close() }
        #expect(store.keys(of: "lease").isEmpty)
    }

    @Test func `no machine waits for another whose parts the store refuses`() async throws {
        store.refusesParts = true
        let gate = AsyncGate()
        let machine = try machine(
            nil, { $0.leaseTime = .seconds(300) },
            pausing: { [count = Self.partSize * 2] in $0.pausing(after: count, for: gate) })
        async let file = machine.get(.file)
        #expect(await eventually { store.count(.put, of: "lease") == 1 && store.keys(of: "lease").isEmpty })
        gate.open()
        #expect(try await file.body == representation.content)
        await machine.cache.close(uploadingFor: .zero)
    }

    @Test func `another machine takes over when the one that asks the origin dies`() async throws {
        let gate = AsyncGate()
        let cut = Self.partSize * 3 + 10
        let dying = try machine(
            nil, { $0.leaseTime = .seconds(2) }, pausing: { $0.pausing(after: cut, for: gate).cut(after: cut) })
        async let end = dying.failure(.file) { $0.transfer.retry.maxRetries = 0 }
        #expect(await eventually { store.parts.count == 3 })
        let others = try (0..<2).map { _ in try machine { $0.leaseTime = .seconds(2) } }
        let bodies = try await withThrowingTaskGroup(of: Body.self) { group in
            for other in others { group.addTask { try await other.get(.file).body } }
            #expect(await eventually { store.partCount(.get) >= 6 })
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(await end == .unreachable)
        #expect(bodies.allSatisfy { $0 == representation.content })
        #expect(others.reduce(0) { $0 + $1.cache.transferTotals.bytesReceived } == Self.size - 3 * Self.partSize)
    }

    @Test(arguments: [FakeObjectStore.Listing.right, .ignoresPosition])
    func `a store that repeats its listing is not asked endlessly`(
        _ listing: FakeObjectStore.Listing
    ) async throws {
        try await begin(5 * Self.partSize)
        store.listing = listing
        let other = try machine()
        #expect(try await other.get(.file).body == representation.content)
        let held = (listing == .right ? 5 : 2) * Self.partSize
        #expect(other.transport.requests.map { $0.fields[.range] } == ["bytes=\(held)-"])
        #expect(store.listCount == (listing == .right ? 4 : 2))
    }

    @Test func `a machine resumes with its own partial and the parts of others`() async throws {
        let directory = try TestDirectory()
        var remote = try store.configuration()
        remote.partSize = Int64(Self.partSize)
        remote.maxBodySize = 100_000
        remote.leaseTime = .zero
        let one = try Bench(in: directory) {
            ScriptedRepresentation(Self.bytes).response(to: $0).cut(after: Self.partSize + 10)
        }
        #expect(await one.failure(.file) { $0.transfer.retry.maxRetries = 0 } == .unreachable)
        await one.cache.close()
        try await begin(4 * Self.partSize)
        let two = try Bench(in: directory) { [remote] in
            $0.remote = remote
        } script: {
            ScriptedRepresentation(Self.bytes).response(to: $0)
        }
        #expect(try await two.get(.file).body == representation.content)
        #expect(two.transport.requests.map { $0.fields[.range] } == ["bytes=\(4 * Self.partSize)-"])
        #expect(store.partCount(.get) == Self.count - 1, "the first one is on the disk")
        await two.cache.close()
        try await expectShared()
    }

    @Test(arguments: [Bench.Consumer.file, .proxied])
    func `parts of an earlier version are not used`(_ consumer: Bench.Consumer) async throws {
        try await begin(3 * Self.partSize)
        let new = ScriptedRepresentation(ScriptedRepresentation.bytes(Self.size, seed: 2), etag: "\"2\"")
        let other = try machine(new)
        #expect(try await other.get(consumer).body == new.content)
        #expect(other.transport.requests.map { $0.fields[.ifRange] } == ["\"1\""])
        await other.cache.close()
        let third = try machine(new)
        #expect(try await third.get(consumer).body == new.content && third.sent.isEmpty)
    }

    @Test func `a body with all its parts is only revalidated at the origin`() async throws {
        try await fill()
        // The list as it was while the parts were uploaded.
        let name = try #require(store.keys.first { !store.parts.contains($0) })
        store.edit(name) { object in
            let stamp = object.suffix(40)
            return Array(object.dropLast(stamp.count + Self.count * 32 + 1)) + [0] + stamp
        }
        let other = try machine()
        #expect(try await other.get(.file).body == representation.content)
        #expect(other.transport.requests.map { $0.fields[.range] } == ["bytes=\(Self.size - 1)-"])
        #expect(other.cache.transferTotals.bytesReceived <= 1)
    }

    @Test(arguments: [RemovalTarget.url(Bench.url), .prefix("http://origin.example/"), .everything])
    func `bytes from before and after a purge are not joined, although their validator is the same`(
        _ target: RemovalTarget
    ) async throws {
        try await fill()
        let purging = try machine()
        _ = try await purging.cache.remove(target)
        await purging.cache.close()
        let repaired = ScriptedRepresentation(ScriptedRepresentation.bytes(Self.size, seed: 2))
        // A machine that has only the first part of the repaired body, while the store has all of the former one.
        try await begin(Self.partSize + 300, repaired)
        let other = try machine(repaired)
        #expect(try await other.get(.file).body == repaired.content)
        #expect(other.transport.requests.map { $0.fields[.range] } == ["bytes=\(Self.partSize)-"])
        await other.cache.close()
        let third = try machine(repaired)
        #expect(try await third.get(.file).body == repaired.content && third.sent.isEmpty)
    }

    @Test func `a partial from before a purge by another machine is not resumed`() async throws {
        let repaired = ScriptedRepresentation(ScriptedRepresentation.bytes(Self.size, seed: 2))
        let isRepaired = Locked(false)
        var remote = try store.configuration()
        remote.invalidationInterval = .milliseconds(10)
        let machine = try Bench { [remote] in
            $0.remote = remote
        } script: { [representation] request in
            guard !isRepaired.withLock({ $0 }) else { return repaired.response(to: request) }
            return representation.response(to: request).cut(after: 3 * Self.partSize)
        }
        #expect(await machine.failure(.file) { $0.transfer.retry.maxRetries = 0 } == .unreachable)
        #expect(try machine.cache.blocking.statistics().partials == 1)
        let purging = try self.machine()
        _ = try await purging.cache.remove(.prefix("http://origin.example/"))
        #expect(await eventually { machine.cache.remoteStatistics?.receivedInvalidations == 1 })
        isRepaired.withLock { $0 = true }
        #expect(try await machine.get(.file).body == repaired.content)
        #expect(machine.transport.requests.last?.fields[.range] == nil)
    }

    // MARK: Failures

    /// Faults of one part in the store.
    enum PartFault: String, CaseIterable, Sendable {
        case missing, damaged, otherBytes, otherPart, shorter, longer, empty
    }

    private func harm(_ name: String, _ fault: PartFault) throws {
        let other = try #require(store.parts.first { $0 != name }.flatMap { store.bytes(of: $0) })
        store.edit(name, signs: fault != .damaged) { bytes in
            switch fault {
            case .missing: nil
            case .damaged, .otherBytes: bytes.dropLast() + [bytes[bytes.count - 1] ^ 1]
            case .otherPart: other
            case .shorter: bytes.dropLast()
            case .longer: bytes + [0]
            case .empty: []
            }
        }
    }

    @Test(arguments: PartFault.allCases, Bench.Consumer.allCases)
    func `a damaged or missing part is fetched from the origin`(
        _ fault: PartFault, _ consumer: Bench.Consumer
    ) async throws {
        try await fill()
        let name = try #require(store.parts.first { $0.hasSuffix("/2") })
        try harm(name, fault)
        let other = try machine()
        #expect(try await other.get(consumer).body == representation.content)
        let range = "bytes=\(2 * Self.partSize)-\(3 * Self.partSize - 1)"
        #expect(other.transport.requests.map { $0.fields[.range] } == [range])
        #expect(other.cache.remoteStatistics?.damaged == (fault == .missing ? 0 : 1))
        await other.cache.close()
        try await expectShared()
    }

    @Test(arguments: [FakeObjectStore.Fault.dead, .hung, .status503, .cut, .shorter], Bench.Consumer.allCases)
    func `a store that fails between parts does not cost the parts already read`(
        _ fault: FakeObjectStore.Fault, _ consumer: Bench.Consumer
    ) async throws {
        try await fill()
        store.fail(fault, after: 3)
        let other = try machine()
        #expect(try await other.get(consumer).body == representation.content)
        #expect(!other.sent.isEmpty && other.cache.transferTotals.bytesReceived < Self.size)
    }

    @Test(arguments: [FakeObjectStore.Fault.dead, .status500, .hung])
    func `a store that accepts nothing neither delays nor fails a download`(_ fault: FakeObjectStore.Fault) async throws
    {
        store.fault = fault
        let machine = try machine()
        #expect(try await machine.get(.file).body == representation.content)
        await machine.cache.close()
        #expect(store.keys.isEmpty)
    }

    @Test(arguments: [false, true])
    func `bytes of announced mirrors are shared only after the whole body is verified`(_ hasMirror: Bool) async throws {
        var representation = representation
        if hasMirror, let link = HTTPField.Name("Link") {
            representation.fields[link] = "<http://mirror.example/a>; rel=duplicate"
        }
        let machine = try machine(representation)
        #expect(try await machine.get(.file) { $0.usesAnnouncedMirrors = true }.body == representation.content)
        await machine.cache.close()
        #expect(store.parts.count == (hasMirror ? 0 : Self.count))
    }

    // MARK: Limits

    /// Bodies that are not shared in parts.
    enum Unshared: String, CaseIterable, Sendable {
        case privateResponse, setCookie, owner, ownKey, weakETag, noETag, tooLong, notStored
    }

    @Test(arguments: Unshared.allCases, [Bench.Consumer.file, .proxied])
    func `a body that is private, too long or without a strong validator has no parts`(
        _ reason: Unshared, _ consumer: Bench.Consumer
    ) async throws {
        var representation = representation
        switch reason {
        case .privateResponse: representation.fields[.cacheControl] = "max-age=60, private"
        case .setCookie: representation.fields[.setCookie] = "a=b"
        case .notStored: representation.fields[.cacheControl] = "no-store"
        case .weakETag: representation.etag = "W/\"1\""
        case .noETag: representation.etag = nil
        default: break
        }
        let machine = try machine(representation) {
            if reason == .tooLong { $0.maxSharedSize = Int64(Self.size) - 1 }
        }
        let body = try await machine.get(consumer) { request in
            if reason == .owner { request.owner = "anna" }
            if reason == .ownKey { request.key = "http://origin.example/other" }
            if reason == .notStored { request.noStoreBehavior = .deliver }
        }.body
        #expect(body == representation.content)
        await machine.cache.close()
        #expect(store.keys.isEmpty)
    }
}
