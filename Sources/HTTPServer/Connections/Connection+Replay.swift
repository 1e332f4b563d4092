import FoundationEssentials
import HTTPTypes
import NIOCore

extension Connection {
    /// Responds to the next request in `pending` as to an earlier one of this event loop, if that is possible.
    ///
    /// - Returns: False if nothing was done.
    func replay(_ context: ChannelHandlerContext) throws(RequestError) -> Bool {
        guard pending.readableBytes > 0, reader.isBetweenRequests, !isDraining else { return false }
        let received = NIODeadline.now()
        guard let (response, length) = prepared.response(to: pending.readableBytesUInt8Span, at: received) else {
            return false
        }
        isHeadTimed = false
        requests += 1
        let id = numbers.next()
        let readsRequests = listener.observer?.readsRequests == true
        let request = readsRequests ? try readAgain(id) : nil
        if !readsRequests { pending.moveReaderIndex(forwardBy: length) }
        let (start, rest) = response.message(id: id, context.channel.allocator)
        context.write(wrapOutboundOut(.byteBuffer(start)), promise: nil)
        if let rest { context.write(wrapOutboundOut(.byteBuffer(rest)), promise: nil) }
        let duration = Duration(NIODeadline.now() - received)
        let count = Int64(response.content.count)
        if let request {
            listener.observer?.requestEnded(
                RequestRecord(
                    request, status: response.status, outcome: response.outcome, bytesSent: count,
                    timeToResponse: duration, duration: duration))
        } else {
            listener.observer?.requestEnded(
                target: response.target, status: response.status, outcome: response.outcome, bytesSent: count,
                duration: duration)
        }
        return true
    }

    /// Parses the next request, for the observer.
    private func readAgain(_ id: UInt64) throws(RequestError) -> Request? {
        guard case .head(let head) = try reader.next(&pending), case .content = try reader.next(&pending) else {
            return nil
        }
        let requester = listener.settings.trustedProxies.client(of: head.fields, from: client)
        return Request(
            head: head, client: requester, peer: client, content: [], id: RequestID.hexadecimal(id), received: .now)
    }

    /// Keeps a response for equal requests, if it may be reused.
    ///
    /// - Parameter head: The head as it is sent.
    func keep(_ response: Response, head: ByteBuffer, _ idStart: Int?, content: [UInt8]) {
        guard let reuse = response.reuse, let headStart else { return }
        var bytes = pending
        bytes.moveReaderIndex(to: headStart)
        var lifetime = min(reuse.lifetime, .seconds(1))
        // A Date of this server's own changes with the second.
        if response.head.headerFields[.date] == nil { lifetime = min(lifetime, Self.untilNextSecond) }
        guard lifetime > .zero else { return }
        prepared.insert(
            response, reuse, to: bytes.readableBytesUInt8Span, head: Array(head.readableBytesView), idStart: idStart,
            content: content, until: .now() + TimeAmount(lifetime))
    }

    private static var untilNextSecond: Duration {
        let now = Date().timeIntervalSince1970
        return .seconds(1 - (now - now.rounded(.down)))
    }
}
