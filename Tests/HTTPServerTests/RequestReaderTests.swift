import HTTPTypes
import NIOCore
import TestSupport
import Testing

@testable import HTTPServer

/// The requests in a connection's bytes.
private func read(
    _ bytes: String, limits: RequestLimits = RequestLimits(), cut: Int? = nil
) throws(RequestError) -> [(head: RequestHead, content: [UInt8])] {
    var reader = RequestReader(limits: limits)
    var requests: [(RequestHead, [UInt8])] = []
    var head: RequestHead?
    var buffer = ByteBuffer()
    var rest = Array(bytes.utf8)[...]
    while !rest.isEmpty {
        buffer.writeBytes(rest.prefix(cut ?? rest.count))
        rest = rest.dropFirst(cut ?? rest.count)
        while let step = try reader.next(&buffer) {
            switch step {
            case .head(let read): head = read
            case .content(let content): if let head { requests.append((head, content)) }
            }
        }
    }
    return requests
}

private func status(_ bytes: String, limits: RequestLimits = RequestLimits(), cut: Int? = nil) -> Int? {
    do {
        _ = try read(bytes, limits: limits, cut: cut)
        return nil
    } catch {
        return error.status
    }
}

struct RequestReaderTests {
    @Test(arguments: [1, 2, 3, 7, 1000])
    func `a request is read the same however its bytes are cut up`(cut: Int) throws {
        let requests = try read(
            "POST /a?b=c HTTP/1.1\r\nHost: x:80\r\nContent-Length: 5\r\n\r\nhelloGET /d HTTP/1.0\r\n\r\n"
                + "PUT /e HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"
                + "3;a=b\r\nabc\r\nB\r\n0123456789a\r\n0\r\nA: b\r\n\r\n", cut: cut)
        #expect(requests.map(\.head.targetText) == ["/a?b=c", "/d", "/e"])
        #expect(requests.map(\.head.method.rawValue) == ["POST", "GET", "PUT"])
        #expect(requests.map { String(decoding: $0.content, as: UTF8.self) } == ["hello", "", "abc0123456789a"])
        #expect(requests.map(\.head.keepsAlive) == [true, false, true])
    }

    @Test func `an absolute URL as target becomes a path, and its host overrides Host`() throws {
        let requests = try read("GET http://a.example:81?q HTTP/1.1\r\nHost: b\r\n\r\n")
        #expect(requests.first?.head.target == .path("/?q"))
        #expect(requests.first?.head.authority == "a.example:81")
        #expect(try read("OPTIONS http://a HTTP/1.1\r\nHost: a\r\n\r\n").first?.head.target == .server)
    }

    @Test func `a field's value is kept byte by byte, without the space around it`() throws {
        let requests = try read("GET / HTTP/1.1\r\nHost: x\r\nA:\t b  c \t\r\nB:\r\n\r\n")
        #expect(requests.first?.head.fields[HTTPField.Name("A")!] == "b  c")
        #expect(requests.first?.head.fields[HTTPField.Name("B")!] == "")
    }

    @Test func `one empty line before a request is skipped`() throws {
        #expect(try read("\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n").count == 1)
        #expect(status("\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n") == 400)
    }

    @Test func `a line feed after a skipped empty line is refused even if the bytes come one by one`() {
        for cut in [1, 2, 3] { #expect(status("\r\n\n", cut: cut) == 400, "\(cut)") }
    }

    @Test(arguments: [";a", ";a=b", ";a=b;c;d=\"e;\\\"f\"", ";a=\"\"", ";a;b=c"])
    func `a chunk's extension is skipped`(text: String) throws {
        let requests = try read(
            "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\(text)\r\nabc\r\n0\(text)\r\n\r\n", cut: 1
        )
        #expect(requests.map(\.content) == [Array("abc".utf8)])
    }

    @Test func `a connection stays open as its version and Connection say`() throws {
        func keeps(_ version: String, _ fields: String) throws -> Bool? {
            try read("GET / HTTP/\(version)\r\nHost: x\r\n\(fields)\r\n").first?.head.keepsAlive
        }
        #expect(try keeps("1.1", "") == true)
        #expect(try keeps("1.1", "Connection: a, CLOSE\r\n") == false)
        #expect(try keeps("1.0", "") == false)
        #expect(try keeps("1.0", "Connection: Keep-Alive\r\n") == true)
        #expect(try keeps("1.0", "Connection: keep-alive, close\r\n") == false)
    }

    @Test func `each limit has its own response status`() {
        let limits = RequestLimits(target: 100, head: 512, fields: 4, body: 10)
        let long = String(repeating: "a", count: 600)
        #expect(status("GET /\(long) HTTP/1.1\r\nHost: x\r\n\r\n", limits: limits) == 414)
        #expect(status("GET /\(long)", limits: limits) == 414)
        #expect(status("GET / HTTP/1.1\r\nHost: x\r\nA: \(long)", limits: limits) == 431)
        #expect(
            status("GET / HTTP/1.1\r\nHost: x\r\n\(String(repeating: "A: b\r\n", count: 4))\r\n", limits: limits) == 431
        )
        #expect(status("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n", limits: limits) == 413)
        #expect(
            status(
                "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n5\r\n", limits: limits)
                == 413)
    }

    @Test(arguments: [
        ("HEAD / HTTP/1.1\r\nHost : x\r\n\r\n", true), ("HEAD / HTTP/1.1\r\nA: \u{1}\r\n\r\n", true),
        ("HEAD / HTTP/1.1\r\n\r\n", true), ("HEAD / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n", true),
        ("HEAD / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n", true), ("HEAD /a b HTTP/1.1\r\n", true),
        ("HEAD * HTTP/1.1\r\n", true), ("HEAD / HTTP/2.0\r\n", true), ("\r\nHEAD  / HTTP/1.1\r\n", true),
        ("GET / HTTP/1.1\r\nHost : x\r\n\r\n", false), ("GET /HEAD x HTTP/1.1\r\n", false),
        ("HEADER /a b HTTP/1.1\r\n", false), ("HEAD\t/ HTTP/1.1\r\n", false),
        ("PUT / HTTP/1.1\r\nHost : HEAD \r\n\r\n", false),
    ])
    func `a request that cannot be read is known to be a HEAD, whose response has no content`(
        bytes: String, isHEAD: Bool
    ) {
        for start in ["", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"] {
            var reader = RequestReader(limits: RequestLimits())
            var buffer = ByteBuffer(string: start + bytes)
            var isRefused = false
            do throws(RequestError) {
                while try reader.next(&buffer) != nil {}
            } catch {
                isRefused = true
            }
            let isKnown = reader.isReadingHEAD(from: buffer)
            #expect(isRefused && isKnown == isHEAD, "\(start)\(bytes)")
        }
    }

    @Test(arguments: MalformedRequest.all)
    func `an invalid HTTP/1.1 request is refused`(request: MalformedRequest) {
        #expect(status(request.bytes) == request.status, "\(request)")
    }
}
