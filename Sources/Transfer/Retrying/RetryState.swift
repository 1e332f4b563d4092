/// Whether a failed attempt is repeated, and when. Pure: time and chance come in as values.
package struct RetryState {
    package enum Decision: Equatable {
        case retry(after: Duration)
        /// `note` says why not, when the failure itself would have allowed it.
        case giveUp(note: String?)
    }

    let policy: RetryPolicy
    /// Retries since the last progress.
    private(set) var retries = 0

    package init(policy: RetryPolicy) { self.policy = policy }

    /// - Parameters:
    ///   - madeProgress: More is held now than ever before.
    ///   - retryAfter: What the server asked for.
    ///   - isUnreachable: No host was ever reached.
    ///   - elapsed: Since the first attempt began.
    ///   - random: In 0 ..< 1.
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
        // A wish for less than the back-off is no reason to come back sooner.
        let delay = max(policy.delay(beforeRetry: retries + 1, random: random), retryAfter ?? .zero)
        if let limit = policy.maxTotalTime, elapsed + delay > limit {
            return .giveUp(note: "no retry later than \(limit.text) after the start")
        }
        retries += 1
        return .retry(after: delay)
    }

    /// Statuses that a later attempt may not meet again.
    package static func isRetryable(status: Int) -> Bool { [408, 425, 429, 500, 502, 503, 504].contains(status) }

    /// Whether a request may be sent again when it is not known what became of it (RFC 9110 section 9.2.2).
    package static func isIdempotent(method: String) -> Bool {
        ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"].contains(method)
    }
}
