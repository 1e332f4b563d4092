import HTTPTypes
import NIOCore

/// Content to be sent after the head.
enum RemainingContent: Sendable {
    /// Written by its producer, piece by piece.
    case stream(@Sendable (any ResponseBodyWriter) async throws -> Void)
    /// In memory.
    case memory([UInt8])
    case file(Response.FileContent)
}

/// Transfers a response from its task to its connection's event loop, piece by piece: the next piece is requested when
/// the kernel has accepted the previous one, so that a slow client only delays itself.
struct ResponseWriter: ResponseBodyWriter {
    private let bound: NIOLoopBound<(Connection, ChannelHandlerContext)>
    private let loop: any EventLoop

    init(_ connection: Connection, _ context: ChannelHandlerContext) {
        loop = context.eventLoop
        bound = NIOLoopBound((connection, context), eventLoop: loop)
    }

    func deliver(_ response: Response) async {
        let bound = bound
        do {
            let rest = try await loop.flatSubmit { () -> EventLoopFuture<RemainingContent?> in
                let (connection, context) = bound.value
                let rest = connection.send(response, context)
                guard let rest, let written = connection.write(available: rest, context) else {
                    context.flush()
                    return context.eventLoop.makeSucceededFuture(rest)
                }
                // Without a way back to the task.
                return written.map { () -> RemainingContent? in
                    let (connection, context) = bound.value
                    withExtendedLifetime(response) { connection.endContent(context) }
                    return nil
                }
            }.get()
            guard case .stream(let write) = rest else { return }
            try await write(self)
            try await loop.submit {
                let (connection, context) = bound.value
                connection.endContent(context)
            }.get()
        } catch {
            loop.execute {
                let (connection, context) = bound.value
                if connection.phase == .responding { connection.abort(context) }
            }
        }
    }

    func deliver(interim head: HTTPResponse, of id: String) {
        let bound = bound
        loop.execute {
            let (connection, context) = bound.value
            connection.sendInterim(head, id, context)
        }
    }

    // MARK: Content

    func write(_ bytes: [UInt8]) async throws {
        let bound = bound
        try await loop.flatSubmit {
            let (connection, context) = bound.value
            return connection.write(bytes, context)
        }.get()
    }

    func write(_ descriptor: Int32, _ range: Range<Int64>) async throws {
        let bound = bound
        try await loop.flatSubmit {
            let (connection, context) = bound.value
            return connection.write(descriptor, range, context)
        }.get()
    }
}
