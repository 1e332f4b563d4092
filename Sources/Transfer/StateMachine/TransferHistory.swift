extension TransferStateMachine {
    /// The counts and memories that last over all attempts.
    struct History {
        let startedAt: MonotonicTime
        /// Requests, redirects not counted.
        var attempts = 0
        var bytesReceived: Int64 = 0
        /// Why held bytes were dropped, in words.
        var restarts: [String] = []
        /// Held bytes that were not fetched again.
        var resumedFrom: Int64 = 0
        /// The most bytes that were ever held: an attempt that ends with more has made progress.
        var furthest: Int64 = 0
        var retry: RetryState
        /// A response has come.
        var hasReachedHost = false
        var needsFreshConnection = false
        /// The rate, over all attempts.
        var rateLimiter: RateLimiter?
        var progress = Progress()

        init(options: TransferOptions, startedAt: MonotonicTime) {
            self.startedAt = startedAt
            retry = RetryState(policy: options.retry)
            rateLimiter = options.rateLimit.map { RateLimiter(rate: $0, now: startedAt) }
        }
    }

    /// The progress of the body.
    struct Progress: Equatable {
        /// Bytes that were there before the present request.
        var base: Int64 = 0
        /// Bytes of the present (or else the last) request's body that the sink took.
        var received: Int64 = 0
        /// The whole body's length, if known.
        var total: Int64?

        var bytes: Int64 { base + received }
    }
}
