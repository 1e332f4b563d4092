import Foundation
import TestSupport
import Testing

/// The options of `imgcache fetch` for the connection: addresses, interface, certificates, cookies, rates.
@Suite(.fewAtATime) struct ConnectionOptionTests {
    private let work: TestWorkspace
    private let representation = Representation(seed: 131, size: 300_000)

    init() throws {
        work = try TestWorkspace()
    }

    private func origin() throws -> ScriptedOrigin { try ScriptedOrigin(serving: representation) }

    @Test func `--resolve gives a host an address, and the host's name is sent`() async throws {
        let origin = try origin()
        let url = "http://cache.example:\(origin.port)/file"
        let outcome = try await work.fetch("--resolve", "cache.example:\(origin.port):127.0.0.1", url)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(origin.requests.first?["Host"] == "cache.example:\(origin.port)")
        #expect(try await work.fetch("--resolve", "cache.example", url).ending == .exited(2))
    }

    @Test func `--ipv6 does not connect to a host that has an address of IPv4 only`() async throws {
        let origin = try origin()
        #expect(try await work.fetch("-6", "--retry", "0", origin.url("/file")).ending == .exited(3))
        #expect(try await work.fetch("-4", origin.url("/file")).ending == .exited(0))
        #expect(try await work.fetch("-4", "-6", origin.url("/file")).ending == .exited(2))
    }

    @Test func `--interface connects from that address, and fails where it is not the machine's`() async throws {
        let origin = try origin()
        let foreign = try await work.fetch("--interface", "192.0.2.1", "--retry", "0", origin.url("/file"))
        #expect(foreign.ending == .exited(3), "\(foreign)")
        #expect(origin.requests.isEmpty)
        #expect(try await work.fetch("--interface", "127.0.0.2", origin.url("/file")).ending == .exited(0))
    }

    // MARK: Cookies

    private func jar(_ lines: String...) throws -> String {
        try work.directory.write("# Netscape HTTP Cookie File\n" + lines.joined(separator: "\n") + "\n", to: "jar")
    }

    private static func cookie(_ name: String, host: String, path: String = "/", expires: Int = 0) -> String {
        "\(host)\tFALSE\t\(path)\tFALSE\t\(expires)\t\(name)\tvalue"
    }

    @Test func `--cookies sends those of the file that belong to the host and the path`() async throws {
        let origin = try origin()
        let jar = try jar(
            Self.cookie("mine", host: "127.0.0.1"), Self.cookie("others", host: "example.org"),
            Self.cookie("elsewhere", host: "127.0.0.1", path: "/other"),
            Self.cookie("expired", host: "127.0.0.1", expires: 1))
        let before = try Data(contentsOf: URL(filePath: jar))
        #expect(try await work.fetch("-b", jar, origin.url("/file")).ending == .exited(0))
        #expect(origin.requests.first?["Cookie"] == "mine=value")
        #expect(try Data(contentsOf: URL(filePath: jar)) == before)
    }

