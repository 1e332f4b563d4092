import Foundation
import Glibc
import TestSupport
import Testing

@Suite(.serialized, .fewAtATime(limit: .seconds(180))) struct ManyClientsTests {
    @Test
    func
        `500 clients of one cold file share a resumed request within 100 MiB of memory`()
        async throws
    {
        let file = Representation(seed: 500, size: 50_000_000)
        let origin = try ScriptedOrigin(sendBuffer: nil) { request in
            var behaviour = Behaviour(file)
            if request.number <= 3 { behaviour.cutAfter = 12_000_000 }
            return behaviour
        }
        let server = try await ServerProcess(
            origin: origin.url(""), "--max-requests", "1000", "--max-requests-per-client", "1000")
        let expected = file.content.bytes()
        var clients = try Crowd(of: 500, on: server.port, asking: "/file")
        let crowd = try clients.readAll(expected)
        if crowd.whole < 500 { _ = await server.logs { $0.count == 500 } }
        #expect(
            crowd.whole == 500,
            "\(crowd); \(server.log.filter { $0["status"] as? Int != 200 || $0["cut_short"] != nil })")
        // On a busy computer the body may come so slowly that further connections are tried.
        let (requests, further) = (origin.requests, max(0, origin.requests.count - 4))
        #expect(requests.count >= 4 && further <= 15, "\(requests.count)")
        #expect(requests.first?["range"] == nil)
        #expect(requests.dropFirst().allSatisfy { $0["range"] != nil && $0["if-range"] == "\"v500\"" })
        // Only an incomplete block is requested again.
        #expect(origin.bodyBytesSent < file.size + Int64(3 + further) * 262_144 + 3_000_000)
        if !isSanitized() { #expect(server.peakMemory <= 100 << 20, "\(server.peakMemory >> 20) MiB") }
    }

    @Test func `a slow client slows its own transfer only, and the file is stored at the origin's pace`() async throws {
        let file = Representation(seed: 7, size: 20_000_000)
        let origin = try ScriptedOrigin(serving: file, sendBuffer: nil)
        let server = try await ServerProcess(origin: origin.url(""))
        let slow = try Client(server.port)
        slow.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        let quick = try #require(try Client(server.port).get("/a"))
        #expect(quick.body == file.content.bytes())
        #expect(slow.answer()?.body == file.content.bytes())
        #expect(origin.requests.count == 1)
    }
}

/// Many clients on one thread, each of which compares what it gets with what it should.
private struct Crowd {
    struct Result: CustomStringConvertible {
        var whole = 0
        var wrong: [String] = []

        var description: String { "\(whole) right; wrong: \(wrong.prefix(5))" }
    }

    fileprivate struct Member {
        var head: [UInt8] = []
        var isInBody = false
        var received = 0
    }

    private var sockets: [pollfd] = []
    private var members: [Member]

    init(of count: Int, on port: UInt16, asking path: String) throws {
        members = Array(repeating: Member(), count: count)
        let request = Array("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
        for _ in 0..<count {
            let descriptor = try Client.connected(to: port)
            sockets.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
            guard Glibc.send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
                throw SystemCallFailure("send")
            }
        }
    }

    mutating func readAll(_ expected: [UInt8]) throws -> Result {
        var result = Result()
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        defer { for socket in sockets where socket.fd >= 0 { close(socket.fd) } }
        while sockets.contains(where: { $0.fd >= 0 }) {
            guard poll(&sockets, nfds_t(sockets.count), 60_000) > 0 else {
                result.wrong.append("nothing came for a minute")
                return result
            }
            for index in sockets.indices where sockets[index].fd >= 0 && sockets[index].revents != 0 {
                let count = recv(sockets[index].fd, &buffer, buffer.count, 0)
                let fault =
                    count > 0
                    ? members[index].take(buffer, count, expected)
                    : "ended at \(members[index].received): \(count < 0 ? String(cString: strerror(errno)) : "in order")"
                if fault == nil, members[index].received < expected.count { continue }
                if let fault { result.wrong.append(fault) } else { result.whole += 1 }
                close(sockets[index].fd)
                sockets[index].fd = -1
            }
        }
        return result
    }
}

extension Crowd.Member {
    /// The error in these bytes, or nil.
    fileprivate mutating func take(_ buffer: [UInt8], _ count: Int, _ expected: [UInt8]) -> String? {
        var start = 0
        if !isInBody {
            head += buffer[..<count]
            guard let end = head.firstRange(of: [13, 10, 13, 10]) else { return nil }
            guard head.starts(with: "HTTP/1.1 200".utf8) else {
                return String(decoding: head.prefix(300), as: UTF8.self)
            }
            isInBody = true
            start = count - (head.count - end.upperBound)
        }
        let length = count - start
        guard received + length <= expected.count else { return "more than there is" }
        let isRight = buffer.withUnsafeBytes { got in
            expected.withUnsafeBytes { right in
                guard let got = got.baseAddress, let right = right.baseAddress else { return length == 0 }
                return memcmp(got + start, right + received, length) == 0
            }
        }
        received += length
        return isRight ? nil : "other bytes before \(received)"
    }
}
