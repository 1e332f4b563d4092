import CLinux
import Glibc
import HTTPTypes
package import NIOCore
package import NIOPosix

/// The listening socket, and the pipeline of each connection that it accepts.
package enum ListeningSocket {
    package static func start(
        on address: ListenAddress, group: MultiThreadedEventLoopGroup, listener: Listener
    ) async throws -> any Channel {
        var fairness: [ObjectIdentifier: NIOLoopBound<WriteFairness>] = [:]
        var prepared: [ObjectIdentifier: NIOLoopBound<SerializedResponses>] = [:]
        for loop in group.makeIterator() {
            fairness[ObjectIdentifier(loop)] = try await WriteFairness.start(on: loop)
            prepared[ObjectIdentifier(loop)] = try await loop.submit {
                let settings = listener.settings
                return NIOLoopBound(
                    SerializedResponses(limits: settings.limits, idName: settings.idField?.rawName), eventLoop: loop)
            }.get()
        }
        return try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            // The end of the client's side is distinguished from the end of the connection.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 32 << 10, high: 128 << 10))
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        ConnectionAcceptor(connections: listener.connections, observer: listener.observer))
                }
            }
            .childChannelInitializer { [fairness, prepared] channel in
                channel.eventLoop.makeCompletedFuture {
                    let loop = ObjectIdentifier(channel.eventLoop)
                    guard let fairness = fairness[loop], let prepared = prepared[loop] else {
                        throw ChannelError.inputClosed
                    }
                    try channel.pipeline.syncOperations.addHandler(
                        Connection(listener: listener, fairness: fairness.value, prepared: prepared.value))
                }
            }
            .bind(host: address.host, port: address.port)
            .get()
    }

    // MARK: Stopping

    /// Stops listening without resetting connections that clients consider established.
    ///
    /// close(2) of a listening socket resets connections that have not been accepted yet. So first no new handshake may
    /// begin: the kernel drops their first segments, which clients repeat after a second, to the next listener.
    /// Handshakes in progress end within a round trip and are accepted. Only then the socket is closed. (If such a
    /// filter cannot be set, waiting connections are accepted.)
    package static func stop(_ channel: any Channel) async {
        guard let options = channel as? any SocketOptionProvider else { return channel.close(promise: nil) }
        let isQuiet = await refuseHandshakes(options)
        let start = ContinuousClock.now
        let (least, most): (Duration, Duration) =
            isQuiet ? (.milliseconds(200), .seconds(2)) : (.zero, .milliseconds(200))
        while channel.isActive {
            let elapsed = ContinuousClock.now - start
            if elapsed >= most { break }
            if elapsed >= least, await backlog(options) == 0 { break }
            guard (try? await Task.sleep(for: .milliseconds(5))) != nil else { break }
        }
        channel.close(promise: nil)
    }

    /// `@unchecked Sendable`: a number and a pointer to code that never changes.
    private struct Filter: @unchecked Sendable {
        let program = clinux_no_new_handshakes()
    }

    private static func refuseHandshakes(_ options: any SocketOptionProvider) async -> Bool {
        let set = options.unsafeSetSocketOption(
            level: .socket, name: NIOBSDSocket.Option(rawValue: SO_ATTACH_FILTER), value: Filter())
        return (try? await set.get()) != nil
    }

    /// The number of connections waiting to be accepted: "unacked" in TCP_INFO of a listening socket.
    private static func backlog(_ options: any SocketOptionProvider) async -> UInt32 {
        (try? await options.getTCPInfo().get())?.tcpi_unacked ?? 0
    }
}
