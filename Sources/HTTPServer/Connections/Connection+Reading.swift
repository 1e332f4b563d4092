import ConcurrencyPrimitives
import HTTPTypes
import NIOCore

extension Connection {
    /// Processes requests in `pending` until more bytes are needed.
    func advance(_ context: ChannelHandlerContext) {
        do throws(RequestError) {
            while phase == .reading, context.channel.isWritable {
                if try replay(context) { continue }
                let start = reader.isBetweenRequests ? pending.readerIndex : nil
                guard let step = try reader.next(&pending) else { break }
                switch step {
                case .head(let head):
                    headStart = head.framing == .none ? start : nil
                    self.head = head
                    requester = listener.settings.trustedProxies.client(of: head.fields, from: client)
                    contentBegan = head.framing == .none ? nil : .now
                    contentReceived = Int64(pending.readableBytes)
                    if head.expectsContinue, pending.readableBytes == 0 { sendContinue(context) }
                case .content(let content):
                    try charge(content.count)
                    guard let head else { continue }
                    self.head = nil
                    begin(head, content, context)
                    headStart = nil
                }
            }
            if phase == .reading { try charge(reader.contentSize) }
        } catch {
            refuse(error, context)
        }
        headStart = nil
        context.flush()
        if phase == .reading {
            setReadingDeadline(context)
            readOn(context)
        }
    }

    private func setReadingDeadline(_ context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return expect(within: listener.settings.writeTimeout, context) }
        if head != nil { return expect(within: timeForContent, context) }
        guard pending.readableBytes > 0 else { return expect(within: listener.settings.idleTimeout, context) }
        // The head's deadline does not restart with each byte.
        if !isHeadTimed {
            isHeadTimed = true
            expect(within: listener.settings.headTimeout, context)
        }
    }

    /// The time until the next byte of the content, or less if the average rate is too low.
    private var timeForContent: Duration {
        guard let contentBegan else { return listener.settings.bodyTimeout }
        let left = listener.settings.requestRate.timeLeft(for: contentReceived, after: .now - contentBegan)
        return min(left ?? .seconds(Int32.max), listener.settings.bodyTimeout)
    }

    /// Charges the held content to the budget that all connections share.
    private func charge(_ size: Int) throws(RequestError) {
        guard size > charged else { return }
        do throws(ShareLimiter.Shortage) {
            try listener.budget.take(size - charged, for: requester.subscriber)
        } catch {
            throw .busy(
                error, .contents, "The contents of requests that are held are",
                retryAfter: listener.admission.retryAfter)
        }
        charged = size
    }

    func uncharge() {
        listener.budget.release(charged, for: requester.subscriber)
        charged = 0
    }

    private func sendContinue(_ context: ChannelHandlerContext) {
        var buffer = context.channel.allocator.buffer(capacity: 32)
        buffer.writeStaticString("HTTP/1.1 100 Continue\r\n\r\n")
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(buffer)), promise: nil)
    }

    private func begin(_ head: RequestHead, _ content: [UInt8], _ context: ChannelHandlerContext) {
        isHeadTimed = false
        requests += 1
        var request = Request(
            head: head, client: requester, peer: client, content: content,
            id: RequestID.id(in: head.fields, named: listener.settings.idField) { numbers.next() },
            received: .now)
        request.local = local
        request.steps = listener.observer?.steps(of: request)
        var current = RequestContext(request)
        if isDraining { current.keepsAlive = false }
        self.current = current
        if let ready = listener.handler.readyResponse(to: request) {
            writeImmediately(ready, context)
        } else {
            handleAsynchronously(request, context)
        }
    }

    /// Responds to an unreadable request, and closes the connection: the following bytes cannot be interpreted.
    func refuse(_ fault: RequestError, _ context: ChannelHandlerContext) {
        // A response to HEAD never has content, even after an error.
        let method = head?.method ?? (reader.isReadingHEAD(from: pending) ? .head : .get)
        // Until a head is read, a proxy's connection is not known to be for the client of its last request.
        let refusedClient = head == nil ? client : requester
        head = nil
        pending.clear()
        // Release it immediately, because another request of the client may be waiting for this space.
        uncharge()
        requests += 1
        listener.observer?.requestRefused(fault.reason)
        let fields: HTTPFields = fault.retryAfter.map { [.retryAfter: String($0)] } ?? [:]
        var response = Response.failure(fault.status, fault.code, fault.message, fields: fields)
        response.closes = true
        var refused = RequestContext(
            Request(
                head: RequestHead(method: method, target: .server),
                client: refusedClient, peer: client, content: [],
                id: RequestID.id(in: [:], named: nil) { numbers.next() }, received: .now))
        refused.isMalformed = true
        current = refused
        writeImmediately(response, context)
    }
}
