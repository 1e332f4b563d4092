import Hummingbird
import HummingbirdCore
import ImageCache
import Logging
import NIOCore
import NIOPosix

/// Serves ``AdminRoutes`` on an address of its own, on one thread of its own: what the page asks holds up no client.
///
/// It outlives the data listener, so that a server that finishes what runs can be watched doing so.
struct AdminListener: Sendable {
    /// The address that it listens on.
    let address: SocketAddress?
    private let task: Task<Void, any Error>
    private let group: MultiThreadedEventLoopGroup

    /// Starts listening.
    static func start(_ routes: AdminRoutes, on address: ListenAddress) async throws -> AdminListener {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let (addresses, continuation) = AsyncThrowingStream.makeStream(of: SocketAddress?.self)
        // What Hummingbird has to say is of connections that ended early; failures of answers are told by the routes.
        var quiet = routes.logger
        quiet.logLevel = .critical
        let application = Application(
            responder: routes.responder(),
            server: .http1(
                configuration: HTTP1Channel.Configuration(
                    idleTimeout: .seconds(75),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 32 << 10, maxHeaderFieldCount: 100))),
            configuration: ApplicationConfiguration(
                address: .hostname(address.host, port: address.port),
                availableConnectionsDelegate: MaximumAvailableConnections(256)),
            onServerRunning: { continuation.yield($0.localAddress) },
            eventLoopGroupProvider: .shared(group), logger: quiet)
        // Detached: a graceful shutdown of the server is not yet this one's.
        let task = Task.detached {
            do {
                try await application.run()
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
                throw error
            }
        }
        do {
            for try await address in addresses { return AdminListener(address: address, task: task, group: group) }
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
        return AdminListener(address: nil, task: task, group: group)
    }

    /// Ends it, with what it is answering.
    func stop() async {
        task.cancel()
        _ = await task.result
        try? await group.shutdownGracefully()
    }
}
