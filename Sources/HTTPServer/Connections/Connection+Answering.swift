import Glibc
import HTTPTypes
import NIOCore

extension Connection {
    /// Has the request answered by a task, which writes the answer piece by piece.
    func answerLater(_ exchange: Exchange, _ context: ChannelHandlerContext) {
        phase = .answering
        deadline = nil
        let delivery = Delivery(self, context)
        let listener = listener
        var exchange = exchange
        // One for HTTP/1.0 does not exist (RFC 9110 section 15.2).
        if exchange.head.minorVersion > 0 {
            exchange.interim = { [id = exchange.id] in delivery.deliver(interim: $0, of: id) }
        }
        let answered = exchange
        listener.answers.begin()
        task = Task {
            defer { listener.answers.end() }
            let client = exchange.client.subscriber
            do throws(Admission.Refusal) {
                try await listener.admission.enter(client)
            } catch {
                await delivery.deliver(listener.response(to: error))
                return
            }
            await delivery.deliver(await listener.router.response(to: answered))
            listener.admission.leave(client)
        }
    }

    /// Has an answer that is there already written at once, or, when it is large, as fast as the client takes it.
    func answerNow(_ response: Response, _ context: ChannelHandlerContext) {
        guard case .memory(let bytes) = send(response, context) else { return }
        phase = .answering
        write(bytes, context).assumeIsolated().whenComplete { result in
            switch result {
            case .success: self.endContent(context)
            case .failure: if self.phase == .answering { self.abort(context) }
            }
        }
    }

    /// Writes the head and a small content that is at hand. Gives the content that is still to be sent.
    func send(_ response: Response, _ context: ChannelHandlerContext) -> AnswerContentToSend? {
        guard var turn, phase == .reading || phase == .answering else { return nil }
        turn.answered = .now
        turn.status = response.head.status.code
        turn.outcome = response.outcome
        turn.error = response.error
        turn.detail = response.detail
        if response.closes || isDraining { turn.keepsAlive = false }
        let isHead = turn.exchange.method == .head
        let status = turn.status
        turn.isWithoutContent = isHead || status < 200 || status == 204 || status == 304
        turn.framing = framing(of: response, turn)
        if turn.framing == .untilClose { turn.keepsAlive = false }

        var bytes: [UInt8] = []
        var rest: AnswerContentToSend?
        if !turn.isWithoutContent {
            switch response.body {
            case .none: break
            case .bytes(let content) where content.count <= Self.mostCopied: bytes = content
            case .bytes(let content): rest = .memory(content)
            case .stream(_, let write): rest = .stream(write)
            }
        }
        var buffer = context.channel.allocator.buffer(capacity: 768 + bytes.count)
        ResponseHead.write(
            response.head, framing: turn.framing, keepsAlive: turn.keepsAlive,
            minorVersion: turn.exchange.head.minorVersion,
            ResponseHead.Additions(
                via: response.via,
                id: listener.settings.idFieldName.map { ($0, turn.exchange.id) }, date: date.value()), to: &buffer)
        buffer.writeBytes(bytes)
        turn.bytesSent = Int64(bytes.count)
        self.turn = turn
        context.write(wrapOutboundOut(.byteBuffer(buffer)), promise: nil)
        if rest == nil { endAnswer(context) }
        return rest
    }

    /// Passes an interim response on, while the final one is waited for. 100 (Continue) and 101 (Switching Protocols) are
    /// between the origin and this server.
    func sendInterim(_ head: HTTPResponse, _ id: String, _ context: ChannelHandlerContext) {
        guard phase == .answering, let turn, turn.answered == nil, turn.exchange.id == id, head.status.code > 101 else {
            return
        }
        var buffer = context.channel.allocator.buffer(capacity: 512)
        ResponseHead.write(interim: head, to: &buffer)
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(buffer)), promise: nil)
    }

    private func framing(of response: Response, _ turn: Turn) -> ResponseFraming {
        if turn.status == 204 || turn.status < 200 { return .none }
        let named = response.head.headerFields[.contentLength].flatMap { Int64($0) }
        switch response.body {
        case .bytes(let bytes): return .length(Int64(bytes.count))
        case .none:
            if turn.isWithoutContent { return named.map { .length($0) } ?? .none }
            return .length(0)
        case .stream(let length, _):
            if let length = length ?? named { return .length(length) }
            if turn.isWithoutContent { return .none }
            return turn.exchange.head.minorVersion == 0 ? .untilClose : .chunked
        }
    }

    /// The answer is whole: the next request, or the end of the connection.
    func endAnswer(_ context: ChannelHandlerContext) {
        guard let turn else { return }
        finishTurn(isCutShort: false)
        task = nil
        let wasWaitedFor = phase == .answering
        phase = .reading
        if turn.keepsAlive, !isDraining {
            if wasWaitedFor { advance(context) }
        } else {
            linger(context)
        }
    }

    /// Ends the sending side, and the connection when the client has ended its own or enough has been waited for.
    func linger(_ context: ChannelHandlerContext) {
        pending.clear()
        context.flush()
        // The client's time for this begins when it has been sent all.
        endOutput(context) { result in
            switch result {
            case .success: self.expect(within: .seconds(2), context)
            case .failure: self.close(context)
            }
        }
        if isReadHeld {
            isReadHeld = false
            context.read()
        }
    }

    /// The content broke off: an end that no client takes for the proper one.
    func abort(_ context: ChannelHandlerContext) {
        let isUndetectable = turn?.framing == .untilClose
        finishTurn(isCutShort: true)
        task = nil
        if isUndetectable, let socket = context.channel as? any SocketOptionProvider {
            // A reset: without length or chunks, an orderly end would be the content's (RFC 9112 section 8).
            _ = socket.setSoLinger(Glibc.linger(l_onoff: 1, l_linger: 0))
        }
        close(context)
    }
}
