import ConcurrencyPrimitives
import Glibc
import HTTPTypes
import NIOCore

extension Connection {
    /// Handles the request in a task, which writes the response piece by piece.
    func handleAsynchronously(_ request: Request, _ context: ChannelHandlerContext) {
        phase = .responding
        deadline = nil
        let writer = ResponseWriter(self, context)
        let listener = listener
        var request = request
        // HTTP/1.0 has no interim responses (RFC 9110 section 15.2).
        if request.head.minorVersion > 0 {
            request.interim = { [id = request.id] in writer.deliver(interim: $0, of: id) }
        }
        let answered = request
        listener.responses.begin()
        task = Task {
            defer { listener.responses.end() }
            await Connection.respond(to: answered, by: listener, writer)
        }
    }

    private static func respond(to request: Request, by listener: Listener, _ writer: ResponseWriter) async {
        guard let steps = request.steps else { return await respond(untraced: request, by: listener, writer) }
        await RequestSteps.$recorder.withValue(steps) {
            await respond(untraced: request, by: listener, writer)
        }
    }

    private static func respond(untraced request: Request, by listener: Listener, _ writer: ResponseWriter) async {
        guard listener.handler.needsAdmission(request) else {
            return await writer.deliver(await listener.handler.response(to: request))
        }
        let client = request.client.subscriber
        do throws(Admission.Rejection) {
            try await RequestSteps.record(.queue) { () async throws(Admission.Rejection) in
                try await listener.admission.enter(client)
            }
        } catch {
            await writer.deliver(listener.response(to: error))
            return
        }
        await writer.deliver(await listener.handler.response(to: request))
        listener.admission.leave(client)
    }

    /// Writes an available response immediately or, if it is large, as fast as the client accepts it.
    func writeImmediately(_ response: Response, _ context: ChannelHandlerContext) {
        guard let rest = send(response, context) else { return }
        phase = .responding
        write(available: rest, context)?.assumeIsolated().whenComplete { result in
            withExtendedLifetime(response) {}
            switch result {
            case .success: self.endContent(context)
            case .failure: if self.phase == .responding { self.abort(context) }
            }
        }
    }

    /// Writes content that is available; `nil` for content that is still produced.
    func write(available rest: RemainingContent, _ context: ChannelHandlerContext) -> EventLoopFuture<Void>? {
        switch rest {
        case .stream: nil
        case .memory(let bytes): write(bytes, context)
        case .file(let file): write(file.descriptor, file.range, context)
        }
    }

    /// Writes the head and small available content. Returns the remaining content.
    func send(_ response: Response, _ context: ChannelHandlerContext) -> RemainingContent? {
        guard var current, phase == .reading || phase == .responding else { return nil }
        current.answered = .now
        current.status = response.head.status.code
        current.outcome = response.outcome
        current.error = response.error
        current.detail = response.detail
        if response.closes || isDraining { current.keepsAlive = false }
        let isHead = current.request.method == .head
        let status = current.status
        current.isWithoutContent = isHead || status < 200 || status == 204 || status == 304
        current.framing = framing(of: response, current)
        if current.framing == .untilClose { current.keepsAlive = false }

        var bytes: [UInt8] = []
        var rest: RemainingContent?
        if !current.isWithoutContent {
            switch response.body {
            case .none: break
            case .bytes(let content) where content.count <= Self.mostCopied: bytes = content
            case .bytes(let content): rest = .memory(content)
            case .file(let file): rest = file.range.isEmpty ? nil : .file(file)
            case .stream(_, let write): rest = .stream(write)
            }
        }
        var buffer = context.channel.allocator.buffer(capacity: 768 + bytes.count)
        let idStart = ResponseHead.write(
            response.head, framing: current.framing, keepsAlive: current.keepsAlive,
            minorVersion: current.request.head.minorVersion,
            ResponseHead.Additions(
                via: response.via,
                id: listener.settings.idField.map { ($0, current.request.id) }, date: date.value()), to: &buffer)
        if rest == nil, current.keepsAlive { keep(response, head: buffer, idStart, content: bytes) }
        buffer.writeBytes(bytes)
        current.bytesSent = Int64(bytes.count)
        self.current = current
        context.write(wrapOutboundOut(.byteBuffer(buffer)), promise: nil)
        if rest == nil { endResponse(context) }
        return rest
    }

    /// Forwards an interim response before the final one. 100 (Continue) and 101 (Switching Protocols) concern the
    /// origin and this server only.
    func sendInterim(_ head: HTTPResponse, _ id: String, _ context: ChannelHandlerContext) {
        guard phase == .responding, let current, current.answered == nil, current.request.id == id,
            head.status.code > 101
        else {
            return
        }
        var buffer = context.channel.allocator.buffer(capacity: 512)
        ResponseHead.write(interim: head, to: &buffer)
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(buffer)), promise: nil)
    }

    private func framing(of response: Response, _ current: RequestContext) -> ResponseFraming {
        ResponseFraming(
            of: response, status: current.status, isWithoutContent: current.isWithoutContent,
            minorVersion: current.request.head.minorVersion)
    }

    /// Ends a complete response: processes the next request, or closes the connection.
    func endResponse(_ context: ChannelHandlerContext) {
        guard let current else { return }
        finishRequest(isCutShort: false)
        task = nil
        let wasWaitedFor = phase == .responding
        phase = .reading
        if current.keepsAlive, !isDraining {
            if wasWaitedFor { advance(context) }
        } else {
            linger(context)
        }
    }

    /// Closes the sending side, and the connection when the client has closed its own or after a time-out.
    func linger(_ context: ChannelHandlerContext) {
        pending.clear()
        context.flush()
        // The client's time starts when everything has been sent.
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

    /// Aborts incomplete content so that no client treats it as complete.
    func abort(_ context: ChannelHandlerContext) {
        let isUndetectable = current?.framing == .untilClose
        finishRequest(isCutShort: true)
        task = nil
        if isUndetectable, let socket = context.channel as? any SocketOptionProvider {
            // A reset: without length or chunks, an orderly close would mark the content as complete (RFC 9112 section
            // 8).
            _ = socket.setSoLinger(Glibc.linger(l_onoff: 1, l_linger: 0))
        }
        close(context)
    }
}
