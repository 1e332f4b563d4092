import Foundation
import Glibc
import HTTPTypes
import TestSupport
import Testing
import Transfer

/// The engine against a real nginx, over TLS with a certificate authority of the test's own.
@Suite(.fewAtATime, .enabled(if: Nginx.unavailableReason == nil, "nginx is not installed"))
struct TransferTLSTests {
    private let content = Content(seed: 11, size: 1_500_000)

    private func nginx(_ authority: TestCA, directives: String = "") async throws -> Nginx {
        var options = Nginx.Options()
        options.authority = authority
        options.directives = directives
        let nginx = try await Nginx(options)
        try nginx.serve(content, as: "file")
        return nginx
    }

    @Test func `a certificate of an unknown authority is refused, at once`() async throws {
        let nginx = try await nginx(TestCA())
        let sink = PartialSink()
        let error = await failure { () throws(TransferError) in
            try await TransferEngine().run(TransferRequest(testing: nginx.url("/file")), into: sink)
        }
        #expect(error?.code == .tls)
        #expect(error?.isRetryable == false)
        #expect(error?.attempts == 1)
        #expect(sink.begins == 0)
    }

    @Test func `a certificate for another name is refused, at once`() async throws {
        let authority = try await TestCA()
        let port = try freePort()
        let nginx = try await nginx(authority, directives: "listen 127.0.0.2:\(port) ssl;\n")
        let error = await failure { () throws(TransferError) in
            try await TransferEngine().run(
                TransferRequest(testing: "https://127.0.0.2:\(port)/file") {
                    $0.options.caFile = authority.certificate
                }, into: PartialSink())
        }
        #expect(error?.code == .tls)
        #expect(error?.attempts == 1)
        withExtendedLifetime(nginx) {}
    }

    @Test func `a body arrives and is resumed over TLS with the authority's certificate, or unverified`()
        async throws
    {
        let authority = try await TestCA()
        let nginx = try await nginx(authority)
        let engine = TransferEngine()
        for insecure in [false, true] {
            let sink = PartialSink()
            let result = try await engine.run(
                TransferRequest(testing: nginx.url("/file")) {
                    $0.options.insecure = insecure
                    if !insecure { $0.options.caFile = authority.certificate }
                }, into: sink)
            #expect(result.outcome == .body)
            #expect(sink.bytes == content.bytes())
        }
        // A transfer without either does not ride on a connection that was made with less care.
        let error = await failure { () throws(TransferError) in
            try await engine.run(TransferRequest(testing: nginx.url("/file")), into: PartialSink())
        }
        #expect(error?.code == .tls)
    }

    @Test func `a missing authority file is an error of TLS, at once`() async throws {
        let nginx = try await nginx(TestCA())
        let error = await failure { () throws(TransferError) in
            try await TransferEngine().run(
                TransferRequest(testing: nginx.url("/file")) { $0.options.caFile = "/nowhere/ca.pem" },
                into: PartialSink())
        }
        #expect(error?.code == .tls)
        #expect(error?.attempts == 1)
    }

    @Test func `HTTP/2 carries several transfers and their gaps at once`() async throws {
        let authority = try await TestCA()
        let port = try freePort()
        let nginx = try await nginx(authority, directives: "listen 127.0.0.1:\(port) ssl http2;\n")
        let url = "https://127.0.0.1:\(port)/file"
        let etag = try await TransferEngine().run(
            TransferRequest(testing: url) {
                $0.method = .head
                $0.options.caFile = authority.certificate
            }, into: PartialSink()
        ).head.fields[.eTag]
        var representation = Representation(seed: 11, size: content.size)
        #expect(etag?.isEmpty == false)
        representation.etag = etag
        let engine = TransferEngine()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<12 {
                let holding: [Range<Int64>] = number % 2 == 0 ? [] : [0..<100_000, 200_000..<1_400_000]
                let sink = PartialSink(holding: holding, of: representation, url: url)
                group.addTask { [content] in
                    let result = try await engine.run(
                        TransferRequest(testing: url) { $0.options.caFile = authority.certificate }, into: sink)
                    #expect(result.head.version == "HTTP/2")
                    #expect(result.bytesReceived == (holding.isEmpty ? content.size : 200_000))
                    #expect(sink.bytes == content.bytes())
                }
            }
            try await group.waitForAll()
        }
        withExtendedLifetime(nginx) {}
    }

    @Test func `a paused stream of HTTP/2 holds up no other`() async throws {
        let authority = try await TestCA()
        let port = try freePort()
        let nginx = try await nginx(authority, directives: "listen 127.0.0.1:\(port) ssl http2;\n")
        let request = TransferRequest(testing: "https://127.0.0.1:\(port)/file") {
            $0.options.caFile = authority.certificate
        }
        let engine = TransferEngine()
        let paused = PartialSink()
        paused.pause()
        let first = Task { try await engine.run(request, into: paused) }
        let second = PartialSink()
        #expect(try await engine.run(request, into: second).outcome == .body)
        #expect(paused.bytes.isEmpty)
        paused.resume()
        #expect(try await first.value.outcome == .body)
        #expect(paused.bytes == content.bytes())
        withExtendedLifetime(nginx) {}
    }

    @Test func `credentials do not follow a redirect from https to http on the same host`() async throws {
        let authority = try await TestCA()
        let plain = try ScriptedOrigin(serving: Representation(seed: 1, size: 10))
        let nginx = try await nginx(authority, directives: "location /out { return 302 \(plain.url("/in")); }\n")
        let result = try await TransferEngine().run(
            TransferRequest(testing: nginx.url("/out")) {
                $0.options.caFile = authority.certificate
                $0.options.credentials = .init(user: "user", password: "secret")
                $0.fields[.cookie] = "session=secret"
            }, into: PartialSink())
        #expect(result.outcome == .body)
        #expect(plain.requests.map { $0["authorization"] } == [nil])
        #expect(plain.requests.map { $0["cookie"] } == [nil])
    }

    private func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) | getsockname(descriptor, $0, &length)
            }
        }
        try #require(code == 0)
        return UInt16(bigEndian: address.sin_port)
    }
}
