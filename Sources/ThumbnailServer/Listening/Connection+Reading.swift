import HTTPTypes
import Metrics
import NIOCore

extension Connection {
    /// Takes requests out of `pending` until one must be waited for.
    func advance(_ context: ChannelHandlerContext) {
        do throws(RequestFault) {
            while phase == .reading, context.channel.isWritable, let step = try reader.next(&pending) {
                switch step {
                case .head(let head):
                    self.head = head
                    if head.expectsContinue, pending.readableBytes == 0 { sendContinue(context) }
                case .content(let content):
                    try charge(content.count)
                    guard let head else { continue }
                    self.head = nil
                    begin(head, content, context)
                }
            }
            if phase == .reading { try charge(reader.contentSize) }
        } catch {
            refuse(error, context)
        }
        context.flush()
        if phase == .reading {
            setReadingDeadline(context)
            readOn(context)
        }
    }

    private func setReadingDeadline(_ context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return expect(within: listener.settings.writeTimeout, context) }
        if head != nil { return expect(within: listener.settings.bodyTimeout, context) }
        guard pending.readableBytes > 0 else { return expect(within: listener.settings.idleTimeout, context) }
        // A head that has begun: its time does not start anew with each byte.
        if !isHeadTimed {
            isHeadTimed = true
            expect(within: listener.settings.headTimeout, context)
        }
    }

    /// Takes what is held of a content from the budget that all connections share.
    private func charge(_ size: Int) throws(RequestFault) {
        guard size > charged else { return }
        guard listener.budget.take(size - charged) else {
            throw RequestFault(
                status: 503, code: "busy",
                message: "The contents of too many requests are held already; try again later.")
        }
        charged = size
    }

    private func sendContinue(_ context: ChannelHandlerContext) {
        var buffer = context.channel.allocator.buffer(capacity: 32)
        buffer.writeStaticString("HTTP/1.1 100 Continue\r\n\r\n")
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(buffer)), promise: nil)
    }

    private func begin(_ head: RequestHead, _ content: [UInt8], _ context: ChannelHandlerContext) {
        isHeadTimed = false
        let exchange = Exchange(
            head: head, client: client, content: content,
            id: RequestID.id(in: head.fields, named: listener.idField) { numbers.next() },
            received: .now)
        var turn = Turn(exchange)
        if isDraining { turn.keepsAlive = false }
        self.turn = turn
        if let ready = listener.router.readyResponse(to: exchange) {
            answerNow(ready, context)
        } else {
            answerLater(exchange, context)
        }
    }

    /// Answers what could not be read as a request, and ends the connection: what follows in its bytes is anybody's guess.
    func refuse(_ fault: RequestFault, _ context: ChannelHandlerContext) {
        // A HEAD gets no content even then, when it is known to be one.
        let method = head?.method ?? .get
        head = nil
        pending.clear()
        listener.metrics.refusedAsMalformed.increment()
        var response = Response.failure(fault.status, fault.code, fault.message)
        response.closes = true
        var refused = Turn(
            Exchange(
                head: RequestHead(
                    method: method, target: .server, minorVersion: 1, fields: [:], authority: nil, framing: .none,
                    keepsAlive: false, expectsContinue: false),
                client: client, content: [], id: RequestID.id(in: [:], named: nil) { numbers.next() }, received: .now))
        refused.isMalformed = true
        turn = refused
        answerNow(response, context)
    }
}
