import NIOCore
import TestSupport
import Testing

@testable import HTTPServer

private func outlined(_ text: String, limits: RequestLimits = RequestLimits()) -> HeadOutline? {
    var outline = HeadOutline(limits: limits, idName: "X-Request-Id")
    return outline.read(ByteBuffer(string: text).readableBytesUInt8Span) ? outline : nil
}

/// True if the reader accepts exactly this request.
private func isRead(_ text: String) -> Bool {
    var reader = RequestReader(limits: RequestLimits())
    var buffer = ByteBuffer(string: text)
    guard case .head(let head) = try? reader.next(&buffer), case .content(let content) = try? reader.next(&buffer)
    else { return false }
    return head.keepsAlive && content.isEmpty
}

struct HeadOutlineTests {
    @Test func `an outline has the target, the host, and the fields of conditions`() throws {
        let head =
            "HEAD /a?b=%20 HTTP/1.1\r\nhost:\t x:80 \r\nAccept: */*\r\nIf-None-Match: \"1\"\r\n"
            + "RANGE:bytes=0-1\r\n\r\nGET"
        let bytes = ByteBuffer(string: head)
        let found = outlined(head)
        let outline = try #require(found)
        func text(_ range: Range<Int>) -> String? { bytes.getString(at: range.lowerBound, length: range.count) }
        #expect(outline.isHead)
        #expect(text(outline.target) == "/a?b=%20")
        #expect(text(outline.host) == "x:80")
        #expect(outline.conditions.map { text($0.name) } == ["If-None-Match", "RANGE"])
        #expect(outline.conditions.map { text($0.value) } == ["\"1\"", "bytes=0-1"])
        #expect(outline.fields.count == 4)
        #expect(outline.length == head.utf8.count - 3)
    }

    @Test(arguments: [
        "POST / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: x\r\n\r\n",
        "GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost:\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: accept\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nauthorization: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nCache-Control: no-cache\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nPragma: no-cache\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nIf-Match: *\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nX-Request-ID: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nIf-Unmodified-Since: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nExpect: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n",
        "GET / HTTP/1.1\nHost: x\n\n",
        "GET / HTTP/1.1\r\nHost: x\r\n a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nA: \u{1}\r\n\r\n",
        "GET /# HTTP/1.1\r\nHost: x\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
    ])
    func `a request that may need more than the choice of a response has no outline`(text: String) {
        #expect(outlined(text) == nil)
    }

    @Test func `a request that exceeds a limit has no outline`() {
        let text = "GET /abc HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n"
        #expect(outlined(text, limits: RequestLimits(target: 4, head: 36, fields: 2)) != nil)
        #expect(outlined(text, limits: RequestLimits(target: 3)) == nil)
        #expect(outlined(text, limits: RequestLimits(head: 35)) == nil)
        #expect(outlined(text, limits: RequestLimits(fields: 1)) == nil)
    }

    @Test func `a request with an outline is also read as a request without content`() {
        var random = SeededGenerator(for: "HeadOutlineTests")
        let parts = [
            "GET ", "HEAD ", "/", "/a", " HTTP/1.1\r\n", "Host: x\r\n", "Host:", "x", "\r\n", "\r", "\n", " ", "\t",
            ":",
            "A: b\r\n", "Connection: keep-alive\r\n", "Range: bytes=0-\r\n", "Content-Length: 1\r\n", "é", "\u{0}",
            "Accept: a,b\r\n",
        ]
        var count = 0
        for _ in 0..<20_000 {
            var text = "GET /a HTTP/1.1\r\nHost: x\r\n"
            for _ in 0..<Int.random(in: 0...4, using: &random) { text += parts.randomElement(using: &random) ?? "" }
            text += "\r\n"
            guard let outline = outlined(text) else { continue }
            count += 1
            let request = String(decoding: Array(text.utf8).prefix(outline.length), as: UTF8.self)
            #expect(isRead(request), "\(text.debugDescription)")
        }
        #expect(count > 1000)
    }
}
