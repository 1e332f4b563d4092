import Foundation
import TestSupport
import Testing

/// The addresses that clients can make the server connect to: the origin, and allowed hosts at public addresses,
/// regardless of spelling and redirects. Everything else is 403.
@Suite(.fewAtATime) struct RefusedAddressTests {
    private let target: ScriptedOrigin

    init() throws {
        target = try ScriptedOrigin(serving: Representation(seed: 1, size: 1000))
    }

    /// This machine, as an attacker may write it.
    private var hosts: [String] {
        [
            "127.0.0.1", "2130706433", "0x7f000001", "0x7F.0.0.1", "017700000001", "0177.0.0.01", "127.1", "127.0.1",
            "localhost",
            "LOCALHOST", "localhost.", "0.0.0.0", "0", "127.0.0.1.", "[::1]", "[::]", "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]", "[64:ff9b::7f00:1]",
        ].map { "\($0):\(target.port)" }
    }

    @Test func `an image URL with a host that is not allowed or not written plainly is refused`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 2, size: 1000))
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        let others = [
            "169.254.169.254", "%31%32%37.0.0.1:\(target.port)", "user@127.0.0.1:\(target.port)",
            "127.0.0.1:\(target.port)%2f", "127.0.0.1:\(origin.port)@127.0.0.1:\(target.port)",
            "127.0.0.1:\(target.port)\\@127.0.0.1:\(origin.port)", "public.example",
        ]
        for host in hosts + others {
            for slashes in ["/", "//"] {
                let answer = try #require(client.get("/image/w=50/http:\(slashes)\(host)/a.jpg"))
                #expect(answer.status == 403 && answer.text.contains("host-not-allowed"), "\(host): \(answer.text)")
            }
        }
        for url in [
            "file:///etc/passwd", "file:/etc/passwd", "ftp://127.0.0.1:\(target.port)/a",
            "gopher://127.0.0.1:\(target.port)/_a",
            "dict://127.0.0.1:11211/stats", "FILE:///etc/passwd",
        ] {
            let answer = try #require(client.get("/image/w=50/\(url)"))
            #expect(answer.status == 403, "\(url): \(answer.text)")
        }
        #expect(target.connections == 0)
        #expect(origin.connections == 0)
    }

    @Test func `an allowed host name with a local or private address is refused`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 2, size: 1000))
        // A name with a dot at its end cannot be allowed.
        let allowed = hosts.filter { !$0.contains(".:") } + ["169.254.169.254", "10.0.0.1"]
        let server = try await ServerProcess(
            origin: origin.url(""), "--allow-hosts", allowed.joined(separator: ","))
        let client = try Client(server.port)
        for host in allowed {
            let answer = try #require(client.get("/image/w=50/http://\(host)/a.jpg"))
            #expect(answer.status == 403 && answer.text.contains("address-refused"), "\(host): \(answer.text)")
            #expect(!answer.text.contains("127.0.0.1"), "the answer tells what the name leads to")
        }
        #expect(target.connections == 0)
    }

    @Test func `a redirect of the origin to a refused address is not followed`() async throws {
        let port = target.port
        let origin = try ScriptedOrigin { request in
            let place = request.target.split(separator: "?").last.map(String.init)?.removingPercentEncoding ?? ""
            return .redirect(to: place)
        }
        let server = try await ServerProcess(origin: origin.url(""), "--allow-hosts", "localhost:\(port)")
        let client = try Client(server.port)
        for place in [
            "http://169.254.169.254/latest/meta-data/", "http://localhost:\(port)/", "http://127.0.0.1:\(port)/",
            "http://[::ffff:127.0.0.1]:\(port)/", "http://2130706433:\(port)/", "//localhost:\(port)/",
            "file:///etc/passwd", "gopher://127.0.0.1:\(port)/", "ftp://127.0.0.1:\(port)/",
        ] {
            let encoded = place.utf8.map { "%" + String($0, radix: 16) }.joined()
            let answer = try #require(client.get("/image/w=50/a?\(encoded)"))
            let isKnown = answer.text.contains("address-refused") || answer.text.contains("redirect-refused")
            #expect(answer.status == 403 && isKnown, "\(place): \(answer.text)")
        }
        #expect(target.connections == 0)
    }

    /// As root, `unshare` gives the server its own `/etc/hosts`.
    private static let maySetNames: Bool = {
        let process = try? ChildProcess(
            "unshare", ["-m", "true"], environment: ProcessInfo.processInfo.environment)
        guard let process else { return false }
        block { process.ending != nil }
        return process.ending == .exited(0)
    }()

    @Test(.enabled(if: maySetNames))
    func `a host name whose address changes while the server runs is refused`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 2, size: 1000))
        let files = try TestDirectory()
        func set(_ names: String) throws {
            // In place: the server sees this very file.
            try names.write(toFile: files.path("hosts"), atomically: false, encoding: .utf8)
        }
        try set("127.0.0.1 localhost\n")
        let server = try await ServerProcess(
            origin: origin.url(""), "--allow-hosts", "changing.test:\(target.port)", executable: "unshare",
            leading: [
                "-m", "sh", "-c", "mount --bind '\(files.path("hosts"))' /etc/hosts && exec \"$@\"", "sh",
                ServerProcess.executable,
            ])
        let client = try Client(server.port)
        let path = "/image/w=50/http://changing.test:\(target.port)/a.jpg"
        #expect(client.get(path)?.status == 502)
        for addresses in [
            "127.0.0.1 changing.test\n", "::1 changing.test\n127.0.0.1 changing.test\n10.0.0.1 changing.test\n",
        ] {
            try set(addresses)
            let answer = try #require(client.get(path))
            #expect(answer.status == 403 && answer.text.contains("address-refused"), "\(addresses): \(answer.text)")
        }
        #expect(target.connections == 0)
    }

    @Test func `a proxy from the environment is not used`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 2, size: 1000))
        let server = try await ServerProcess(
            origin: origin.url(""),
            environment: ["http_proxy": target.url(""), "HTTP_PROXY": target.url(""), "ALL_PROXY": target.url("")])
        let client = try Client(server.port)
        #expect(try #require(client.get("/image/w=50/a.jpg")).status == 415)
        #expect(try #require(client.get("/a.jpg")).status == 200)
        #expect(origin.connections > 0)
        #expect(target.connections == 0)
    }
}
