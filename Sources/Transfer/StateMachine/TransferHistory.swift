extension TransferStateMachine {
    /// The counts and other values that are kept over all attempts.
    struct History {
        let startedAt: MonotonicTime
        /// The number of requests, without redirects.
        var attempts = 0
        var bytesReceived: Int64 = 0
        /// The reasons for dropping held bytes, in words.
        var restarts: [String] = []
        /// The held bytes that were not fetched again.
        var resumedFrom: Int64 = 0
        /// The largest number of bytes that were ever held. An attempt that ends with more has made progress.
        var furthest: Int64 = 0
        /// The number of responses with less than the requested range.
        var shortParts: Int64 = 0
        var retry: RetryState
        /// True if a response was received.
        var hasReachedHost = false
        var needsFreshConnection = false
        /// The rate limit over all attempts, if any.
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
        /// The bytes that were held before the current request.
        var base: Int64 = 0
        /// The body bytes of the current or last request that the sink accepted.
        var received: Int64 = 0
        /// The whole body's length, if known.
        var total: Int64?

        var bytes: Int64 { base + received }
    }
}
