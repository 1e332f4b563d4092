import Foundation
import Glibc
import TestSupport
import Testing

/// A service without a descriptor left: for a while, and by its limits.
@Suite(.fewAtATime(limit: .seconds(180))) struct DescriptorShortageTests {
    /// Files whose images need every library, with profiles, so that lcms2 is needed too.
    private static let files = [
        "jpeg/Pillow__icc_profile_big.jpg", "png/Pillow__icc_profile.png", "webp/Pillow__hopper.webp",
        "gif/Pillow__hopper.gif", "avif/gen__p3.avif",
    ]

    private func origin() throws -> ScriptedOrigin {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../TestAssets")
        return try ScriptedOrigin { request in
            let bytes = (try? Data(contentsOf: folder.appending(path: request.path))).map { Array($0) } ?? []
            let fields = [("Cache-Control", "max-age=600"), ("Content-Length", "\(bytes.count)")]
            return [.head(status: bytes.isEmpty ? 404 : 200, fields: fields), .body(bytes)]
        }
    }

    /// The limit takes effect at each step of the first requests, once: whatever is opened once in the life of a process, and whatever
    /// notices that something cannot be opened, is among them.
    @Test(arguments: ["on", "off"], [0..<10, 10..<20])
    func `a request that runs out of descriptors is answered once descriptors are free`(
        isolation: String, rooms: Range<Int>
    ) async throws {
        let origin = try origin()
        let paths = ["/" + Self.files[0]] + Self.files.map { "/image/w=24,f=png/" + $0 }
        let calm = try await ServerProcess(origin: origin.url(""), "--isolate-decoders", isolation)
        let expected = try paths.map { try #require(try Client(calm.port).get($0)) }
        #expect(expected.allSatisfy { $0.status == 200 }, "\(expected.map(\.status))")
        for room in rooms {
            var answers: [Client.Response?] = []
            var server = try await ServerProcess(origin: origin.url(""), "--isolate-decoders", isolation)
            for _ in 0..<10 {
                answers = try answersAfterShortage(of: server, to: paths, withRoomFor: room)
                guard await hasBeenEndedByDispatch(server.process) else { break }
                server = try await ServerProcess(origin: origin.url(""), "--isolate-decoders", isolation)
            }
            for ((path, answer), expected) in zip(zip(paths, answers), expected) {
                #expect(answer?.status == 200, "\(room) left, \(path): \(server.process.errorOutput)")
                #expect(answer?.body == expected.body, "\(room) left, \(path): other bytes")
            }
        }
    }

    /// The answers that a service gives after a while in which it could open no more than so many files.
    private func answersAfterShortage(
        of server: ServerProcess, to paths: [String], withRoomFor room: Int
    ) throws -> [Client.Response?] {
        // Accepted before the shortage: a refused request proves it.
        let clients = try paths.map { _ in try Client(server.port) }
        for client in clients { #expect(client.get("/image/unknown/a")?.status == 400) }
        let highest = try server.process.descriptors.max() ?? 0
        let former = try server.process.limitDescriptors(below: rlim_t(highest + 1 + room))
        for (client, path) in zip(clients, paths) { client.send("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n") }
        for client in clients { _ = client.answer() }
        _ = try? server.process.limitDescriptors(below: former)
        return paths.map { path in (try? Client(server.port))?.get(path) }
    }

    /// Work in a worker goes on while another worker cannot be started.
    @Test func `a lack of descriptors ends no work that has begun`() async throws {
        let (picture, loop) = (GradientPicture.bytes, GradientPicture.bytes + DecoderHelper.mark("loop"))
        let origin = try ScriptedOrigin { request in
            let bytes = request.path == "/loop" ? loop : picture
            let fields = [("Cache-Control", "max-age=600"), ("Content-Length", "\(bytes.count)")]
            return [.head(status: 200, fields: fields), .body(bytes)]
        }
        var hasEnded = true
        for _ in 0..<10 where hasEnded {
            let server = try await ServerProcess(
                origin: origin.url(""), "--image-timeout", "10min",
                environment: ["IMGCACHE_TEST_DECODER_FAULTS": "1"])
            let client = try Client(server.port)
            #expect(client.get("/image/w=64/picture")?.status == 200)
            let waiting = try Client(server.port, asking: "/image/w=64/loop")
            let processes = { try DecoderProcesses(of: server.process.pid) }
            let busy = { try processes().workers.first { DecoderProcesses.seconds(of: $0) > 0.5 } }
            #expect(try await eventually { try busy() != nil })
            let (worker, helpers) = (try busy(), try processes().helpers)
            for room in 0..<16 {
                // So that another one must be started.
                for other in try processes().workers where other != worker { kill(other, SIGKILL) }
                let former = try server.process.limitDescriptors(leaving: room)
                _ = client.get("/image/w=\(100 + room)/picture")
                _ = try? server.process.limitDescriptors(below: former)
                hasEnded = await hasBeenEndedByDispatch(server.process)
                if hasEnded { break }
                #expect(try busy() == worker, "\(room) left: \(server.process.errorOutput)")
                #expect(try processes().helpers == helpers, "\(room) left")
            }
            withExtendedLifetime(waiting) {}
            if !hasEnded {
                #expect(try Client(server.port).get("/image/w=200/picture")?.status == 200)
                #expect(!server.process.errorOutput.contains("broke its decoder"), "\(server.process.errorOutput)")
            }
        }
        #expect(!hasEnded)
    }

    /// True for an end by libdispatch, without a word: once a second, while tasks wait for a thread, it opens files of `/proc`, and it traps if
    /// it cannot. This is rare, and nothing that the service could prevent.
    private func hasBeenEndedByDispatch(_ process: ChildProcess) async -> Bool {
        guard process.ending != nil || process.hasCrashed, await process.end() == .signaled(SIGILL),
            !process.errorOutput.contains("Fatal error")
        else { return false }
        process.ignoreCrash()
        return true
    }

    @Test(arguments: [60, 80, 100, 200])
    func `with few descriptors, the server accepts fewer connections and serves those`(limit: Int) async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 1, size: 100))
        let server = try await ServerProcess(
            origin: origin.url(""), executable: "/bin/bash",
            leading: ["-c", "ulimit -n \(limit); exec \"$0\" \"$@\"", ServerProcess.executable])
        #expect(server.process.errorOutput.contains("fewer connections"), "\(server.process.errorOutput)")
        var clients = try (0..<limit + 20).map { _ in try Client(server.port) }
        // Some are served; others are closed, or refused because there are too many, depending on the event loops'
        // order. None of those that are taken fails.
        let statuses = clients.indices.map { clients[$0].get("/\($0)")?.status }
        #expect(statuses.contains(200) && statuses.contains { $0 != 200 }, "\(statuses)")
        #expect(statuses.allSatisfy { $0 == nil || [200, 429, 503].contains($0) }, "\(statuses)")
        #expect(!server.process.output.contains("Too many open files"), "\(server.process.output)")
        clients = []
        // The service has yet to see that those connections have ended.
        #expect(try await eventually { try Client(server.port).get("/a")?.status == 200 })
    }

    /// Each of which would come over many, as the origin limits the rate of a connection.
    @Test func `with few descriptors, large bodies arrive over fewer connections`() async throws {
        let body = Representation(seed: 2, size: 14_000_000)
        let origin = try ScriptedOrigin { _ in
            var behaviour = Behaviour(body)
            behaviour.bytesPerSecond = 2_000_000
            return behaviour
        }
        let server = try await ServerProcess(
            origin: origin.url(""), "--max-connections-per-client", "100", executable: "/bin/bash",
            leading: ["-c", "ulimit -n 120; exec \"$0\" \"$@\"", ServerProcess.executable])
        let clients = try (0..<4).map { _ in try Client(server.port) }
        for (number, client) in clients.enumerated() { client.send("GET /\(number) HTTP/1.1\r\nHost: x\r\n\r\n") }
        for client in clients {
            let answer = client.answer()
            #expect(answer?.status == 200 && answer?.body == body.content.bytes())
        }
        #expect(!server.process.output.contains("Too many open files"), "\(server.process.output)")
    }
}
