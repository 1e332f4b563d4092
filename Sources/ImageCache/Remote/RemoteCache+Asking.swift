import ConcurrencyPrimitives
import RemoteStore

/// Requests to the store, as far as the breaker lets them be made.
extension RemoteCache {
    /// Asks the store for something small that somebody waits for, within the time of a read.
    ///
    /// - Parameter counts: False if it is not worth counting that the request was not made.
    /// - Returns: `nil` without a response that is of use.
    @discardableResult
    func asking<Value: Sendable>(
        counts: Bool = true, _ request: @escaping @Sendable (any RemoteTier) async throws(RemoteError) -> Value
    ) async -> Value? {
        await attempt(counts: counts, isRead: true, expecting: .zero) { () async throws(RemoteError) in
            try await whileClosed { [tier] () async throws(RemoteError) in try await request(tier) }
        }
    }

    /// Changes the store, behind the response; returns false if that failed, or could not be tried.
    ///
    /// - Parameters:
    ///   - expected: The time that the bytes take over a good network; nil: the change's time says nothing of the store.
    ///   - change: Returns true if something was uploaded.
    func changing(
        expecting expected: Duration? = nil, _ change: (any RemoteTier) async throws(RemoteError) -> Bool
    ) async -> Bool {
        var isUpload: Bool?
        if !Task.isCancelled {
            isUpload = await attempt(counts: true, isRead: false, expecting: expected) { () async throws(RemoteError) in
                try await change(tier)
            }
        }
        let outcome = isUpload
        state.withLock { state in
            if outcome == nil { state.counts.droppedUploads += 1 }
            if outcome == true { state.counts.uploads += 1 }
        }
        return outcome != nil
    }

    private func attempt<Value: Sendable>(
        counts: Bool, isRead: Bool, expecting expected: Duration?, _ request: () async throws(RemoteError) -> Value
    ) async -> Value? {
        guard mayAsk(counts: counts) else { return nil }
        let began = ContinuousClock.now
        do throws(RemoteError) {
            let value = try await request()
            responded(after: expected.map { .now - began - $0 } ?? .zero)
            return value
        } catch {
            note(error, after: .now - began, isRead: isRead)
            return nil
        }
    }

    /// The time that bytes take over a good network, ten a microsecond: a long object is not a slow response.
    static func time(for byteCount: Int?) -> Duration { .microseconds((byteCount ?? 0) / 10) }

    // MARK: The breaker

    /// - Parameter counts: False for a request that nobody waits for: that it was not made is not worth counting.
    func mayAsk(counts: Bool = true) -> Bool {
        state.withLock { state in
            let mayAsk = state.breaker.mayAsk(at: .now)
            if !mayAsk, counts { state.counts.skipped += 1 }
            return mayAsk
        }
    }

    func responded(after time: Duration) { finished(.responded(after: time), nil) }

    func note(_ error: RemoteError, after time: Duration, isRead: Bool = true) {
        switch error {
        case .cancelled: return
        case .damaged, .tooLong: return responded(after: time)
        // Uploads that time out say little of reads, which are shorter.
        case .timeout: finished(isRead ? .timedOut : .failed, error)
        case .unreachable, .status, .digestUnavailable: finished(.failed, error)
        }
    }

    private func finished(_ outcome: CircuitBreaker.Outcome, _ error: RemoteError?) {
        let (notice, ended) = state.withLock { state in
            if error != nil { state.counts.errors += 1 }
            let change = state.breaker.finished(outcome, at: .now)
            let ended = change == .opened ? state.reads.takeAll() : []
            return (state.notices.notice(isFailure: error != nil, change), ended)
        }
        for cancel in ended { cancel() }
        if let notice { tell(notice, error) }
    }
}
