import Foundation
import Glibc

/// Performs the scripts of one connection's requests, one after the other.
struct OriginConnection {
    private enum Halt: Error, Equatable {
        case peerGone
        case cut(reset: Bool)
    }

    private let number: Int
    private let socket: Socket
    private let state: OriginState
    private let script: ScriptedOrigin.Script
    private var limit: Throttle?

    init(number: Int, socket: Socket, state: OriginState, script: @escaping ScriptedOrigin.Script) {
        self.number = number
        self.socket = socket
        self.state = state
        self.script = script
    }

    mutating func serve() {
        var reader = RequestReader(socket: socket)
        var reset = false
        while let parsed = reader.next(
            connection: number,
            onExpectation: { [socket] in _ = Self.send("HTTP/1.1 100 Continue\r\n\r\n", to: socket) })
        {
            let request = state.record(parsed)
            limit = nil
            let halt = perform(script(request), for: request)
            state.update(request.number) { $0.ending = halt == .peerGone ? .peerGone : .completed }
            reset = halt == .cut(reset: true)
            if halt != nil || request["connection"]?.lowercased() == "close" { break }
        }
        state.finish(socket, reset: reset)
    }

    private mutating func perform(_ steps: [OriginStep], for request: ReceivedRequest) -> Halt? {
        do throws(Halt) {
            for step in steps { try perform(step, for: request) }
            return nil
        } catch {
            return error
        }
    }

    private mutating func perform(_ step: OriginStep, for request: ReceivedRequest) throws(Halt) {
        switch step {
        case .raw(let text):
            guard Self.send(text, to: socket) else { throw .peerGone }
        case .head(let status, let fields):
            state.update(request.number) { $0.status = status }
            let lines = fields.map { "\($0.name): \($0.value)\r\n" }.joined()
            guard Self.send("HTTP/1.1 \(status) \(reason(status))\r\n\(lines)\r\n", to: socket) else { throw .peerGone }
        case .body(let bytes):
            try sendBody(bytes, for: request)
        case .content(let content, let range):
            try sendContent(content, range, for: request)
        case .chunks(let content, let range, let chunkSize):
            var start = range.lowerBound
            while start < range.upperBound {
                let end = min(start + chunkSize, range.upperBound)
                guard Self.send(String(end - start, radix: 16) + "\r\n", to: socket) else { throw .peerGone }
                try sendContent(content, start..<end, for: request)
                guard Self.send("\r\n", to: socket) else { throw .peerGone }
                start = end
            }
        case .throttle(let bytesPerSecond):
            limit = bytesPerSecond.map { Throttle(bytesPerSecond: $0) }
        case .pause(let milliseconds):
            let end = ContinuousClock.now + .milliseconds(milliseconds)
            try idle { ContinuousClock.now >= end }
        case .wait(let gate):
            try idle { gate.isOpen }
        case .stall:
            try idle { false }
        case .cut(let reset):
            var patience = reset ? 200 : 0
            while patience > 0, socket.unacknowledged > 0 {
                patience -= 1
                usleep(1000)
            }
            throw .cut(reset: reset)
        case .perform(let action):
            action()
        }
    }

    /// Waits until `isOver`, noticing that the client has gone or the origin was stopped.
    private func idle(until isOver: () -> Bool) throws(Halt) {
        while !isOver() {
            if state.isStopped || socket.peerHasGone(within: 3) { throw .peerGone }
        }
    }

    private mutating func sendContent(
        _ content: Content, _ range: Range<Int64>, for request: ReceivedRequest
    ) throws(Halt) {
        var offset = range.lowerBound
        var buffer = [UInt8](repeating: 0, count: Int(min(Int64(range.count), 256 << 10)))
        while offset < range.upperBound {
            let count = Int(min(Int64(buffer.count), range.upperBound - offset))
            content.fill(&buffer, from: offset)
            try sendBody(buffer[..<count], for: request)
            offset += Int64(count)
        }
    }

    private mutating func sendBody(
        _ bytes: some ContiguousBytes & Collection<UInt8>, for request: ReceivedRequest
    ) throws(Halt) {
        // Small pieces when throttled, so that little is under way when the client is killed.
        let step = limit == nil ? bytes.count : 16384
        let complete = bytes.withUnsafeBytes { buffer in
            var done = 0
            while done < buffer.count {
                let piece = UnsafeRawBufferPointer(rebasing: buffer[done..<min(done + step, buffer.count)])
                let sent = socket.sent(piece)
                let lost = sent < piece.count ? socket.unacknowledged : 0
                state.update(request.number) { $0.bodyBytesSent += Int64(sent - lost) }
                if sent < piece.count { return false }
                done += sent
                if limit != nil {
                    limit?.wait(after: sent)
                    // A client that is behind reads first: what lies in its buffers when it is killed, it never had.
                    while !state.isStopped, socket.unreadByPeer > 32768, !socket.peerHasGone(within: 5) {}
                }
            }
            return true
        }
        if !complete { throw .peerGone }
    }

    private static func send(_ text: String, to socket: Socket) -> Bool {
        Array(text.utf8).withUnsafeBytes { socket.sent($0) == $0.count }
    }

    private func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 206: "Partial Content"
        case 304: "Not Modified"
        case 404: "Not Found"
        case 416: "Range Not Satisfiable"
        default: "Scripted"
        }
    }
}

/// Lets bytes go at an even rate: sleeps until those that went are due.
private struct Throttle {
    let bytesPerSecond: Int64
    private let start = ContinuousClock.now
    private var bytes: Int64 = 0

    init(bytesPerSecond: Int64) {
        self.bytesPerSecond = bytesPerSecond
    }

    mutating func wait(after count: Int) {
        bytes += Int64(count)
        let early = start + .microseconds(bytes * 1_000_000 / bytesPerSecond) - ContinuousClock.now
        if early > .zero { usleep(UInt32(early / .microseconds(1))) }
    }
}
