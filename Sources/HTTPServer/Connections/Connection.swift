import ConcurrencyPrimitives
import HTTPTypes
import NIOCore

/// One connection: reads requests, has them answered one after the other, and writes the responses.
///
/// A response that is ready (``RequestHandler/readyResponse(to:)``) is sent at once, on the event loop, without a task.
/// Pipelined requests wait in `pending`; when 64 KiB of them wait, no more is read from the socket.
final class Connection: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    enum Phase {
        /// Requests are read.
        case reading
        /// One is being answered by a task.
        case responding
        /// The last response is written; what the client still sends is thrown away, so that a reset does not destroy the response
        /// before the client has read it (RFC 9112 section 9.6).
        case lingering
        case closed
    }

    let listener: Listener
    let fairness: WriteFairness
    var phase = Phase.reading
    var reader: RequestReader
    var pending = ByteBuffer()
    /// A head whose content is being read.
    var head: RequestHead?
    var current: RequestContext?
    var task: Task<Void, Never>?
    /// True while the server is stopping: the request under way is the last.
    var isDraining = false
    var isReadHeld = false
    /// Bytes that are taken from the budget for contents.
    var charged = 0
    /// The client that the request comes from which is being read; behind a trusted proxy, another one for each.
    var requester = ClientAddress("unknown")
    /// The time at which the content that is being read began to come, and the bytes of it that have.
    var contentBegan: ContinuousClock.Instant?
    var contentReceived: Int64 = 0
    /// Requests that were read, refused ones included.
    var requests = 0
    /// True if the deadline of the head that is coming is set.
    var isHeadTimed = true
    var lingered = 0
    var client = ClientAddress("unknown")
    var numbers = RequestNumbers()
    var date = DateField()
    var deadline: NIODeadline?
    var timer: Scheduled<Void>?
    var timerDue = NIODeadline.distantFuture

    private static let firstRequestWhileDraining = Duration.seconds(1)
    private static let mostPending = 64 << 10
    private static let mostLingering = 1 << 20

    init(listener: Listener, fairness: WriteFairness) {
        self.listener = listener
        self.fairness = fairness
        reader = RequestReader(limits: listener.settings.limits)
    }

    // MARK: The channel's events

    func channelActive(context: ChannelHandlerContext) {
        client = ClientAddress(context.remoteAddress)
        requester = client
        isDraining = listener.connections.isDraining
        isHeadTimed = !isDraining
        expect(within: isDraining ? Self.firstRequestWhileDraining : listener.settings.headTimeout, context)
        do throws(ShareLimiter.Shortage) {
            let isForMany = listener.settings.trustedProxies.contains(client)
            try listener.connections.admit(context.channel, for: isForMany ? nil : client.subscriber)
        } catch {
            refuse(
                .busy(error, .connections, "The connections are", retryAfter: listener.admission.retryAfter), context)
            context.flush()
        }
        context.fireChannelActive()
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
        // A buffer that is never empty keeps what was read of it, too.
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
            } else if isResponseAtHand {
                current?.keepsAlive = false
            } else {
                clientHasLeft(context)
            }
        case is DrainEvent:
            isDraining = true
            // Between two requests; one that has begun to come is still answered.
            guard phase == .reading, head == nil, pending.readableBytes == 0 else { break }
            if requests > 0 {
                linger(context)
            } else {
                // Whoever has just connected is about to ask: a request may be on its way.
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

    /// True if nothing but the client is waited for: the content is in memory, or all of it has been written. Many close their
    /// side as soon as they have the last byte.
    private var isResponseAtHand: Bool {
        guard phase == .responding, let current else { return false }
        if task == nil { return true }
        if case .length(let length) = current.framing, current.answered != nil { return current.bytesSent >= length }
        return false
    }

    /// A client that closes, or half-closes, its side is taken for gone: it wants no answer that is not there yet. Its own
    /// interest ends; others who wait for the same file keep theirs.
    private func clientHasLeft(_ context: ChannelHandlerContext) {
        guard phase != .closed else { return }
        if current != nil { finishRequest(isCutShort: true) }
        close(context)
    }

    /// The client asks for nothing more, and has all responses but what is still on its way to it.
    private func finishWriting(_ context: ChannelHandlerContext) {
        endOutput(context) { _ in self.close(context) }
    }

    /// Ends the sending side when all that was written is on its way; what still comes is thrown away.
    func endOutput(_ context: ChannelHandlerContext, then next: @escaping (Result<Void, any Error>) -> Void) {
        phase = .lingering
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete(next)
        expect(within: listener.settings.writeTimeout, context)
        context.close(mode: .output, promise: written)
    }

    /// Ends the connection now.
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

    /// Tells the log and the counters how the request ended.
    func finishRequest(isCutShort: Bool) {
        guard let current else { return }
        self.current = nil
        uncharge()
        let end = ContinuousClock.now
        listener.observer?.requestEnded(current.record(at: end, isCutShort: isCutShort))
    }

    /// Reads on, when reading was held up and there is room again.
    func readOn(_ context: ChannelHandlerContext) {
        guard isReadHeld, pending.readableBytes < Self.mostPending else { return }
        isReadHeld = false
        context.read()
    }
}

/// The server is stopping: connections end after the request under way.
struct DrainEvent: Sendable {}
