import CacheTestSupport
import Foundation
import ImageCache
import TestSupport
import Testing

/// Requests and responses are forwarded as they were sent: nothing is added, lost or joined.
@Suite(.fewAtATime) struct PassedMessageTests: ForwardingSuite {
    let proxy: ProxyCache

    init() throws { proxy = try ProxyCache() }

    private func origin(_ fields: [(name: String, value: String)] = []) throws -> ScriptedOrigin {
        try ScriptedOrigin(script: { request in
            [.head(status: 200, fields: [("Content-Length", "2")] + fields), .body(Array("ok".utf8))]
        })
    }

    // MARK: The target

    @Test(arguments: [
        ("/n/%2e%2e/pb", "/pb"), ("/n/%2E./pb", "/pb"), ("/n/../pb", "/pb"), ("/n/%2e/pb", "/n/pb"), ("/a/%2e%2e", "/"),
        ("/a//../b", "/a/b"), ("/pf?", "/pf?"), ("/pf", "/pf"), ("/a?b=%2e%2e/../c", "/a?b=%2e%2e/../c"),
        ("/%7euser/%2fx%2Fy?%41", "/%7euser/%2fx%2Fy?%41"), ("/...%2e/.a/..b", "/...%2e/.a/..b"),
    ])
    func `the request target is sent to the origin as in the cache key, with the client's spelling`(
        given: String, sent: String
    )
        async throws
    {
        let origin = try origin([("Cache-Control", "max-age=60")])
        _ = try await cache.forward(request(origin.url() + given.dropFirst())).bytes()
        #expect(origin.requests.map(\.request.target) == [sent])
    }

    @Test func `an escaped dot segment does not replace one resource with another`() async throws {
        let origin = try ScriptedOrigin(script: { request in
            let body = Array(request.target.utf8)
            return [
                .head(status: 200, fields: [("Content-Length", "\(body.count)"), ("Cache-Control", "max-age=60")]),
                .body(body),
            ]
        })
        let url = origin.url()
        _ = try await cache.forward(request(url + "n/%2e%2e/pb")).bytes()
        let answer = try await cache.forward(request(url + "pb"))
        #expect(try await answer.bytes() == Array("/pb".utf8))
    }

    // MARK: Fields

    @Test(arguments: [HTTPRequest.Method.get, .post, .put, .patch, .delete])
    func `no field is added to a request`(method: HTTPRequest.Method) async throws {
        let origin = try origin()
        let body = method == .get ? nil : Array("hello".utf8)
        _ = try await cache.forward(request(origin.url(), method, [.referer: "x"], body: body)).bytes()
        let names = try #require(origin.requests.first).request.fields.map { $0.name.lowercased() }
        #expect(
            Set(names)
                == (body == nil
                    ? ["host", "referer", "accept-encoding"]
                    : ["host", "referer", "accept-encoding", "content-length"]))
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .patch])
    func `a request without content is sent with a Content-Length of 0`(method: HTTPRequest.Method) async throws {
        let origin = try origin()
        _ = try await cache.forward(request(origin.url(), method)).bytes()
        _ = try await cache.forward(request(origin.url(), .delete, body: [])).bytes()
        #expect(origin.requests.map { $0["content-length"] } == ["0", "0"])
        #expect(origin.requests.map { $0["content-type"] } == [nil, nil])
        #expect(origin.requests.map(\.request.method) == [method.rawValue, "DELETE"])
    }

    @Test func `field values that are not text pass in both directions, also out of the store`() async throws {
        let value: [UInt8] = [0xFF, 0xE9] + Array("abc".utf8) + [0xC3, 0x28]
        let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nCache-Control: max-age=60\r\nX-Bytes: ".utf8)
        let origin = try ScriptedOrigin(script: { _ in [.body(head + value + Array("\r\n\r\nok".utf8))] })
        let name = try #require(HTTPField.Name("X-Bytes"))
        var asked = request(origin.url())
        asked.fields.append(HTTPField(name: name, lenientValue: value))
        for _ in 0..<3 {
            let answer = try await cache.forward(asked)
            _ = try await answer.bytes()
            let field = try #require(answer.head.headerFields.first { $0.name == name })
            #expect(field.withUnsafeBytesOfValue { Array($0) } == value)
        }
        let sent = try #require(origin.requests.first).request.head
        let line = Array("X-Bytes: ".utf8) + value + Array("\r\n".utf8)
        #expect(sent.indices.contains { sent[$0...].starts(with: line) })
        #expect(origin.requests.count == 1)
    }

    // MARK: Framing

    @Test(arguments: [true, false])
    func `chunked framing takes precedence over Content-Length`(isStored: Bool) async throws {
        let head = [
            ("Content-Length", "2"), ("Transfer-Encoding", "chunked"),
            ("Cache-Control", isStored ? "max-age=60" : "no-store"),
        ].map { (name: $0.0, value: $0.1) }
        let origin = try ScriptedOrigin(script: { _ in
            [.head(status: 200, fields: head), .raw("1\r\na\r\n2\r\nbc\r\n0\r\n\r\n")]
        })
        for _ in 0..<2 {
            let answer = try await cache.forward(request(origin.url()))
            #expect([nil, "3"].contains(answer.head.headerFields[.contentLength]))
            #expect(try await answer.bytes() == Array("abc".utf8))
        }
        #expect(origin.requests.count == (isStored ? 1 : 2))
    }

    @Test func `a 206 that was not requested is passed on unchanged and not stored`() async throws {
        let origin = try ScriptedOrigin(script: { request in
            let part: [(name: String, value: String)] = [
                ("Content-Range", "bytes 0-9/100"), ("Content-Length", "10"), ("Cache-Control", "max-age=60"),
                ("ETag", "\"p\""),
            ]
            return [.head(status: 206, fields: part), .body(Array("0123456789".utf8))]
        })
        for _ in 0..<2 {
            let answer = try await cache.forward(request(origin.url()))
            #expect(answer.head.status == .partialContent)
            #expect(answer.head.headerFields[.contentRange] == "bytes 0-9/100")
            #expect(try await answer.bytes() == Array("0123456789".utf8))
        }
        #expect(origin.requests.count == 2)
        #expect(try await cache.statistics().entries == 0)
        await #expect(throws: ImageCacheError.self) { _ = try await cache.file(for: request(origin.url())) }
        #expect(try await cache.statistics().entries == 0)
    }
}
