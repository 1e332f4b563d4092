import ConcurrencyPrimitives
import HTTPServer
import NIOCore
import NIOPosix

/// Serves ``AdminRoutes`` on an address and a thread of their own, so that requests of the page do not delay clients.
///
/// It is stopped after the data listener, so that a shutdown can be observed.
package struct AdminListener: Sendable {
    /// The listening address.
    let address: SocketAddress?
    private let channel: any Channel
    private let listener: Listener
    private let group: MultiThreadedEventLoopGroup

    /// The limit of connections and requests, sufficient for several pages and monitors.
    private static let limit = ShareLimiter.Limits(total: 256, perClient: 256)

    /// Starts listening.
    static func start(_ routes: AdminRoutes, on address: ListenAddress) async throws -> AdminListener {
        var settings = ConnectionSettings()
        settings.limits = RequestLimits(target: 16 << 10, head: 32 << 10, body: AdminRoutes.largestBody)
        settings.idField = nil
        let listener = Listener(
            settings: settings, handler: AdminEndpoint(routes), observer: nil,
            admission: Admission(Admission.Limits(running: limit, waiting: limit)),
            connections: ConnectionRegistry(limit))
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            let channel = try await ListeningSocket.start(on: address, group: group, listener: listener)
            return AdminListener(address: channel.localAddress, channel: channel, listener: listener, group: group)
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    /// Stops listening. Running responses get a short time to finish.
    package func stop() async {
        channel.close(promise: nil)
        try? await channel.closeFuture.get()
        await listener.drain(within: .milliseconds(200))
        try? await group.shutdownGracefully()
    }
}