    @Test func `a cookie that a redirect sets is sent to its target, and not with the next download`() async throws {
        let origin = try ScriptedOrigin { [representation] request in
            guard request.path != "/start" else {
                var redirect = Behaviour.redirect(to: "/file")
                redirect.fields.append(("Set-Cookie", "session=1; Path=/"))
                return redirect
            }
            return Behaviour(representation)
        }
        let jar = try jar(Self.cookie("mine", host: "127.0.0.1"))
        // One at a time, so that both use one connection and one handle.
        let outcome = try await work.fetch("-j", "1", "-b", jar, origin.url("/start"), origin.url("/next"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        let cookies = origin.requests.map { ($0.request.path, $0["Cookie"] ?? "") }
        #expect(cookies.first { $0.0 == "/start" }?.1 == "mine=value")
        #expect(cookies.first { $0.0 == "/file" }?.1.contains("session=1") == true, "\(cookies)")
        #expect(cookies.first { $0.0 == "/next" }?.1 == "mine=value")
    }

    @Test func `a response that varies on cookies answers only requests with the same file of cookies`() async throws {
        let origin = try ScriptedOrigin { _ in
            Behaviour(Representation(seed: 133, size: 300, cacheControl: "max-age=1000")).with {
                $0.fields = [("Vary", "Cookie")]
            }
        }
        let jar = try jar(Self.cookie("mine", host: "127.0.0.1"))
        for _ in 0..<2 { #expect(try await work.fetch("-b", jar, origin.url("/file")).ending == .exited(0)) }
        #expect(origin.requests.count == 1)
        #expect(try await work.fetch(origin.url("/file")).ending == .exited(0))
        #expect(origin.requests.count == 2 && origin.requests.last?["Cookie"] == nil)
        _ = try self.jar(Self.cookie("mine", host: "127.0.0.1"), Self.cookie("more", host: "127.0.0.1"))
        #expect(try await work.fetch("-b", jar, origin.url("/file")).ending == .exited(0))
        #expect(origin.requests.count == 3, "the cookies have changed")
    }

    @Test func `an unreadable cookie file, or a Cookie field next to one, is an error`() async throws {
        let origin = try origin()
        let missing = try await work.fetch("-b", "no-such-jar", origin.url("/file"))
        #expect(missing.ending == .exited(2))
        #expect(missing.errorOutput.contains("No such file"), "\(missing)")
        #expect(try await work.fetch("-b", try jar(), "-H", "Cookie: a=b", origin.url("/file")).ending == .exited(2))
        #expect(origin.requests.isEmpty)
    }

    // MARK: Certificates

    @Test(.enabled(if: Nginx.unavailableReason == nil, "\(Nginx.unavailableReason ?? "")"))
    func `--cert identifies the client to a server, and stores the file for that certificate`() async throws {
        var options = Nginx.Options()
        let authority = try await TestCA()
        options.authority = authority
        options.directives = "ssl_client_certificate \(authority.certificate); ssl_verify_client on;\n"
        let nginx = try await Nginx(options)
        try nginx.serve(representation.content, as: "file.bin")
        let url = nginx.url("/file.bin")
        let without = try await work.command.run(["fetch"] + nginx.trust + [url])
        #expect(without.ending == .exited(4), "\(without)")
        let client = try await authority.clientCertificate(passphrase: "secret")
        let key = ["--private-key", client.key]
        let wrong = try await work.command.run(
            ["fetch", "--retry", "0", "--cert", client.certificate + ":wrong"] + key + nginx.trust + [url])
        #expect(wrong.ending == .exited(3), "\(wrong)")
        let cert = ["--cert", client.certificate + ":secret"] + key
        let outcome = try await work.command.run(["fetch"] + cert + nginx.trust + [url])
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(!outcome.errorOutput.contains("secret"))
        #expect(try await work.fetch("--offline", url).ending == .exited(7), "it is stored for the certificate")
        #expect(try await work.command.run(["fetch", "--offline"] + cert + [url]).ending == .exited(0))
        #expect(try await work.run("path", url).ending == .exited(7))
        #expect(try await work.run("path", "--cert", client.certificate, url).ending == .exited(0))
    }

    // MARK: Rates and dates

    @Test func `--speed-limit gives up on a server that sends less, and keeps the received bytes`() async throws {
        let origin = try ScriptedOrigin { [representation] _ in
            Behaviour(representation).with { $0.bytesPerSecond = 50_000 }
        }
        let slow = try await work.fetch(
            "--speed-limit", "10MB", "--speed-time", "500ms", "--retry", "0", origin.url("/file"))
        #expect(slow.ending == .exited(3), "\(slow)")
        #expect(slow.errorOutput.contains("less than 9.54 MiB/s from the server for 0.5 s"), "\(slow)")
        let limits = ["--speed-limit", "1kB", "--speed-time", "2s"]
        #expect(try await work.command.run(["fetch"] + limits + [origin.url("/file")]).ending == .exited(0))
        #expect(origin.requests.last?["Range"] != nil)
        #expect(try await work.fetch("--speed-limit", "2kB", "--limit-rate", "1kB", origin.url()).ending == .exited(2))
    }

    @Test func `files in a folder have the server's time, with -o only by --remote-time`() async throws {
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        let origin = try ScriptedOrigin { request in
            Behaviour(Representation(seed: 132, size: request.path == "/large" ? 5_000_000 : 1000, lastModified: date))
        }
        func modified(_ name: String) throws -> Date? {
            try FileManager.default.attributesOfItem(atPath: work.output(name))[.modificationDate] as? Date
        }
        #expect(try await work.fetch("-d", "folder", origin.url("/a")).ending == .exited(0))
        #expect(try modified("folder/a") == date)
        #expect(try await work.fetch("--tree", "tree", origin.url("/a")).ending == .exited(0))
        #expect(try modified("tree/127.0.0.1:\(origin.port)/a") == date)
        #expect(try await work.fetch("-d", "now", "--no-remote-time", origin.url("/a")).ending == .exited(0))
        #expect(try modified("now/a") != date)
        #expect(try await work.fetch("-o", "plain", origin.url("/a")).ending == .exited(0))
        #expect(try modified("plain") != date)
        #expect(try await work.fetch("-R", "-o", "dated", origin.url("/a")).ending == .exited(0))
        #expect(try modified("dated") == date)
        // Too large for the store, so that it is moved out of a cache of its own.
        #expect(
            try await work.fetch("--capacity", "4MiB", "-R", "-o", "moved", origin.url("/large")).ending == .exited(0))
        #expect(try modified("moved") == date)
    }
}
