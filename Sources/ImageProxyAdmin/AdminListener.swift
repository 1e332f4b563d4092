import ConcurrencyPrimitives
import HTTPServer
import NIOCore
import NIOPosix

/// Serves ``AdminRoutes`` on an address and a thread of their own: what the page asks holds up no client.
///
/// It outlives the data listener, so that a server that finishes what runs can be watched doing so.
package struct AdminListener: Sendable {
    /// The address that it listens on.
    let address: SocketAddress?
    private let channel: any Channel
    private let listener: Listener
    private let group: MultiThreadedEventLoopGroup

    /// Connections and requests at a time: those of some pages and monitors.
    private static let limit = ShareLimiter.Limits(total: 256, perClient: 256)

    /// Starts listening.
    static func start(_ routes: AdminRoutes, on address: ListenAddress) async throws -> AdminListener {
        var settings = ConnectionSettings()
        settings.limits = RequestLimits(target: 16 << 10, head: 32 << 10, body: AdminRoutes.largestBody)
        settings.idFieldName = nil
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

    /// Stops listening; what is being answered has a moment for its end.
    package func stop() async {
        channel.close(promise: nil)
        try? await channel.closeFuture.get()
        await listener.drain(within: .milliseconds(200))
        try? await group.shutdownGracefully()
    }
}
