import TestSupport
import Testing

@Suite(.fewAtATime) struct ProxyTests {
    @Test("a file comes from the origin once, and then from the store")
    func storedFile() async throws {
        let file = Representation(seed: 1, size: 300_000)
        let origin = try ScriptedOrigin(serving: file)
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        let first = try #require(client.get("/picture"))
        let second = try #require(client.get("/picture"))
        #expect(first.status == 200 && second.status == 200)
        #expect(first.body == file.content.bytes(0..<300_000))
        #expect(second.body == first.body)
        #expect(first["Via"] == "1.1 imgcache")
        #expect(second["Cache-Status"]?.hasPrefix("imgcache; hit") == true)
        #expect(origin.requests.count == 1)
    }

    @Test("the command starts the server that lies beside it")
    func serveCommand() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 2, size: 1000))
        let server = try await ServerProcess(
            origin: origin.url(""), executable: CommandRunner.executable, leading: ["serve"])
        #expect(try Client(server.port).get("/a")?.status == 200)
        server.process.send(signal: 15)
        #expect(await server.process.end() == .exited(0))
    }
}
