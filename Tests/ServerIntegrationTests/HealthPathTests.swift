import TestSupport
import Testing

/// Health checks on the port of clients.
@Suite(.fewAtATime) struct HealthPathTests {
    private let origin: ScriptedOrigin

    init() throws { origin = try ScriptedOrigin { _ in .status(404) } }

    @Test func `the health paths are answered without the origin, and all other paths by it`() async throws {
        let server = try await ServerProcess(
            origin: origin.url(""), "--health-path", "/healthz", "--ready-path", "/-/ready")
        let client = try Client(server.port)
        for path in ["/healthz", "/-/ready", "/healthz?probe=1"] {
            let response = try #require(client.get(path))
            #expect(response.status == 200 && response.text == "ok\n", "\(path)")
            #expect(response["Cache-Control"] == "no-store")
            let head = client.ask("HEAD \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(head?.status == 200 && head?["Content-Length"] == "3")
        }
        #expect(origin.requests.isEmpty)
        #expect(client.get("/healthz/more")?.status == 404)
        #expect(client.ask("POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")?.status == 404)
        #expect(origin.requests.count == 2)
    }

    @Test func `the health paths are answered at the limits on requests, also of one client`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { _ in
            var behaviour = Behaviour(Representation(seed: 1, size: 100))
            behaviour.gate = gate
            return behaviour
        }
        let server = try await ServerProcess(
            origin: origin.url(""), "--health-path", "/healthz", "--ready-path", "/readyz", "--max-requests", "1",
            "--queue-length", "0")
        let running = try Client(server.port, asking: "/held")
        await origin.waits { $0.count == 1 }
        for path in ["/healthz", "/readyz"] {
            let response = try #require(Client(server.port).get(path))
            #expect(response.status == 200 && response.text == "ok\n", "\(path): \(response.statusLine)")
        }
        #expect(try [503, 429].contains(Client(server.port).get("/other")?.status))
        gate.open()
        #expect(running.answer()?.status == 200)
    }

    @Test func `--ready reports whether the configured service is ready`() async throws {
        let server = try await ServerProcess(origin: origin.url(""), "--admin", "127.0.0.1:0")
        let admin = "127.0.0.1:\(try server.adminPort())"
        func ask(_ variables: [String: String] = [:]) async throws -> CommandRunner.Outcome {
            let words = ["--ready", "--origin", origin.url(""), "--admin", admin]
            let environment = variables.merging(["PATH": "/usr/bin:/bin"]) { $1 }
            return await CommandRunner.outcome(
                of: try ChildProcess(ServerProcess.executable, words, environment: environment))
        }
        // No proxy is asked for the machine's own address.
        for name in ["no_proxy", "http_proxy", "all_proxy"] {
            let ready = try await ask([name: "http://127.0.0.1:1"])
            #expect(ready.ending == .exited(0) && ready.errorOutput.isEmpty, "\(name): \(ready)")
        }
        await server.stop()
        let away = try await ask()
        #expect(away.ending == .exited(1) && away.errorOutput.contains("does not answer"), "\(away)")
    }

    @Test func `without the settings, the health paths are passed on to the origin`() async throws {
        let server = try await ServerProcess(origin: origin.url(""))
        #expect(try Client(server.port).get("/healthz")?.status == 404)
        #expect(origin.requests.count == 1)
    }

    @Test(arguments: ["healthz", "/", "/a b", "/image/x", "/a?b", "/a#b"])
    func `an invalid health path is refused at the start`(path: String) async throws {
        let outcome = await CommandRunner.outcome(
            of: try ChildProcess(
                ServerProcess.executable, ["--print-config", "--origin", origin.url(""), "--health-path", path],
                environment: ["PATH": "/usr/bin:/bin"]))
        #expect(outcome.ending == .exited(2), "\(outcome)")
        #expect(outcome.errorOutput.contains("health-path"), "\(outcome)")
    }
}
