import Foundation
import HTTPTypes
import TestSupport
import Testing
import Transfer

/// An engine that connects to public addresses only, but for its own origin: whatever a URL, a name or a redirect says, the
/// address decides that is connected to.
@Suite(.fewAtATime) struct GuardedTransferTests {
    private let representation = Representation(seed: 7, size: 50_000)

    private func engine(except origins: ScriptedOrigin...) -> TransferEngine {
        var configuration = TransferEngine.Configuration()
        configuration.addressPolicy = .publicOnly(
            except: Set(origins.map { .init(host: "127.0.0.1", port: Int($0.port)) }))
        return TransferEngine(configuration: configuration)
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func `refused addresses are counted as such, also behind a redirect`(_ host: String) async throws {
        let inside = try ScriptedOrigin(serving: representation)
        let origin = try ScriptedOrigin { _ in .redirect(to: "http://\(host):\(inside.port)/") }
        let engine = engine(except: origin)
        for url in ["http://\(host):\(inside.port)/", origin.url()] { _ = await error(engine, url) }
        #expect(engine.totals.failures == [.addressRefused: 2])
    }

    private func error(_ engine: TransferEngine, _ url: String) async -> TransferError? {
        await failure { () throws(TransferError) in
            try await engine.run(TransferRequest(testing: url), into: PartialSink())
        }
    }

    @Test(
        arguments: [
            "127.0.0.1", "2130706433", "0x7f000001", "0x7F.0.0.1", "017700000001", "0177.0.0.01", "127.1", "127.0.1",
            "localhost", "LOCALHOST", "0.0.0.0", "0", "127.0.0.1.", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]",
            "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::7f00:1]", "%31%32%37.0.0.1",
            "user@127.0.0.1", "127.0.0.1%2f",
        ])
    func `this machine is not connected to under another name or spelling`(_ host: String) async throws {
        let origin = try ScriptedOrigin(serving: representation)
        let error = await error(engine(), "http://\(host):\(origin.port)/")
        let code = try #require(error?.code)
        // An invalid host for libcurl is refused before anything is resolved.
        #expect(code == .addressRefused || code == .unsupportedURL || code == .resolve, "\(String(describing: error))")
        #expect(!["127.0.0.1", "localhost", "[::1]", "2130706433"].contains(host) || code == .addressRefused)
        #expect(origin.connections == 0)
    }

    @Test(
        arguments: [
            "http://169.254.169.254/latest/meta-data/", "http://2852039166/", "http://0xa9fea9fe/",
            "http://[::ffff:169.254.169.254]/", "http://[fd00:ec2::254]/", "http://[fe80::1]/", "http://10.0.0.1/",
            "http://100.100.100.200/", "http://192.168.0.1/", "https://172.16.0.1/", "http://224.0.0.1/",
            "http://255.255.255.255/",
        ])
    func `private addresses are refused at once, without a retry`(_ url: String) async throws {
        let error = try #require(await error(engine(), url))
        #expect(error.code == .addressRefused, "\(error)")
        #expect(error.message.contains("is no public address"))
        #expect(error.attempts == 1 && !error.isRetryable)
    }

    @Test(arguments: ["file:///etc/passwd", "gopher://127.0.0.1:70/", "ftp://127.0.0.1/", "dict://127.0.0.1:11211/"])
    func `other schemes are refused, also behind a redirect`(_ url: String) async throws {
        let origin = try ScriptedOrigin { _ in .redirect(to: url) }
        #expect(await error(engine(), url)?.code == .unsupportedURL)
        #expect(await error(engine(except: origin), origin.url())?.code == .badRedirect)
        #expect(origin.connections == 1)
    }

    @Test func `an excepted origin is connected to only under its own host and port`() async throws {
        let origin = try ScriptedOrigin(serving: representation)
        let other = try ScriptedOrigin(serving: representation)
        let engine = engine(except: origin)
        let sink = PartialSink()
        let result = try await engine.run(TransferRequest(testing: origin.url()), into: sink)
        #expect(result.outcome == .body)
        #expect(sink.bytes == representation.content.bytes())
        // The connection that stands is not used under another name.
        for url in [origin.localhostURL(), other.url(), "http://[::1]:\(origin.port)/"] {
            #expect(await error(engine, url)?.code == .addressRefused, "\(url)")
        }
        _ = try await engine.run(TransferRequest(testing: origin.url("/b")), into: PartialSink())
        #expect(origin.connections == 1)
        #expect(origin.requests.count == 2)
        #expect(other.connections == 0)
    }

    @Test(arguments: ["http://169.254.169.254/", "http://[::ffff:169.254.169.254]/", "LOCALHOST", "OTHER"])
    func `a redirect's target is checked like that of a request`(_ target: String) async throws {
        let other = try ScriptedOrigin(serving: representation)
        let origin = try ScriptedOrigin { request in
            switch target {
            case "LOCALHOST":
                .redirect(to: "http://localhost:\(request["Host"]?.split(separator: ":").last ?? "")/")
            case "OTHER": .redirect(to: other.url())
            default: .redirect(to: target)
            }
        }
        #expect(await error(engine(except: origin), origin.url())?.code == .addressRefused)
        #expect(origin.requests.count == 1)
        #expect(other.connections == 0)
        // And is followed where it may lead.
        guard target == "OTHER" else { return }
        let result = try await engine(except: origin, other).run(
            TransferRequest(testing: origin.url()), into: PartialSink())
        #expect(result.outcome == .body)
    }

    @Test func `a proxy is refused if addresses are restricted`() async throws {
        let proxy = try ScriptedOrigin(serving: representation)
        let error = await failure { () throws(TransferError) in
            try await engine(except: proxy).run(
                TransferRequest(testing: "http://127.0.0.2/") { $0.options.proxy = proxy.url("") }, into: PartialSink())
        }
        #expect(error?.code == .invalidRequest)
        #expect(proxy.connections == 0)
    }
}
