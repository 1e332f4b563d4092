import ConcurrencyPrimitives
import Foundation
import Glibc

/// An HTTP/1.1 origin on 127.0.0.1 that answers each request by a script, and records what it was asked and what it sent.
///
/// Plain sockets and a thread a connection, so that nothing stands between a script and the wire. It stops when it
/// is released, or by `stop()`.
public final class ScriptedOrigin: Sendable {
    public typealias Script = @Sendable (ReceivedRequest) -> [OriginStep]

    public let port: UInt16
    private let state: OriginState

    /// - Parameter sendBuffer: the sockets' send buffer in bytes. Small, so that the bytes counted as sent are close
    ///   to those that arrived; nil leaves it to the kernel, for fast transfers.
    public init(sendBuffer: Int32? = 16384, script: @escaping Script) throws {
        let (socket, port) = try Socket.listening()
        self.port = port
        let state = OriginState(listener: socket)
        self.state = state
        Thread.detachNewThread {
            var number = 0
            while let connection = socket.accepted() {
                number += 1
                if let sendBuffer { connection.limitSendBuffer(to: sendBuffer) }
                guard state.register(connection) else {
                    connection.finish(reset: true)
                    break
                }
                let accepted = OriginConnection(number: number, socket: connection, state: state, script: script)
                Thread.detachNewThread {
                    var connection = accepted
                    connection.serve()
                }
            }
            close(socket.descriptor)
        }
    }

    deinit { stop() }

    /// Stops accepting and ends every connection.
    public func stop() { state.stop() }

    /// `http://127.0.0.1:PORT` and the path, which begins with a slash.
    public func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

    /// The same origin's port under the name `localhost`: another origin to a client.
    public func localhostURL(_ path: String = "/") -> String { "http://localhost:\(port)\(path)" }

    /// Every request so far, in the order of arrival.
    public var requests: [RecordedRequest] { state.requests }

    /// Every request so far to that path.
    public func requests(to path: String) -> [RecordedRequest] { requests.filter { $0.request.path == path } }

    /// Body bytes over all requests.
    public var bodyBytesSent: Int64 { requests.reduce(0) { $0 + $1.bodyBytesSent } }

    /// Connections accepted so far.
    public var connections: Int { state.connections }

    /// Waits until the recorded requests satisfy the condition; false after `seconds` without.
    @discardableResult
    public func waits(
        upTo seconds: Double = patience, until condition: @Sendable ([RecordedRequest]) -> Bool
    ) async -> Bool {
        await eventually(within: seconds) { condition(requests) }
    }
}

/// The state shared by the threads of one origin.
final class OriginState: Sendable {
    private struct Values {
        var stopped = false
        var connections = 0
        var open: [Int32: Socket] = [:]
        var requests: [RecordedRequest] = []
    }

    private let listener: Socket
    private let values = Locked(Values())

    init(listener: Socket) {
        self.listener = listener
    }

    var requests: [RecordedRequest] { values.withLock { $0.requests } }
    var connections: Int { values.withLock { $0.connections } }
    var isStopped: Bool { values.withLock { $0.stopped } }

    func register(_ connection: Socket) -> Bool {
        values.withLock {
            guard !$0.stopped else { return false }
            $0.connections += 1
            $0.open[connection.descriptor] = connection
            return true
        }
    }

    /// Closes under the lock: `stop` must not shut down a descriptor that has a new owner.
    func finish(_ connection: Socket, reset: Bool) {
        values.withLock {
            $0.open[connection.descriptor] = nil
            connection.finish(reset: reset)
        }
    }

    /// Records the request and returns it with its number.
    func record(_ request: ReceivedRequest) -> ReceivedRequest {
        values.withLock {
            var request = request
            request.number = $0.requests.count + 1
            $0.requests.append(RecordedRequest(request: request))
            return request
        }
    }

    func update(_ number: Int, _ change: (inout RecordedRequest) -> Void) {
        values.withLock { change(&$0.requests[number - 1]) }
    }

    func stop() {
        values.withLock {
            guard !$0.stopped else { return }
            $0.stopped = true
            listener.shutDown()
            for connection in $0.open.values { connection.shutDown() }
        }
    }
}
