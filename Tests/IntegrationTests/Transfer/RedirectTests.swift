import Foundation
import HTTPTypes
import TestSupport
import Testing
import Transfer

/// Redirects that are followed (RFC 9110 section 15.4), and those that are not.
@Suite(.fewAtATime) struct RedirectTests {
    private let representation = Representation(seed: 42, size: 5000)

    @Test(
        arguments: [
            (301, HTTPRequest.Method.post, "GET"), (302, .post, "GET"), (303, .post, "GET"), (303, .put, "GET"),
            (307, .post, "POST"), (308, .post, "POST"), (301, .put, "PUT"), (302, .head, "HEAD"), (303, .head, "HEAD"),
        ])
    func `the status of a redirect decides which method and content are sent on`(
        status: Int, method: HTTPRequest.Method, then: String
    ) async throws {
        let origin = try ScriptedOrigin { [representation] request in
            request.path == "/start" ? .redirect(to: "/there", status: status) : Behaviour(representation)
        }
        _ = try await TransferEngine().run(
            TransferRequest(testing: origin.url("/start")) {
                $0.method = method
                if method != .head { $0.body = Array("content".utf8) }
                $0.fields[.contentType] = "text/plain"
            }, into: PartialSink())
        let second = try #require(origin.requests.last)
        #expect(second.request.path == "/there" && second.request.method == then)
        let goesAlong = then == "POST" || then == "PUT"
        #expect(second["Content-Length"] == (goesAlong ? "7" : nil))
        #expect((second["Content-Type"] != nil) == (goesAlong || method == .head))
    }

    @Test func `a host that is not allowed is refused before its name is resolved`() async throws {
        let origin = try ScriptedOrigin { _ in .redirect(to: "http://not-allowed.invalid/") }
        var configuration = TransferEngine.Configuration()
        configuration.addressPolicy = .publicOnly(except: [.init(host: "127.0.0.1", port: Int(origin.port))]) {
            $0.host == "allowed.invalid"
        }
        let engine = TransferEngine(configuration: configuration)
        for url in [origin.url(), "http://not-allowed.invalid/"] {
            let error = await failure { () throws(TransferError) in
                try await engine.run(TransferRequest(testing: url), into: PartialSink())
            }
            #expect(error?.code == .addressRefused && error?.attempts == 1, "\(String(describing: error))")
        }
        let allowed = await failure { () throws(TransferError) in
            try await engine.run(
                TransferRequest(testing: "http://allowed.invalid/") { $0.options.retry.maxRetries = 0 },
                into: PartialSink())
        }
        #expect(allowed?.code == .resolve)
    }

    @Test func `a field Host is sent to the own origin only`() async throws {
        let other = try ScriptedOrigin(serving: representation)
        let origin = try ScriptedOrigin { request in
            .redirect(to: request.path == "/start" ? "/next" : other.url())
        }
        let host = try #require(HTTPField.Name("Host"))
        _ = try await TransferEngine().run(
            TransferRequest(testing: origin.url("/start")) { $0.fields[host] = "name.example" }, into: PartialSink())
        #expect(origin.requests.map { $0["Host"] } == ["name.example", "name.example"])
        #expect(other.requests.map { $0["Host"] } == ["127.0.0.1:\(other.port)"])
    }

    @Test func `a redirect without a Location is the response`() async throws {
        let origin = try ScriptedOrigin { _ in .status(302) }
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url()), into: PartialSink())
        #expect(result.outcome == .status && result.head.status == .found && origin.requests.count == 1)
    }

    @Test func `non-ASCII bytes and invalid percent signs in a Location are escaped`() async throws {
        let origin = try ScriptedOrigin(script: { [representation] request in
            guard request.path == "/start" else { return Behaviour(representation).script(for: request) }
            return [
                .body(
                    Array("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /100%/".utf8) + [0xE9]
                        + Array("/é b\r\n\r\n".utf8))
            ]
        })
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url("/start")), into: PartialSink())
        #expect(result.outcome == .body)
        #expect(origin.requests.last?.request.target == "/100%25/%E9/%C3%A9%20b")
    }

    @Test func `conditions about a stored body are sent to its resource only`() async throws {
        let origin = try ScriptedOrigin { [representation] request in
            request.path == "/start" ? .redirect(to: "/b") : Behaviour(representation)
        }
        for (stored, outcome) in [("/b", TransferResult.Outcome.notModified), ("/a", .body), ("/start", .body)] {
            let result = try await TransferEngine().run(
                TransferRequest(testing: origin.url("/start")) {
                    $0.conditions = .init(
                        fields: [.ifNoneMatch: representation.etag ?? ""], url: origin.url(stored))
                }, into: PartialSink())
            #expect(result.outcome == outcome, "\(stored)")
        }
        #expect(origin.requests(to: "/start").map { $0["If-None-Match"] != nil } == [false, false, true])
        #expect(origin.requests(to: "/b").map { $0["If-None-Match"] != nil } == [true, false, false])
    }

    @Test func `a refused connection or an unknown host is reported after one retry`() async throws {
        let stopped = try ScriptedOrigin(serving: representation)
        let refused = stopped.url()
        stopped.stop()
        for (url, code) in [(refused, TransferError.Code.connect), ("http://nowhere.invalid/", .resolve)] {
            let error = await failure { () throws(TransferError) in
                // The default, but for no pause.
                try await TransferEngine().run(
                    TransferRequest(url: url), into: PartialSink())
            }
            #expect(error?.code == code && error?.attempts == 2, "\(String(describing: error))")
        }
    }

    @Test func `a host name beyond ASCII reaches its server as A-labels`() async throws {
        let proxy = try ScriptedOrigin(serving: representation)
        let result = try await TransferEngine().run(
            TransferRequest(testing: "http://Bücher.example/a") { $0.options.proxy = proxy.url("") },
            into: PartialSink())
        #expect(result.outcome == .body)
        #expect(proxy.requests.map(\.request.target) == ["http://xn--bcher-kva.example/a"])
    }
}
