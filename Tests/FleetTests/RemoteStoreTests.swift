import CacheTestSupport
import ConcurrencyPrimitives
import Fleet
import Foundation
import HTTPTypes
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// Caches on several machines that share what they have through an object store.
@Suite("A store that machines share", .timeLimit)
struct RemoteStoreTests {
    private let representation = ScriptedRepresentation(ScriptedRepresentation.bytes(5000))
    private let store = FakeObjectStore()

    /// A cache with its own directory.
    private func machine(
        _ mode: CacheMode = .private, _ representation: ScriptedRepresentation? = nil,
        _ change: (inout RemoteStoreConfiguration) -> Void = { _ in }
    ) throws -> Bench {
        var remote = try store.configuration()
        change(&remote)
        return try Bench(mode) { [remote] in
            $0.remote = remote
        } script: { [representation = representation ?? self.representation] in
            representation.response(to: $0)
        }
    }

    /// Has one machine download it, and waits until it has been uploaded.
    private func fill(_ representation: ScriptedRepresentation? = nil, _ url: String = Bench.url) async throws {
        let machine = try machine(.private, representation)
        _ = try await machine.cache.file(for: url)
        await machine.cache.close()
    }

    // MARK: Hits

    @Test(arguments: Bench.Consumer.allCases)
    func `a machine gets a response that another has downloaded without asking the origin`(
        _ consumer: Bench.Consumer
    ) async throws {
        try await fill()
        #expect(store.count(.put) == 1)
        let other = try machine()
        for _ in 0..<2 { #expect(try await other.get(consumer).body == representation.content) }
        #expect(other.sent.isEmpty)
        #expect(
            store.count(.get) == 3, "the first machine's look-ups for a lease, and the second's: then it is on the disk"
        )
        #expect(other.cache.remoteStatistics?.hits == 1)
    }

    @Test func `a hit from the remote store reports its source`() async throws {
        try await fill()
        let other = try machine()
        let file = try await other.cache.file(for: Bench.url)
        #expect(file.source == .remote && file.bytesTransferred == 5000)
        #expect("\(file.cacheStatus)" == "imgcache; hit; ttl=60; detail=REMOTE")
        #expect(try await other.cache.file(for: Bench.url).source == .disk)
    }

    @Test func `a remote body that cannot be decoded is fetched from the origin once`() async throws {
        try await fill(ScriptedRepresentation(Array("<html>".utf8)))
        let other = try machine(.private, ScriptedRepresentation(Array("[1]".utf8), etag: "\"2\""))
        let value = try await other.cache.value(for: other.request(), as: [Int].self)
        #expect(value.value == [1] && value.unusedReason == .damaged)
        #expect(other.sent.count == 1)
    }

    @Test func `a key in the store does not reveal its URL`() async throws {
        try await fill()
        let key = try #require(store.keys.first)
        let digest = key.split(separator: "/").last ?? ""
        #expect(key == "/bucket/ci/v1/obj/\(digest.prefix(2))/\(digest)" && digest.count == 64)
    }

    @Test func `a response from the remote store keeps its age`() async throws {
        try await fill()
        let other = try machine()
        other.advance(seconds: 40)
        let response = try await other.cache.response(for: FileRequest(Bench.url))
        #expect(response.head.headerFields[.age] == "40" && other.sent.isEmpty)
    }

    @Test(arguments: Bench.Consumer.allCases)
    func `a stale remote response is revalidated at the origin, and written back fresh`(_ consumer: Bench.Consumer)
        async throws
    {
        try await fill()
        let other = try machine()
        other.advance(seconds: 61)
        #expect(try await other.get(consumer).body == representation.content)
        #expect(other.transport.requests.map { $0.fields[.ifNoneMatch] } == ["\"1\""])
        await other.cache.close()
        #expect(store.count(.put) == 2)
        let third = try machine()
        third.advance(seconds: 62)
        #expect(try await third.get(consumer).body == representation.content)
        #expect(third.sent.isEmpty)
    }

