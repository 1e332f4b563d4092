/// A request as the origin received it.
public struct ReceivedRequest: Sendable {
    /// 1 for the first request that this origin received, over all connections.
    public internal(set) var number = 0
    /// 1 for the first connection that this origin accepted.
    public let connection: Int
    public let method: String
    /// The request target as sent: path and query.
    public let target: String
    public let fields: [(name: String, value: String)]
    public let body: [UInt8]
    /// The request line and the fields as they were sent, each with its end.
    public let head: [UInt8]

    /// The target without its query.
    public var path: String { String(target.prefix { $0 != "?" }) }

    /// The first field of that name, whatever its case.
    public subscript(name: String) -> String? {
        let name = name.lowercased()
        return fields.first { $0.name.lowercased() == name }?.value
    }
}

/// A request that an origin answered or is answering, and what came of it.
public struct RecordedRequest: Sendable {
    public enum Ending: Sendable, Equatable {
        case underway
        /// The script ran to its end.
        case completed
        /// The client closed the connection before the script's end.
        case peerGone
    }

    public let request: ReceivedRequest
    /// The status of the last head that the script sent.
    public var status: Int?
    /// Body bytes that the kernel took and the client acknowledged: those that crossed the network.
    public var bodyBytesSent: Int64 = 0
    public var ending = Ending.underway

    public subscript(name: String) -> String? { request[name] }
}

/// Reads requests off one connection, keeping what came early for the next one.
struct RequestReader {
    let socket: Socket
    private var buffer: [UInt8] = []

    init(socket: Socket) {
        self.socket = socket
    }

    /// The next request, or nil when the client has closed or what it sends is no request.
    mutating func next(connection: Int, onExpectation: () -> Void) -> ReceivedRequest? {
        guard let head = line(endingIn: [13, 10, 13, 10]) else { return nil }
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
        let parts = lines.first?.split(separator: " ") ?? []
        guard parts.count == 3 else { return nil }
        let fields = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            return (String(line[..<colon]), String(value))
        }
        func field(_ name: String) -> String? {
            fields.first { $0.name.lowercased() == name }?.value
        }
        if field("expect")?.lowercased() == "100-continue" { onExpectation() }
        var body: [UInt8] = []
        if let length = field("content-length").flatMap({ Int($0) }) {
            guard let bytes = take(length) else { return nil }
            body = bytes
        } else if field("transfer-encoding")?.lowercased() == "chunked" {
            while true {
                guard
                    let size = line(endingIn: [13, 10]).flatMap({ Int(String(decoding: $0, as: UTF8.self), radix: 16) }
                    ),
                    let chunk = take(size + 2)
                else { return nil }
                if size == 0 { break }
                body += chunk.dropLast(2)
            }
        }
        return ReceivedRequest(
            connection: connection, method: String(parts[0]), target: String(parts[1]), fields: fields, body: body,
            head: head + [13, 10])
    }

    private mutating func take(_ count: Int) -> [UInt8]? {
        while buffer.count < count {
            guard fill() else { return nil }
        }
        defer { buffer.removeFirst(count) }
        return Array(buffer.prefix(count))
    }

    private mutating func line(endingIn terminator: [UInt8]) -> [UInt8]? {
        while true {
            if buffer.count >= terminator.count {
                for start in 0...(buffer.count - terminator.count)
                where buffer[start..<(start + terminator.count)].elementsEqual(terminator) {
                    defer { buffer.removeFirst(start + terminator.count) }
                    return Array(buffer[..<start])
                }
            }
            guard fill(), buffer.count < 1 << 20 else { return nil }
        }
    }

    private mutating func fill() -> Bool {
        let bytes = socket.received(upTo: 16384)
        buffer += bytes
        return !bytes.isEmpty
    }
}
