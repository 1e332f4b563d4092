import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import ImageCache
import TestSupport
import Testing

/// Requests that are sent to the origin twice, and never; invalidation by unsafe requests.
@Suite(.fewAtATime) struct RepeatedRequestTests: ForwardingSuite {
    let proxy: ProxyCache

    init() throws { proxy = try ProxyCache() }

    @Test(arguments: [HTTPRequest.Method.post, .patch, .put, .delete])
    func `an unsafe request is sent once, even if its reused connection dies`(
        method: HTTPRequest.Method
    ) async throws {
        let origin = try ScriptedOrigin(script: { request in
            if request.target == "/die" { return [.cut(reset: false)] }
            return [.head(status: 200, fields: [("Content-Length", "2")]), .body(Array("ok".utf8))]
        })
        _ = try await cache.forward(request(origin.url("/warm"))).bytes()
        await #expect(throws: ImageCacheError.self) {
            _ = try await cache.forward(request(origin.url("/die"), method, body: Array("order".utf8)))
        }
        #expect(origin.requests.map(\.request.target) == ["/warm", "/die"])
    }

    @Test(arguments: [HTTPRequest.Method.get, .put, .delete, .post])
    func `a response that is passed on and cut is not requested again`(method: HTTPRequest.Method) async throws {
        let origin = try ScriptedOrigin { _ in
            Behaviour(Representation(seed: 1, size: 600_000, cacheControl: "no-store")).with { $0.cutAfter = 300_000 }
        }
        let body = method == .get || method == .delete ? nil : Array("x".utf8)
        let answer = try await cache.forward(request(origin.url(), method, body: body))
        let error = await #expect(throws: ImageCacheError.self) { _ = try await answer.bytes() }
        #expect(error?.code == .unreachable)
        #expect(origin.requests.count == 1)
    }

    @Test func `a response that is being stored, cut and not resumable is not requested again`() async throws {
        let origin = try ScriptedOrigin { _ in
            Behaviour(Representation(seed: 1, size: 600_000, etag: "")).with { $0.cutAfter = 300_000 }
        }
        let answer = try await cache.forward(request(origin.url()))
        await #expect(throws: ImageCacheError.self) { _ = try await answer.bytes() }
        #expect(origin.requests.count == 1)
    }

    @Test func `an error status is passed on for HEAD, without a retry`() async throws {
        let origin = try ScriptedOrigin { _ in .status(503) }
        #expect(try await cache.forward(request(origin.url(), .head)).head.status.code == 503)
        #expect(origin.requests.count == 1)
    }

    @Test(arguments: [HTTPRequest.Method.put, .delete])
    func `a request that changes something and has no answer is not repeated`(method: HTTPRequest.Method) async throws {
        let origin = try ScriptedOrigin { _ in .status(200).with { $0.cutAfter = 0 } }
        let failing = try ScriptedOrigin(script: { _ in [.cut(reset: false)] })
        _ = try? await cache.forward(request(failing.url(), method))
        #expect(failing.requests.count == 1)
        _ = try await cache.forward(request(origin.url(), method)).bytes()
        #expect(origin.requests.count == 1)
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .delete])
    func `an unsafe request also invalidates the images derived from the original`(
        method: HTTPRequest.Method
    ) async throws {
        let pictures = [try picture(red: 250), try picture(red: 5)]
        let version = Locked(0)
        let origin = try ScriptedOrigin(script: { request in
            if request.method != "GET" {
                version.withLock { $0 = 1 }
                return [.head(status: 200, fields: [("Content-Length", "0")])]
            }
            let version = version.withLock { $0 }
            let bytes = pictures[version]
            return [
                .head(
                    status: 200,
                    fields: [
                        ("Content-Length", "\(bytes.count)"), ("Content-Type", "image/png"),
                        ("Cache-Control", "max-age=600"), ("ETag", "\"p\(version)\""),
                    ]), .body(bytes),
            ]
        })
        let url = origin.url("/a.png")
        let old = try await cache.thumbnail(for: url, resizedTo: .fit(8, 8))
        #expect(try await cache.thumbnail(for: url, resizedTo: .fit(8, 8)).source == .memory)
        _ = try await cache.forward(request(url, method, body: [1])).bytes()
        #expect(try await cache.statistics().entries == 0)
        let new = try await cache.thumbnail(for: url, resizedTo: .fit(8, 8))
        #expect(new.source == .original(.network))
        #expect(new.bytes != old.bytes)
    }

    private func picture(red: UInt8) throws -> [UInt8] {
        try ImageEncoder.png().encode(
            DecodedImage(width: 32, height: 32) { memory in
                for index in 0..<(32 * 32) {
                    memory[index * 4] = red
                    memory[index * 4 + 1] = 10
                    memory[index * 4 + 2] = 10
                    memory[index * 4 + 3] = 255
                }
            })
    }
}
