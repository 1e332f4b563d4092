import ConcurrencyPrimitives
import Foundation
import TestSupport
import Testing

/// Services on an object store of several nodes, behind one address.
@Suite(
    .fewAtATime(limit: .seconds(300)),
    .enabled(if: ObjectStore.seaweedUnavailableReason == nil, "\(ObjectStore.seaweedUnavailableReason ?? "")"),
    .enabled(if: Nginx.unavailableReason == nil, "\(Nginx.unavailableReason ?? "")"))
struct StoreNodesTests {
    private static let place = "s3://\(ObjectStore.bucket)/nodes"
    private static let count = 40

    private func service(_ origin: ScriptedOrigin, _ store: SeaweedCluster) async throws -> ServerProcess {
        try await ServerProcess(
            origin: origin.url(""), "--remote", Self.place, environment: ObjectStore.environment(store.endpoint))
    }

    private static func paths(_ name: String) -> [String] {
        (0..<count).flatMap { ["/\(name)-\($0)", "/image/w=64,f=png/\(name)-\($0)"] }
    }

    /// Has services ask the origin until all originals and their thumbnails are in the store.
    ///
    /// - Returns: The thumbnails, by the number of their picture.
    private func fill(_ origin: ScriptedOrigin, _ store: SeaweedCluster) async throws -> [Int: [UInt8]] {
        var thumbnails: [Int: [UInt8]] = [:]
        var status = ""
        // On a busy computer an upload may take longer than it is given, and the store may respond 500 at first.
        for _ in 0..<20 {
            let service = try await service(origin, store)
            let client = try Client(service.port)
            for path in Self.paths("old") {
                let answer = try #require(client.get(path))
                #expect(answer.status == 200, "\(answer.text)")
                if path.hasPrefix("/image/") { thumbnails[Self.number(of: path)] = answer.body }
            }
            await service.stop()
            let command = try ChildProcess(
                CommandRunner.executable, ["fleet", "status", Self.place],
                environment: ProcessInfo.processInfo.environment.merging(ObjectStore.environment(store.endpoint)) { $1 }
            )
            _ = await command.end()
            status = command.output
            if status.contains("responses   \(Self.count) objects"), status.contains(" \(Self.count) objects") {
                return thumbnails
            }
        }
        throw TestSetupFailure("the store does not get everything: \(status)")
    }

    private static func number(of path: String) -> Int {
        (Int(path.split(separator: "-").last ?? "") ?? 0) % NumberedPictures.count
    }

    @Test func `a volume server and a gateway killed under load lose no data and cause no wrong response`() async throws
    {
        let store = try await SeaweedCluster()
        let isGone = Gate()
        let origin = try NumberedPictures.origin { isGone.isOpen }
        let thumbnails = try await fill(origin, store)
        @Sendable func isRight(_ answer: Client.Response?, _ path: String) -> Bool {
            let body = path.hasPrefix("/image/") ? thumbnails[Self.number(of: path)] : NumberedPictures.picture(path)
            return answer?.status == 200 && answer?.body == body
        }

        var generator = SeededGenerator(for: "StoreNodes")
        let services = [try await service(origin, store), try await service(origin, store)]
        let asked = services.flatMap { service in
            (Self.paths("old") + Self.paths("new")).map { (port: service.port, path: $0) }
        }.shuffled(using: &generator)
        let progress = Locked(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    while true {
                        let index = progress.withLock { next in
                            defer { next += 1 }
                            return next
                        }
                        guard index < asked.count else { return }
                        if index == asked.count / 3 { await store.kill(.volumeServer(0)) }
                        if index == asked.count * 2 / 3 { await store.kill(.gateway(0)) }
                        let (port, path) = asked[index]
                        let answer = try Client(port).get(path)
                        #expect(isRight(answer, path), "\(path): \(answer?.statusLine ?? "no response")")
                    }
                }
            }
            try await group.waitForAll()
        }

        // The origin is down, so only the store can provide them.
        isGone.open()
        var missing = Set(Self.paths("old"))
        for _ in 0..<20 where !missing.isEmpty {
            let service = try await service(origin, store)
            for path in missing.sorted() {
                let answer = try Client(service.port).get(path)
                if isRight(answer, path) { missing.remove(path) } else { #expect(answer?.status != 200) }
            }
        }
        #expect(missing.isEmpty)
    }
}
