import NIOCore

extension Connection {
    /// Sets what is waited for now, and how long. One timer a connection, which is set again only when it fires: the many
    /// deadlines of a busy connection cost a clock reading each.
    func expect(within time: Duration, _ context: ChannelHandlerContext) {
        let due = NIODeadline.now() + TimeAmount(time)
        deadline = due
        guard timer == nil || due < timerDue else { return }
        schedule(due, context)
    }

    private func schedule(_ due: NIODeadline, _ context: ChannelHandlerContext) {
        timer?.cancel()
        timerDue = due
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(deadline: due) {
            let (connection, context) = bound.value
            connection.timerFired(context)
        }
    }

    private func timerFired(_ context: ChannelHandlerContext) {
        timer = nil
        guard phase != .closed, let deadline else { return }
        guard deadline <= .now() else { return schedule(deadline, context) }
        self.deadline = nil
        switch phase {
        case .reading where head != nil || pending.readableBytes > 0 && context.channel.isWritable:
            refuse(.late("The request did not come in time."), context)
            context.flush()
        // A request may be on its way to us: the connection is ended so that the client sees an end, and no reset.
        case .reading: linger(context)
        case .responding: abort(context)
        default: close(context)
        }
    }
}
