import Foundation
import ImageCache
import NIOCore

@testable import HTTPServer

/// A request as a parser cuts it out of a stream: what it is, and which bytes are its content.
struct FramedRequest: Hashable, CustomStringConvertible {
    var method: String
    /// Path and query; of an absolute-form what follows its authority.
    var target: String
    var content: [UInt8]

    init(_ method: String, _ target: String, _ content: [UInt8]) {
        self.method = method
        self.content = content
        let afterScheme = target.range(of: "^https?://", options: [.regularExpression, .caseInsensitive])
        guard let afterScheme else {
            self.target = target
            return
        }
        let rest = target[afterScheme.upperBound...].drop { $0 != "/" && $0 != "?" }
        self.target = rest.isEmpty ? (method == "OPTIONS" ? "*" : "/") : rest.hasPrefix("/") ? String(rest) : "/" + rest
    }

    var description: String { "\(method) \(target) \(Stream.shown(content))" }
}

/// The requests into which a parser splits a stream, up to the end of the stream or of the connection.
struct Framing {
    var requests: [FramedRequest] = []
    /// The reason why this package's reader stopped: the name of an error, or `close` if the connection ends with the
    /// last request.
    var fault: String?
    /// The host of each request, as this package's reader sees it.
    var hosts: [String?] = []

    /// As this package's reader does it.
    static func own(_ stream: [UInt8]) -> Framing {
        var reader = RequestReader(limits: RequestLimits(target: 8 << 10, head: 64 << 10, fields: 1000, body: 16 << 20))
        var buffer = ByteBuffer(bytes: stream)
        var framing = Framing()
        var head: RequestHead?
        do throws(RequestError) {
            while let step = try reader.next(&buffer) {
                switch step {
                case .head(let read): head = read
                case .content(let content):
                    guard let whole = head else { continue }
                    framing.requests.append(FramedRequest(whole.method.rawValue, whole.targetText, content))
                    framing.hosts.append(HTTPField.Name("Host").flatMap { whole.fields[$0] })
                    // The connection ends with the answer: nothing behind is read.
                    guard whole.keepsAlive else {
                        framing.fault = "close"
                        return framing
                    }
                }
            }
        } catch {
            framing.fault = error.code
        }
        return framing
    }
}

/// Streams of requests for tests: good ones, and what mutation makes of them.
enum Stream {
    static func shown(_ bytes: [UInt8]) -> String {
        bytes.map { byte in
            switch byte {
            case 13: "\\r"
            case 10: "\\n"
            case 92: "\\\\"
            case 0x20...0x7E: String(UnicodeScalar(byte))
            default: "\\x" + String(byte, radix: 16)
            }
        }.joined()
    }

    private static let requests = [
        "GET /a HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /a?b=c HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nConnection: keep-alive\r\n\r\n",
        "GET http://x/abs?q HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "HEAD /h HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
        "POST /empty HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
        "POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 33\r\n\r\nGET /inside HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "PUT /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: v\r\n\r\n",
        "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n21\r\nGET /inside HTTP/1.1\r\nHost: x\r\n\r\n\r\n0\r\n\r\n",
        "DELETE /d HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /l HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ]

    private static let tokens = [
        "\r\n", "\n", "\r", "\r\n\r\n", " ", "\t", "\0", "\u{0B}", ":", ";", ",", "+", "-", "0x", "0", "00", "1", "f",
        "\"",
        "Content-Length: 3\r\n", "Content-Length: 0\r\n", "Content-Length: 5\r\n", "Content-Length:\r\n",
        "Content-Length: 3, 3\r\n",
        "Content-Length : 3\r\n", "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding:\u{0B}chunked\r\n", "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "X: y\r\n", " folded\r\n", "\tfolded\r\n", "Connection: close\r\n", "Connection: keep-alive\r\n", "Host: y\r\n",
        "Expect: 100-continue\r\n", "0\r\n\r\n", "3\r\nabc\r\n", "GET /t HTTP/1.1\r\nHost: x\r\n\r\n", "; a", " ;a",
        "é",
    ]

    /// One to four requests, most of them mutated in a few places.
    static func random(_ generator: inout some RandomNumberGenerator) -> [UInt8] {
        var bytes = (0..<Int.random(in: 1...4, using: &generator)).flatMap { _ in
            Array((requests.randomElement(using: &generator) ?? "").utf8)
        }
        for _ in 0..<Int.random(in: 0...3, using: &generator) { mutate(&bytes, &generator) }
        return bytes
    }

    private static func mutate(_ bytes: inout [UInt8], _ generator: inout some RandomNumberGenerator) {
        guard !bytes.isEmpty else { return }
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        let token = Array((tokens.randomElement(using: &generator) ?? "").utf8)
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: bytes.insert(contentsOf: token, at: place)
        case 1, 2: bytes.insert(contentsOf: token, at: lineStart(in: bytes, near: place))
        case 3: bytes.remove(at: place)
        case 4: bytes[place] = UInt8.random(in: 0...255, using: &generator)
        case 5: bytes.replaceSubrange(place..<min(bytes.count, place + token.count), with: token)
        case 6:
            // A line again, somewhere else.
            let start = lineStart(in: bytes, near: place)
            let end = bytes[start...].firstIndex(of: 10).map { $0 + 1 } ?? bytes.count
            let other = lineStart(in: bytes, near: Int.random(in: 0..<bytes.count, using: &generator))
            bytes.insert(contentsOf: Array(bytes[start..<end]), at: other)
        default:
            // A digit becomes another one: lengths and sizes.
            guard let digit = bytes[place...].firstIndex(where: { (0x30...0x39).contains($0) }) else { return }
            bytes[digit] = 0x30 + UInt8.random(in: 0...9, using: &generator)
        }
    }

    private static func lineStart(in bytes: [UInt8], near place: Int) -> Int {
        bytes[..<place].lastIndex(of: 10).map { $0 + 1 } ?? 0
    }
}
