import ConcurrencyPrimitives
import HTTPTypes
import NIOCore
import Testing

@testable import HTTPServer

struct SerializedResponsesTests {
    private let table = SerializedResponses(limits: RequestLimits(), idName: "X-Request-Id")
    private let isCurrent = Locked(true)

    private func request(_ target: String, _ lines: String = "", method: String = "GET", host: String = "x") -> String {
        "\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\nUser-Agent: \(Int.random(in: 0...9))\r\n\(lines)\r\n"
    }

    private func keep(
        _ request: String, selecting names: [String] = [], content: String = "content", until end: UInt64 = 1000
    ) {
        var response = Response(HTTPResponse(status: .ok))
        response.outcome = "hit"
        let reuse = ResponseReuse(selectingNames: names, lifetime: .seconds(1)) { [isCurrent] in
            isCurrent.withLock { $0 }
        }
        let head = "HTTP/1.1 200 OK\r\nX-Request-Id: 0000000000000000\r\n\r\n"
        table.insert(
            response, reuse, to: ByteBuffer(string: request).readableBytesUInt8Span, head: Array(head.utf8),
            idStart: 31, content: Array(content.utf8), until: .uptimeNanoseconds(end))
    }

    private func content(_ request: String, at now: UInt64 = 500) -> String? {
        let bytes = ByteBuffer(string: request)
        guard let (found, _) = table.response(to: bytes.readableBytesUInt8Span, at: .uptimeNanoseconds(now)) else {
            return nil
        }
        return String(decoding: found.content, as: UTF8.self)
    }

    @Test func `only an equal request gets the response`() {
        keep(request("/a"))
        #expect(content(request("/a")) == "content")
        #expect(content(request("/a", "Accept: b\r\n")) == "content")
        #expect(content(request("/b")) == nil)
        #expect(content(request("/a", method: "HEAD")) == nil)
        #expect(content(request("/a", host: "y")) == nil)
        #expect(content(request("/a", "Range: bytes=0-1\r\n")) == nil)
        #expect(content(request("/a", "If-None-Match: \"1\"\r\n")) == nil)
    }

    @Test func `the same conditions in the same order get the same response`() {
        keep(request("/a", "If-None-Match: \"1\"\r\nRange: bytes=0-1\r\n"))
        #expect(content(request("/a", "if-none-match:\"1\"\r\nRANGE: bytes=0-1\r\n")) == "content")
        #expect(content(request("/a", "If-None-Match: \"2\"\r\nRange: bytes=0-1\r\n")) == nil)
        #expect(content(request("/a", "If-Modified-Since: \"1\"\r\nRange: bytes=0-1\r\n")) == nil)
        #expect(content(request("/a")) == nil)
    }

    @Test func `variants are distinguished by all lines of the selecting fields`() {
        keep(request("/a", "Accept: one\r\n"), selecting: ["accept"], content: "one")
        keep(request("/a", "Accept: one\r\nAccept: two\r\n"), selecting: ["accept"], content: "two")
        keep(request("/a"), selecting: ["accept"], content: "none")
        #expect(content(request("/a", "ACCEPT: one\r\n")) == "one")
        #expect(content(request("/a", "Accept: one\r\nB: c\r\nAccept: two\r\n")) == "two")
        #expect(content(request("/a")) == "none")
        #expect(content(request("/a", "Accept: two\r\n")) == nil)
        keep(request("/a", "Accept: one\r\n"), selecting: ["accept"], content: "newer")
        #expect(content(request("/a", "Accept: one\r\n")) == "newer")
    }

    @Test func `a response is used until it expires, and only while it is current`() {
        keep(request("/a"), until: 1000)
        #expect(content(request("/a"), at: 999) == "content")
        #expect(content(request("/a"), at: 1000) == nil)
        isCurrent.withLock { $0 = false }
        #expect(content(request("/a"), at: 999) == nil)
    }

    @Test func `the table of responses has a limit`() {
        for number in 0..<3000 { keep(request("/\(number)")) }
        #expect((0..<3000).count { content(request("/\($0)")) != nil } <= 1024)
        #expect(content(request("/2999")) == "content")
    }

    @Test(arguments: [10, 5000]) func `a message has the request's own id`(size: Int) throws {
        keep(request("/a"), content: String(repeating: "c", count: size))
        let bytes = ByteBuffer(string: request("/a") + "GET")
        let response = table.response(to: bytes.readableBytesUInt8Span, at: .uptimeNanoseconds(1))
        let (found, length) = try #require(response)
        #expect(length == request("/a").utf8.count)
        for id in [0x0123_4567_89AB_CDEF, 7] as [UInt64] {
            var (message, rest) = found.message(id: id, ByteBufferAllocator())
            if var rest { message.writeBuffer(&rest) }
            let text = String(buffer: message)
            #expect(
                text == "HTTP/1.1 200 OK\r\nX-Request-Id: \(RequestID.hexadecimal(id))\r\n\r\n"
                    + String(repeating: "c", count: size))
        }
    }
}
