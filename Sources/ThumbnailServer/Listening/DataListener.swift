import Metrics
import NIOCore
import NIOPosix

/// Sets up the data listener's socket and the pipeline of each connection.
enum DataListener {
    static func start(
        on address: ListenAddress, group: MultiThreadedEventLoopGroup, connections: ConnectionRegistry,
        listener: Listener
    ) async throws -> any Channel {
        var turns: [ObjectIdentifier: NIOLoopBound<SocketTurns>] = [:]
        for loop in group.makeIterator() { turns[ObjectIdentifier(loop)] = try await SocketTurns.start(on: loop) }
        return try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            // An ending of the client's side is told apart from the connection's end.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 32 << 10, high: 128 << 10))
            .childChannelInitializer { [turns] channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let turns = turns[ObjectIdentifier(channel.eventLoop)], connections.add(channel) else {
                        throw TooManyConnections()
                    }
                    channel.closeFuture.whenComplete { _ in connections.remove(channel) }
                    try channel.pipeline.syncOperations.addHandler(Connection(listener: listener, turns: turns.value))
                }
            }
            .bind(host: address.host, port: address.port)
            .get()
    }

    struct TooManyConnections: Error {}
}
