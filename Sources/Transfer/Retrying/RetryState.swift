/// Decides if and when a failed attempt is repeated. A value without I/O: time and random numbers are arguments.
package struct RetryState {
    package enum Decision: Equatable {
        case retry(after: Duration)
        /// Does not retry. `note` is the reason, if the failure itself would have allowed a retry.
        case giveUp(note: String?)
    }

    let policy: RetryPolicy
    /// The number of retries since the last progress.
    private(set) var retries = 0

    package init(policy: RetryPolicy) { self.policy = policy }

    /// - Parameters:
    ///   - madeProgress: True if more bytes are held than ever before.
    ///   - retryAfter: The server's `Retry-After`.
    ///   - isUnreachable: True if the host was not reached in any attempt.
    ///   - elapsed: The time since the first attempt began.
    ///   - random: A number in 0 ..< 1.
    package mutating func decide(
        madeProgress: Bool, retryAfter: Duration?, isUnreachable: Bool = false, elapsed: Duration, random: Double
    ) -> Decision {
        if madeProgress { retries = 0 }
        let most = isUnreachable ? min(policy.maxRetries, policy.maxUnreachableRetries) : policy.maxRetries
        guard most > 0 else { return .giveUp(note: nil) }
        guard retries < most else {
            return .giveUp(note: "\(retries) \(retries == 1 ? "retry" : "retries") without progress")
        }
        if let retryAfter, retryAfter > policy.retryAfterLimit {
            return .giveUp(
                note:
                    "the server asks to wait \(retryAfter.text), more than the limit of \(policy.retryAfterLimit.text)")
        }
        // A `Retry-After` below the back-off does not shorten the pause.
        let delay = max(policy.delay(beforeRetry: retries + 1, random: random), retryAfter ?? .zero)
        if let limit = policy.maxTotalTime, elapsed + delay > limit {
            return .giveUp(note: "no retry later than \(limit.text) after the start")
        }
        retries += 1
        return .retry(after: delay)
    }

    /// Returns true for statuses that may be temporary.
    package static func isRetryable(status: Int) -> Bool { [408, 425, 429, 500, 502, 503, 504].contains(status) }
}