    @Test func `a remote variant for other fields is not used`() async throws {
        let varying = ScriptedRepresentation(
            representation.bytes, [.cacheControl: "max-age=60", .vary: "Accept-Language"])
        let one = try machine(.private, varying)
        _ = try await one.get(.file) { $0.fields[.acceptLanguage] = "de" }
        await one.cache.close()
        let other = try machine(.private, varying)
        _ = try await other.get(.file) { $0.fields[.acceptLanguage] = "fr" }
        #expect(other.sent.count == 1)
        let third = try machine(.private, varying)
        await other.cache.close()
        _ = try await third.get(.file) { $0.fields[.acceptLanguage] = "fr" }
        #expect(third.sent.isEmpty)
    }

    @Test(arguments: [CachePolicy.reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData])
    func `a reload asks the origin and shares the result`(_ policy: CachePolicy) async throws {
        try await fill()
        let other = try machine()
        _ = try await other.get(.file) { $0.policy = policy }
        #expect(other.sent == ["GET"] && store.count(.get) == 2, "the first machine's look-ups")
        await other.cache.close()
        #expect(store.count(.put) == 2)
    }

    @Test func `a remote response with another digest than the request demands is not used`() async throws {
        try await fill()
        let other = try machine()
        let code = await other.failure(.file) { $0.sha256 = String(repeating: "0", count: 64) }
        #expect(code == .wrongBytes && other.sent == ["GET"])
    }

    // MARK: Limits of sharing

    /// Requests and responses that belong to one user.
    enum Private: String, CaseIterable, Sendable {
        case privateResponse, setCookie, owner, authorization, userinfo, cookie, ownKey, noStore, tooLong
    }

