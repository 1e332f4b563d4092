import Glibc
import NIOCore

extension Connection {
    /// The number of bytes in memory that are written at a time: a connection's own copy of shared content.
    static let mostCopied = 64 << 10
    /// The number of bytes of a file that are written at a time, which a client must accept within the write time-out.
    private static let mostSent: Int64 = 256 << 10

    /// Writes content; succeeds when the kernel has accepted all of it.
    func write(_ bytes: [UInt8], _ context: ChannelHandlerContext) -> EventLoopFuture<Void> {
        let all = context.eventLoop.makePromise(of: Void.self)
        write(bytes[...], context, all)
        return all.futureResult
    }

    private func write(_ bytes: ArraySlice<UInt8>, _ context: ChannelHandlerContext, _ all: EventLoopPromise<Void>) {
        let written = write(piece: bytes.prefix(Self.mostCopied), context)
        let rest = bytes.dropFirst(Self.mostCopied)
        guard !rest.isEmpty else { return written.cascade(to: all) }
        written.assumeIsolated().whenComplete { result in
            switch result {
            case .success: self.fairness.run { self.write(rest, context, all) }
            case .failure(let error): all.fail(error)
            }
        }
    }

    private func write(piece bytes: ArraySlice<UInt8>, _ context: ChannelHandlerContext) -> EventLoopFuture<Void> {
        guard prepare(count: bytes.count, context) else { return context.eventLoop.makeFailedFuture(ResponseAborted()) }
        var buffer = context.channel.allocator.buffer(capacity: bytes.count + 16)
        let isChunked = current?.framing == .chunked
        if isChunked { buffer.writeChunkSize(bytes.count) }
        buffer.writeBytes(bytes)
        if isChunked { buffer.writeStaticString("\r\n") }
        let written = context.writeAndFlush(wrapOutboundOut(.byteBuffer(buffer)))
        let sent = ContinuousClock.now
        waiting = WaitingPiece(since: sent)
        written.assumeIsolated().whenComplete { _ in self.pieceWasTaken(since: sent) }
        waiting?.queued = Self.queuedBytes(context)
        return written
    }

    /// The connection now waits for the handler, so the client's time limit is suspended.
    private func pieceWasTaken(since sent: ContinuousClock.Instant) {
        waiting = nil
        current?.clientsTime += .now - sent
        if phase == .responding { deadline = nil }
    }

    /// A piece of content that the kernel has not accepted completely.
    struct WaitingPiece {
        let since: ContinuousClock.Instant
        /// The bytes that the kernel held for the client at the last look.
        var queued: Int?
    }

    /// The new time limit of a client that has taken bytes since the last look, or nil if it has taken none.
    ///
    /// The kernel may hold megabytes for a client, and accepts more only when a third of them is gone: a client may read steadily for longer than
    /// the write time-out until then.
    func timeForSlowClient(_ context: ChannelHandlerContext) -> Duration? {
        guard let waiting, let before = waiting.queued, let now = Self.queuedBytes(context), now < before else {
            return nil
        }
        self.waiting?.queued = now
        let left = current.flatMap { current in
            listener.settings.responseRate.timeLeft(
                for: current.bytesSent, after: current.clientsTime + (.now - waiting.since))
        }
        guard left != .zero else { return nil }
        return min(left ?? .seconds(Int32.max), listener.settings.writeTimeout)
    }

    /// The bytes that the kernel holds for the client: not sent, or sent and not acknowledged; nil if it does not say.
    private static func queuedBytes(_ context: ChannelHandlerContext) -> Int? {
        let answer = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { descriptor -> Int? in
            var count: Int32 = 0
            return ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : nil
        }
        return answer.flatMap { $0 }
    }

    /// Writes a range of a file, piece by piece in fair order; succeeds when the kernel has accepted all of it.
    func write(
        _ descriptor: Int32, _ range: Range<Int64>, _ context: ChannelHandlerContext
    ) -> EventLoopFuture<Void> {
        let all = context.eventLoop.makePromise(of: Void.self)
        write(descriptor, range, context, all)
        return all.futureResult
    }

    private func write(
        _ descriptor: Int32, _ range: Range<Int64>, _ context: ChannelHandlerContext, _ all: EventLoopPromise<Void>
    ) {
        let piece = range.lowerBound..<min(range.upperBound, range.lowerBound + Self.mostSent)
        let rest = piece.upperBound..<range.upperBound
        fairness.run {
            let written = self.send(descriptor, piece, context)
            guard !rest.isEmpty else { return written.cascade(to: all) }
            written.assumeIsolated().whenComplete { result in
                switch result {
                case .success: self.write(descriptor, rest, context, all)
                case .failure(let error): all.fail(error)
                }
            }
        }
    }

    /// Sends a part of a file by sendfile(2).
    private func send(
        _ descriptor: Int32, _ range: Range<Int64>, _ context: ChannelHandlerContext
    ) -> EventLoopFuture<Void> {
        guard prepare(count: range.count, context) else { return context.eventLoop.makeFailedFuture(ResponseAborted()) }
        let isChunked = current?.framing == .chunked
        if isChunked {
            var buffer = context.channel.allocator.buffer(capacity: 16)
            buffer.writeChunkSize(range.count)
            context.write(wrapOutboundOut(.byteBuffer(buffer)), promise: nil)
        }
        // The response keeps the descriptor: the handle must give it up before it is released.
        let handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: descriptor)
        let region = FileRegion(
            fileHandle: handle, readerIndex: Int(range.lowerBound), endIndex: Int(range.upperBound))
        let written = context.eventLoop.makePromise(of: Void.self)
        let sent = ContinuousClock.now
        written.futureResult.assumeIsolated().whenComplete { _ in
            _ = try? handle.takeDescriptorOwnership()
            self.pieceWasTaken(since: sent)
        }
        waiting = WaitingPiece(since: sent)
        context.write(wrapOutboundOut(.fileRegion(region)), promise: written)
        if isChunked {
            var buffer = context.channel.allocator.buffer(capacity: 2)
            buffer.writeStaticString("\r\n")
            context.write(wrapOutboundOut(.byteBuffer(buffer)), promise: nil)
        }
        context.flush()
        waiting?.queued = Self.queuedBytes(context)
        return written.futureResult
    }

    /// Counts bytes to be sent; returns false if they must not be: the client is gone, or the content exceeds the
    /// length in its head.
    private func prepare(count: Int, _ context: ChannelHandlerContext) -> Bool {
        guard phase == .responding, var current else { return false }
        if case .length(let length) = current.framing, current.bytesSent + Int64(count) > length { return false }
        current.bytesSent += Int64(count)
        self.current = current
        let left = listener.settings.responseRate.timeLeft(for: current.bytesSent, after: current.clientsTime)
        expect(within: min(left ?? .seconds(Int32.max), listener.settings.writeTimeout), context)
        return true
    }

    /// Ends the content, if it has the length in its head.
    func endContent(_ context: ChannelHandlerContext) {
        guard phase == .responding, let current else { return }
        if case .length(let length) = current.framing, current.bytesSent != length { return abort(context) }
        if current.framing == .chunked {
            var buffer = context.channel.allocator.buffer(capacity: 5)
            buffer.writeStaticString("0\r\n\r\n")
            context.write(wrapOutboundOut(.byteBuffer(buffer)), promise: nil)
        }
        endResponse(context)
        context.flush()
    }
}

/// The response cannot continue.
struct ResponseAborted: Error {}

extension ByteBuffer {
    fileprivate mutating func writeChunkSize(_ size: Int) {
        writeString(String(size, radix: 16))
        writeStaticString("\r\n")
    }
}
