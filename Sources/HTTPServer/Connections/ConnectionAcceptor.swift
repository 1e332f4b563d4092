import NIOCore

/// Registers each connection when it is accepted, on the listening socket's event loop. When the socket is closed, all connections are
/// therefore known.
///
/// A connection above the limit is closed at once, but on its own event loop, which may be busy. Until then it occupies a descriptor.
/// Otherwise many clients could take all descriptors, and the requests of served connections would fail. Therefore no further connections
/// are accepted while `mostClosing` or more are being closed; they wait in the kernel's queue.
///
/// Near the limit, each connection is served or refused before further ones are accepted. A client whose connections will be refused
/// therefore does not block other clients.
final class ConnectionAcceptor: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel
    typealias OutboundIn = Never

    /// The socket accepts up to 4 at a time (NIO's `maxMessagesPerRead`), so that at most 7 are being closed.
    static let mostClosing = 4

    private let connections: ConnectionRegistry
    private let observer: (any RequestObserver)?
    private var closing = 0
    /// The socket would accept further ones, if it were let.
    private var isHeld = false
    private var context: ChannelHandlerContext?

    /// - Parameter observer: Receives the connections that are closed because there are too many.
    init(connections: ConnectionRegistry, observer: (any RequestObserver)?) {
        self.connections = connections
        self.observer = observer
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let channel = unwrapInboundIn(data)
        guard !connections.accept(channel) else { return context.fireChannelRead(data) }
        observer?.requestRefused(.connections)
        closing += 1
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        channel.closeFuture.hop(to: context.eventLoop).whenComplete { _ in
            bound.value.closing -= 1
            bound.value.resumeAccepting()
        }
        channel.close(promise: nil)
    }

    func read(context: ChannelHandlerContext) {
        isHeld = true
        resumeAccepting()
    }

    /// Accepts further connections, if the socket would and may.
    private func resumeAccepting() {
        guard isHeld, closing < Self.mostClosing, let context else { return }
        let (bound, loop) = (NIOLoopBound(self, eventLoop: context.eventLoop), context.eventLoop)
        guard !connections.waitsForDecisions(then: { loop.execute { bound.value.resumeAccepting() } }) else { return }
        isHeld = false
        context.read()
    }
}
