import Foundation
import Glibc
import TestSupport

/// A client with a plain socket, which sends and receives exactly the bytes on the wire.
final class Client {
    private let descriptor: Int32
    private var received: [UInt8] = []
    /// True if the server has closed its side, or the connection was reset.
    private var hasEnded = false

    /// - Parameters:
    ///   - source: The client's address. All of 127.0.0.0/8 is this machine.
    ///   - receiveBuffer: The size in bytes of the kernel's receive buffer, or `nil` for its default.
    init(_ port: UInt16, from source: String? = nil, receiveBuffer: Int32? = nil) throws {
        descriptor = try Self.connected(to: port, from: source, receiveBuffer: receiveBuffer)
        // A server that does not answer fails the test instead of holding it up for ever (see `fill`).
        var limit = timeval(tv_sec: 1, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    /// One that has asked for a path already.
    convenience init(_ port: UInt16, from source: String? = nil, asking path: String) throws {
        try self.init(port, from: source)
        send("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
    }

    deinit { close(descriptor) }

    /// A socket that is connected to that port of 127.0.0.1.
    static func connected(to port: UInt16, from source: String? = nil, receiveBuffer: Int32? = nil) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if let source, !call(bind, descriptor, source, 0) {
            let failure = SystemCallFailure("bind")
            close(descriptor)
            throw failure
        }
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        guard call(connect, descriptor, "127.0.0.1", port) else {
            let failure = SystemCallFailure("connect")
            close(descriptor)
            throw failure
        }
        return descriptor
    }

    private static func call(
        _ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32, _ descriptor: Int32, _ host: String,
        _ port: UInt16
    ) -> Bool {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr(host)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                function(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// True if the server has read all that was sent.
    var isRead: Bool { LocalPeer(of: descriptor).hasReadAll }

    /// Ends the client's side.
    func finish() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// A response on the wire.
    struct Response {
        var statusLine: String
        var fields: [(name: String, value: String)]
        var body: [UInt8]

        var status: Int { Int(statusLine.split(separator: " ").dropFirst().first ?? "") ?? 0 }
        var text: String { String(decoding: body, as: UTF8.self) }
        subscript(name: String) -> String? {
            fields.first { $0.name.lowercased() == name.lowercased() }?.value
        }
        func all(_ name: String) -> [String] {
            fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
        }
    }

    /// Reads the next answer; nil when the connection ended before its end.
    func answer(toHead: Bool = false) -> Response? {
        guard let head = line(endingIn: [13, 10, 13, 10]) else { return nil }
        let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n")
        let fields = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            return (String(line[..<colon]), String(line[line.index(after: colon)...].drop { $0 == " " }))
        }
        var answer = Response(statusLine: lines[0], fields: fields, body: [])
        if toHead || answer.status == 204 || answer.status == 304 || answer.status < 200 { return answer }
        if let length = answer["Content-Length"].flatMap({ Int($0) }) {
            guard let body = take(length) else { return nil }
            answer.body = body
        } else if answer["Transfer-Encoding"] == "chunked" {
            while true {
                guard
                    let size = line(endingIn: [13, 10]).flatMap({ Int(String(decoding: $0, as: UTF8.self), radix: 16) }
                    ),
                    let chunk = take(size + 2)
                else { return nil }
                if size == 0 { break }
                answer.body += chunk.dropLast(2)
            }
        } else {
            answer.body = rest()
        }
        return answer
    }

    /// Waits until so many bytes, heads included, have come that are not read as an answer yet.
    func receive(atLeast count: Int) -> Bool {
        while received.count < count { guard fill() else { return false } }
        return true
    }

    /// Sends a request and reads the answer.
    func ask(_ text: String) -> Response? {
        send(text)
        return answer(toHead: text.hasPrefix("HEAD"))
    }

    func get(_ path: String, _ fields: String...) -> Response? {
        ask("GET \(path) HTTP/1.1\r\nHost: x\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n")
    }

    /// The bytes until the connection ends.
    func rest() -> [UInt8] {
        while fill() {}
        defer { received = [] }
        return received
    }

    /// True if the server closes the connection now, without a further byte.
    var isEnded: Bool { received.isEmpty && rest().isEmpty && hasEnded }

    /// The error by which the connection ended, 0 when in order.
    private(set) var failure: Int32 = 0

    private func take(_ count: Int) -> [UInt8]? {
        while received.count < count { guard fill() else { return nil } }
        defer { received.removeFirst(count) }
        return Array(received.prefix(count))
    }

    private func line(endingIn terminator: [UInt8]) -> [UInt8]? {
        while true {
            if let range = received.firstRange(of: terminator) {
                defer { received.removeFirst(range.upperBound) }
                return Array(received[..<range.lowerBound])
            }
            guard fill() else { return nil }
        }
    }

    private func fill() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let deadline = ContinuousClock.now + .seconds(patience)
        var count: Int
        repeat {
            count = recv(descriptor, &buffer, buffer.count, 0)
        } while count < 0 && errno == EAGAIN && ContinuousClock.now < deadline && !Task.isCancelled
        guard count > 0 else {
            hasEnded = count == 0 || errno == ECONNRESET
            failure = count == 0 ? 0 : errno
            return false
        }
        received += buffer.prefix(count)
        return true
    }
}

/// Runs blocking work outside the tests' few threads.
func onThreadOfItsOwn<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}
