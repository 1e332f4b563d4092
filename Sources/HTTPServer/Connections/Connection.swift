import ConcurrencyPrimitives
import HTTPTypes
import NIOCore

/// A connection: reads requests, passes them to the handler one after the other, and writes the responses.
///
/// An available response (``RequestHandler/readyResponse(to:)``) is sent immediately, on the event loop, without a task. If it can be
/// reused, it is also sent to later equal requests without calling the handler (``SerializedResponses``). Pipelined requests wait in
/// `pending`; at 64 KiB, reading from the socket stops.
final class Connection: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    enum Phase {
        /// Requests are read.
        case reading
        /// A task handles a request.
        case responding
        /// The last response is written; further bytes of the client are discarded, so that a reset does not destroy
        /// the response before the client has read it (RFC 9112 section 9.6).
        case lingering
        case closed
    }

    let listener: Listener
    let fairness: WriteFairness
    /// The event loop's.
    let prepared: SerializedResponses
    var phase = Phase.reading
    var reader: RequestReader
    var pending = ByteBuffer()
    /// The head whose content is being read.
    var head: RequestHead?
    /// The index in `pending` at which the present request's head begins, while it is there.
    var headStart: Int?
    var current: RequestContext?
    var task: Task<Void, Never>?
    /// True during shutdown: the present request is the last.
    var isDraining = false
    var isReadHeld = false
    /// The number of bytes charged to the content budget.
    var charged = 0
    /// The client of the request that is being read; behind a trusted proxy, it differs between requests.
    var requester = ClientAddress("unknown")
    /// The start of the present content, and the number of its bytes received.
    var contentBegan: ContinuousClock.Instant?
    var contentReceived: Int64 = 0
    /// The number of requests read, refused ones included.
    var requests = 0
    /// True if the deadline of the incoming head is set.
    var isHeadTimed = true
    var lingered = 0
    var client = ClientAddress("unknown")
    /// The address that the client has connected to.
    private(set) var local: ListenAddress?
    var numbers = RequestNumbers()
    var date = DateField()
    var deadline: NIODeadline?
    var waiting: WaitingPiece?
    var timer: Scheduled<Void>?
    var timerDue = NIODeadline.distantFuture

    private static let firstRequestWhileDraining = Duration.seconds(1)
    private static let mostPending = 64 << 10
    private static let mostLingering = 1 << 20

    init(listener: Listener, fairness: WriteFairness, prepared: SerializedResponses) {
        self.listener = listener
        self.fairness = fairness
        self.prepared = prepared
        reader = RequestReader(limits: listener.settings.limits)
    }

    // MARK: The channel's events

    func channelActive(context: ChannelHandlerContext) {
        client = ClientAddress(context.remoteAddress)
        local = context.localAddress.flatMap { ListenAddress($0) }
        requester = client
        isDraining = listener.connections.isDraining
        isHeadTimed = !isDraining
        expect(within: isDraining ? Self.firstRequestWhileDraining : listener.settings.headTimeout, context)
        do throws(ConnectionRegistry.Rejection) {
            let isForMany = listener.settings.trustedProxies.contains(client)
            try listener.connections.admit(context.channel, for: isForMany ? nil : client.subscriber)
        } catch {
            switch error {
            case .response(let shortage):
                refuse(fault(of: shortage), context)
                context.flush()
            case .closing(let shortage):
                listener.observer?.requestRefused(fault(of: shortage).reason)
                return close(context)
            }
        }
        context.fireChannelActive()
    }

    private func fault(of shortage: ShareLimiter.Shortage) -> RequestError {
        .busy(shortage, .connections, "The connections are", retryAfter: listener.admission.retryAfter)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        switch phase {
        case .closed: return
        case .lingering:
            lingered += bytes.readableBytes
            if lingered > Self.mostLingering { close(context) }
            return
        case .reading, .responding: break
        }
        if head != nil { contentReceived += Int64(bytes.readableBytes) }
        if pending.readableBytes == 0 { pending = bytes } else { pending.writeBuffer(&bytes) }
        if phase == .reading { advance(context) }
        // The buffer is never empty here, so its read bytes must be discarded explicitly.
        if pending.readerIndex > Self.mostPending { pending.discardReadBytes() }
    }

    func read(context: ChannelHandlerContext) {
        let isFull = pending.readableBytes >= Self.mostPending && (phase == .responding || !context.channel.isWritable)
        if isFull { isReadHeld = true } else { context.read() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, phase == .reading { advance(context) }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed:
            if phase == .reading, current == nil {
                finishWriting(context)
            } else if phase == .lingering {
                // The last response may not be written yet.
            } else if isResponseAtHand {
                current?.keepsAlive = false
            } else {
                clientHasLeft(context)
            }
        case is DrainEvent:
            isDraining = true
            // The connection is between two requests. One that has begun to arrive is still processed.
            guard phase == .reading, head == nil, pending.readableBytes == 0 else { break }
            if requests > 0 {
                linger(context)
            } else {
                // A new client is about to send a request, which may be in transit.
                isHeadTimed = false
                expect(within: Self.firstRequestWhileDraining, context)
            }
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        clientHasLeft(context)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        clientHasLeft(context)
    }

    /// True if only the client is waited for: the content is in memory, or all of it has been written. Many clients
    /// close their side as soon as they have the last byte.
    private var isResponseAtHand: Bool {
        guard phase == .responding, let current else { return false }
        if task == nil { return true }
        if case .length(let length) = current.framing, current.answered != nil { return current.bytesSent >= length }
        return false
    }

    /// Handles a client that closes, or half-closes, its side: it abandons pending responses. Its own subscription
    /// ends; other requests for the same file continue.
    private func clientHasLeft(_ context: ChannelHandlerContext) {
        guard phase != .closed else { return }
        if current != nil { finishRequest(isCutShort: true) }
        close(context)
    }

    /// The client sends no further requests; its responses are complete except for bytes in transit.
    private func finishWriting(_ context: ChannelHandlerContext) {
        endOutput(context) { _ in self.close(context) }
    }

    /// Closes the sending side after all written bytes; further input is discarded.
    func endOutput(_ context: ChannelHandlerContext, then next: @escaping (Result<Void, any Error>) -> Void) {
        phase = .lingering
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete(next)
        expect(within: listener.settings.writeTimeout, context)
        context.close(mode: .output, promise: written)
    }

    /// Closes the connection now.
    func close(_ context: ChannelHandlerContext) {
        guard phase != .closed else { return }
        phase = .closed
        uncharge()
        task?.cancel()
        task = nil
        timer?.cancel()
        timer = nil
        context.close(promise: nil)
    }

    /// Reports the request's end to log and metrics.
    func finishRequest(isCutShort: Bool) {
        guard let current else { return }
        self.current = nil
        uncharge()
        let end = ContinuousClock.now
        listener.observer?.requestEnded(current.record(at: end, isCutShort: isCutShort))
    }

    /// Resumes reading when there is space again.
    func readOn(_ context: ChannelHandlerContext) {
        guard isReadHeld, pending.readableBytes < Self.mostPending else { return }
        isReadHeld = false
        context.read()
    }
}

/// Shutdown: connections close after the present request.
struct DrainEvent: Sendable {}