    @Test(arguments: Private.allCases, Bench.Consumer.allCases)
    func `nothing private is shared`(_ reason: Private, _ consumer: Bench.Consumer) async throws {
        var representation = representation
        switch reason {
        case .privateResponse: representation.fields[.cacheControl] = "max-age=60, private"
        case .setCookie: representation.fields[.setCookie] = "a=b"
        case .noStore: representation.fields[.cacheControl] = "no-store"
        default: break
        }
        let machine = try machine(.private, representation) { if reason == .tooLong { $0.maxBodySize = 4999 } }
        _ = try await machine.get(consumer) { request in
            switch reason {
            case .owner: request.owner = "anna"
            case .authorization: request.fields[.authorization] = "Bearer t"
            case .userinfo: request.url = "http://user:password@origin.example/a"
            case .cookie: request.fields[.cookie] = "a=b"
            case .ownKey: request.key = "http://origin.example/other"
            default: break
            }
        }
        await machine.cache.close()
        #expect(store.count(.put) == 0 && store.keys.isEmpty)
        if [.owner, .authorization, .userinfo, .cookie, .ownKey].contains(reason) { #expect(store.count(.get) == 0) }
    }

    @Test func `private responses are shared among machines for one owner if that is enabled`() async throws {
        let representation = ScriptedRepresentation(
            representation.bytes, [.cacheControl: "max-age=60, private"])
        func machine() throws -> Bench {
            try self.machine(.private, representation) { $0.sharesPrivateResponses = true }
        }
        let one = try machine()
        _ = try await one.get(.file) { $0.owner = "anna" }
        await one.cache.close()
        let (same, other) = (try machine(), try machine())
        _ = try await same.get(.file) { $0.owner = "anna" }
        _ = try await other.get(.file) { $0.owner = "bert" }
        #expect(same.sent.isEmpty && other.sent == ["GET"])
    }

    /// Credentials that no key contains, and private responses without credentials.
    enum Unnamed: String, CaseIterable, Sendable {
        case netrc, netrcFile, cookie, password, passwordInURL, twoCredentials, ownKey, privateResponse, setCookie

        func apply(to request: inout FileRequest) {
            switch self {
            case .netrc: request.transfer.netrc = .default
            case .netrcFile: request.transfer.netrc = .path("/home/anna/.netrc")
            case .cookie: request.fields[.cookie] = "user=anna"
            case .password: request.transfer.credentials = .init(user: "anna", password: "one")
            case .passwordInURL: request.url = "http://anna:one@origin.example/a"
            case .twoCredentials:
                request.transfer.credentials = .init(user: "token", password: "")
                request.fields[.authorization] = "Bearer anna"
            case .ownKey: request.key = "http://origin.example/other"
            case .privateResponse, .setCookie: break
            }
        }

        /// True if an owner says whose it is.
        var isOfRequest: Bool { self != .privateResponse && self != .setCookie }
    }

    @Test(arguments: Unnamed.allCases, [false, true])
    func `a private response whose key does not identify the owner is never shared`(
        _ reason: Unnamed, _ isNamed: Bool
    ) async throws {
        var representation = representation
        representation.fields[.cacheControl] = reason == .setCookie ? "max-age=60" : "max-age=60, private"
        if reason == .setCookie { representation.fields[.setCookie] = "user=anna" }
        let machines = try (0..<2).map { _ in
            try machine(.private, representation) { $0.sharesPrivateResponses = true }
        }
        for machine in machines {
            _ = try await machine.get(.file) { request in
                reason.apply(to: &request)
                if isNamed { request.owner = "anna" }
            }
            await machine.cache.close()
        }
        #expect(machines.map(\.sent.count) == (isNamed ? [1, 0] : [1, 1]))
        #expect(store.keys.count == (isNamed ? 1 : 0))
        if !isNamed, reason.isOfRequest { #expect(store.count(.get) == 0) }
    }

    @Test(arguments: ["Bearer one", "Bearer two"])
    func `a response to an Authorization field is shared with requests that have the same field`(_ field: String)
        async throws
    {
        let representation = ScriptedRepresentation(representation.bytes, [.cacheControl: "max-age=60, private"])
        let machines = try (0..<2).map { _ in
            try machine(.private, representation) { $0.sharesPrivateResponses = true }
        }
        for (machine, value) in zip(machines, ["Bearer one", field]) {
            _ = try await machine.get(.file) { $0.fields[.authorization] = value }
            await machine.cache.close()
        }
        #expect(machines.map(\.sent.count) == (field == "Bearer one" ? [1, 0] : [1, 1]))
    }

    // MARK: Failures

    @Test(arguments: FakeObjectStore.Fault.allCases, Bench.Consumer.allCases)
    func `the response is correct whatever the store does`(
        _ fault: FakeObjectStore.Fault, _ consumer: Bench.Consumer
    ) async throws {
        let another = ScriptedRepresentation(ScriptedRepresentation.bytes(3000, seed: 9))
        try await fill()
        try await fill(another, "http://origin.example/b")
        let other = try machine()
        store.fault = fault
        #expect(try await other.get(consumer).body == representation.content)
        #expect(other.sent == ["GET"])
        await other.cache.close()
        store.fault = nil
        let third = try machine()
        #expect(try await third.get(consumer).body == representation.content)
    }

    @Test(arguments: [FakeObjectStore.Fault.wrongBytes, .otherObject, .garbage, .noDigest, .shorter, .truncatedHead])
    func `an object that is not the one that was stored is deleted`(_ fault: FakeObjectStore.Fault) async throws {
        try await fill()
        try await fill(nil, "http://origin.example/b")
        let other = try machine(.private, ScriptedRepresentation(representation.bytes, [.cacheControl: "no-store"]))
        store.fault = fault
        _ = try await other.get(.file)
        #expect(other.cache.remoteStatistics?.damaged == 1 && other.cache.remoteStatistics?.misses == 1)
        await other.cache.close()
        #expect(store.count(.delete) == 1 && store.keys.count == 1)
    }

    @Test func `three failures of a dead store open its circuit, and the origin is asked`() async throws {
        store.fault = .dead
        let machine = try machine()
        for number in 0..<3 { _ = try await machine.cache.file(for: "http://origin.example/\(number)") }
        #expect(machine.cache.remoteStatistics?.isAvailable == false)
        #expect(machine.sent.count == 3)
    }

    @Test func `failing objects open the circuit of a store until objects can be read again`()
        async throws
    {
        try await fill()
        store.fault = .objects500
        let machine = try machine { $0.invalidationInterval = .milliseconds(10) }
        #expect(await eventually { machine.cache.remoteStatistics?.honoursConditions == true })
        for number in 0..<3 { _ = try await machine.cache.file(for: "http://origin.example/\(number)") }
        #expect(machine.cache.remoteStatistics?.isAvailable == false)
        let count = store.count(.get)
        // No request needs an object meanwhile, but the store is probed after a pause.
        #expect(await eventually { store.count(.get) > count })
        #expect(machine.cache.remoteStatistics?.isAvailable == false)
        store.fault = nil
        #expect(await eventually { machine.cache.remoteStatistics?.isAvailable == true })
        #expect(try await machine.cache.file(for: Bench.url).source == .remote)
    }

    @Test
    func
        `a look-up that waits too long for its turn is given up without counting as a failure`()
        async throws
    {
        try await fill()
        let gate = AsyncGate()
        let isHeld = Locked(true)
        let machine = try machine { remote in
            remote.invalidationInterval = nil
            remote.maxReads = 1
            remote.connectTimeout = .milliseconds(500)
            remote.firstByteTimeout = .milliseconds(500)
            let store = remote.transport
            remote.transport = DelayedTransport(store) { request in
                // The first look-up's object holds the only place, even if it is given up: it may have waited for the place itself.
                guard request.url.contains("/v1/obj/") else { return }
                let isFirst = isHeld.withLock { isHeld in
                    defer { isHeld = false }
                    return isHeld
                }
                if isFirst { await Task { await gate.wait() }.value }
            }
        }
        async let held = machine.cache.file(for: "http://origin.example/held")
        await gate.reached()
        let file = try await machine.cache.file(for: Bench.url)
        #expect(file.source == .network && !gate.isOpen)
        #expect(machine.cache.remoteStatistics?.isAvailable == true && machine.cache.remoteStatistics?.errors == 0)
        #expect(machine.cache.remoteStatistics?.misses == 1)
        gate.open()
        _ = try await held
    }

    @Test func `closing a cache does not wait for a pending read of the log`() async throws {
        let gate = AsyncGate()
        let machine = try machine { remote in
            remote.invalidationInterval = .milliseconds(1)
            remote.transport = DelayedTransport(remote.transport) { request in
                if request.url.contains("/v1/bell") { await gate.wait() }
            }
        }
        await gate.reached()
        await machine.cache.close(uploadingFor: .seconds(600))
        #expect(!gate.isOpen)
    }

    @Test func `one look-up opens the circuit of a store that hangs`() async throws {
        store.fault = .hung
        let machine = try machine()
        _ = try await machine.get(.file)
        #expect(machine.cache.remoteStatistics?.isAvailable == false)
        #expect(machine.sent == ["GET"])
    }

    @Test func `a look-up that takes too long ends those that wait with it`() async throws {
        let (gate, isLate) = (AsyncGate(), AsyncGate())
        let machine = try machine { remote in
            remote.invalidationInterval = nil
            remote.transport = ScriptedTransport { _ in
                isLate.isOpen ? .failure(.stalled) : ScriptedResponse(.ok, body: [1, 2]).pausing(after: 1, for: gate)
            }
        }
        let waiting = (0..<4).map { number in
            Task { try await machine.cache.file(for: "http://origin.example/\(number)") }
        }
        await gate.reached()
        isLate.open()
        let first = try await machine.cache.file(for: "http://origin.example/first")
        #expect(first.source == .network)
        for task in waiting { #expect(try await task.value.source == .network) }
        #expect(machine.sent.count == 5 && !gate.isOpen)
    }

    // MARK: Invalidation

    @Test func `the old object is not used after a POST, even if it cannot be deleted`() async throws {
        for fault in [nil, FakeObjectStore.Fault.status500] {
            try await fill()
            let machine = try machine()
            machine.advance(seconds: 1)
            store.fault = fault
            _ = try await machine.get(.proxied) { $0.method = .post }
            store.fault = nil
            _ = try await machine.get(.file)
            #expect(machine.sent == ["POST", "GET"])
            await machine.cache.close()
        }
    }

    @Test func `a removal deletes the remote object`() async throws {
        try await fill()
        let machine = try machine()
        machine.advance(seconds: 1)
        _ = try await machine.get(.file)
        _ = try await machine.cache.remove(FileRequest(Bench.url))
        _ = try await machine.get(.file)
        #expect(machine.sent == ["GET"])
        await machine.cache.close()
        let other = try self.machine()
        _ = try await other.get(.file)
        #expect(other.sent.isEmpty, "what the removal was followed by is shared")
    }
}
