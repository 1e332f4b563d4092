import HTTPServer
import Hummingbird
import HummingbirdCore
import ImageCache
import Logging
import NIOCore

/// Serves ``AdminRoutes`` on an address of its own, on the process's threads instead of those that serve clients: what the page
/// asks holds up no client.
///
/// It outlives the data listener, so that a server that finishes what runs can be watched doing so.
struct AdminListener: Sendable {
    /// The address that it listens on.
    let address: SocketAddress?
    private let task: Task<Void, any Error>

    /// Starts listening.
    static func start(_ routes: AdminRoutes, on address: ListenAddress) async throws -> AdminListener {
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
            // Its loops go on to the end of the process: connections that end late find theirs.
            eventLoopGroupProvider: .singleton, logger: quiet)
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
        for try await address in addresses { return AdminListener(address: address, task: task) }
        return AdminListener(address: nil, task: task)
    }

    /// Ends it, with what it is answering.
    func stop() async {
        task.cancel()
        _ = await task.result
    }
}
