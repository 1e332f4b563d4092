import ConcurrencyPrimitives
import Foundation
import TestSupport
import Testing

/// Two services on one store, and clients that never stop asking while what they ask for is changed and purged.
@Suite(.fewAtATime(limit: .seconds(180))) struct InvalidationTests {
    private static let token = "a token for tests"
    private static let rounds = 55

    /// The origin's present version, and the versions that must no longer be served.
    private struct Versions {
        var current = 1
        /// All versions below this one are invalidated, as confirmed to a client.
        var least = 1
        var requests = 0
        var old: [String] = []
        var isOver = false
    }

    private let versions = Locked(Versions())
    private let origin: ScriptedOrigin
    private let servers: [ServerProcess]

    init() async throws {
        origin = try ScriptedOrigin(sendBuffer: nil) { [versions] request in
            let version = versions.withLock { versions in
                if request.method == "POST" { versions.current += 1 }
                return versions.current
            }
            let body = Array("\(version)".utf8)
            let fields = [("Cache-Control", "max-age=3600"), ("Content-Length", "\(body.count)")]
            return [.head(status: 200, fields: fields), .body(body)]
        }
        let first = try await Self.server(origin, nil)
        servers = [first, try await Self.server(origin, first.directory)]
    }

    private static func server(_ origin: ScriptedOrigin, _ directory: TestDirectory?) async throws -> ServerProcess {
        try await ServerProcess(
            origin: origin.url(""), "--admin", "127.0.0.1:0", environment: ["IMGCACHE_ADMIN_TOKEN": token],
            directory: directory)
    }

    /// Sends requests repeatedly, and records responses that are older than an invalidation before their request.
    private func hammer(_ server: ServerProcess) throws {
        let client = try Client(server.port)
        while true {
            let (least, isOver) = versions.withLock { ($0.least, $0.isOver) }
            if isOver { return }
            guard let answer = client.get("/a"), let version = Int(answer.text) else {
                return versions.withLock { $0.old.append("no answer") }
            }
            versions.withLock { versions in
                versions.requests += 1
                if version < least {
                    versions.old.append("\(version) instead of \(least): \(answer["Cache-Status"] ?? "")")
                }
            }
        }
    }

    /// Changes the resource by POST and purges it by PURGE, in turn, through one service and the other.
    private func invalidate() throws {
        let clients = try servers.map { try Client($0.port) }
        let admins = try servers.map { try Client($0.adminPort()) }
        for round in 0..<Self.rounds * 2 {
            let index = round / 2 % 2
            if round % 2 == 0 {
                let answer = clients[index].ask("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
                #expect(answer?.status == 200)
            } else {
                versions.withLock { $0.current += 1 }
                let answer = admins[index].ask(
                    "PURGE /a HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(Self.token)\r\n\r\n")
                #expect(answer?.status == 200 || answer?.status == 404)
            }
            versions.withLock { $0.least = $0.current }
            usleep(2000)
        }
    }

    @Test func `under 55 POST and 55 PURGE in turn no client of two services gets an old version`() async throws {
        defer { versions.withLock { $0.isOver = true } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for server in servers + servers { group.addTask { try await onThreadOfItsOwn { try hammer(server) } } }
            try await onThreadOfItsOwn { try invalidate() }
            versions.withLock { $0.isOver = true }
            try await group.waitForAll()
        }
        let (old, requests, last) = versions.withLock { ($0.old, $0.requests, $0.least) }
        #expect(old.isEmpty, "\(old.count) of \(requests): \(old.prefix(5))")
        #expect(requests > Self.rounds)
        for server in servers { #expect(try Client(server.port).get("/a")?.text == "\(last)") }
        // Later responses come from the store again.
        let asked = origin.requests.count
        for server in servers { #expect(try Client(server.port).get("/a")?.text == "\(last)") }
        #expect(origin.requests.count == asked)
    }
}
