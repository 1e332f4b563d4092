import NIOCore

extension Connection {
    /// Sets the present deadline. One timer for each connection, which is rescheduled only when it fires: a deadline
    /// costs a clock reading.
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
        if let time = timeForSlowClient(context) { return expect(within: time, context) }
        self.deadline = nil
        switch phase {
        case .reading where head != nil || pending.readableBytes > 0 && context.channel.isWritable:
            refuse(.late("The request did not arrive in time."), context)
            context.flush()
        // A request may be in transit: the connection is closed gracefully instead of being reset.
        case .reading: linger(context)
        case .responding: abort(context)
        default: close(context)
        }
    }
}
