import ConcurrencyPrimitives
import RemoteStore

/// Requests to the store, subject to the circuit breaker.
///
/// Only reads of objects can close the circuit. Other small requests and changes count when they fail, as a store may be slow for objects
/// but fast for tombstones.
extension RemoteCache {
    /// The outcome of a read of an object.
    enum ObjectReading<Value: Sendable>: Sendable {
        /// The circuit is open.
        case skipped
        /// The store failed, or returned a wrong object.
        case failed(RemoteError)
        case done(Value)
    }

    /// Reads an object for a waiting caller.
    ///
    /// - Parameters:
    ///   - places: The slots for such reads.
    ///   - byteCount: The length of the result; nil if its time should not be assessed.
    func reading<Value: Sendable>(
        _ key: String, in places: AsyncSemaphore, counts: Bool = true, byteCount: (Value) -> Int?,
        _ request: @escaping @Sendable (any RemoteTier) async throws(RemoteError) -> Value
    ) async -> ObjectReading<Value> {
        guard let permit = mayAsk(mayProbe: true, counts: counts) else { return .skipped }
        let ended = await awaiting(places, request)
        switch ended.result {
        case .success(let value):
            // The time for the transfer is deducted, because parallel reads share the bandwidth.
            let time = byteCount(value).map { max(.zero, ended.time - Self.time(for: $0)) }
            finished(.responded(after: time ?? .zero), permit, reading: key)
            return .done(value)
        case .failure(let error):
            finished(Self.outcome(of: error, after: ended.time), permit, error, reading: key)
            return .failed(error)
        }
    }

    /// Makes a small request for a waiting caller, within the time of a read.
    ///
    /// - Parameter counts: False to not count a request that is skipped.
    /// - Returns: `nil` if there is no response.
    @discardableResult
    func asking<Value: Sendable>(
        counts: Bool = true, _ request: @escaping @Sendable (any RemoteTier) async throws(RemoteError) -> Value
    ) async -> Value? {
        await tryAgain()
        guard let permit = mayAsk(counts: counts) else { return nil }
        switch await awaiting(reads, request).result {
        case .success(let value):
            finished(.unknown, permit)
            return value
        case .failure(let error):
            finished(Self.outcome(of: error, isSmall: true), permit, error)
            return nil
        }
    }

    /// Changes the store in the background. Returns false if that failed or was skipped.
    ///
    /// - Parameter change: Returns true if it uploaded something.
    func changing(_ change: (any RemoteTier) async throws(RemoteError) -> Bool) async -> Bool {
        let isUpload = await attempt(change)
        state.withLock { state in
            if isUpload == nil { state.counts.droppedUploads += 1 }
            if isUpload == true { state.counts.uploads += 1 }
        }
        return isUpload != nil
    }

    private func attempt(_ change: (any RemoteTier) async throws(RemoteError) -> Bool) async -> Bool? {
        if Task.isCancelled { return nil }
        await tryAgain()
        guard let permit = mayAsk() else { return nil }
        do throws(RemoteError) {
            let isUpload = try await change(uploadTier)
            finished(.unknown, permit)
            return isUpload
        } catch {
            // Time-outs of uploads do not indicate time-outs of reads, which are shorter.
            if case .timeout = error {
                finished(.failed, permit, error)
            } else {
                finished(Self.outcome(of: error, isSmall: true), permit, error)
            }
            return nil
        }
    }

    /// The time to transfer bytes over a good network (10 bytes per microsecond), so that a long object does not count as a slow response.
    private static func time(for byteCount: Int) -> Duration { .microseconds(byteCount / 10) }

    // MARK: The breaker

    /// - Parameters:
    ///   - mayProbe: True for reads of objects.
    ///   - counts: False to not count a request that is skipped.
    func mayAsk(mayProbe: Bool = false, counts: Bool = true) -> CircuitBreaker.Permit? {
        state.withLock { state in
            let permit = state.breaker.mayAsk(mayProbe: mayProbe, at: .now)
            if permit == nil, counts { state.counts.skipped += 1 }
            return permit
        }
    }

    /// - Parameter isSmall: True if the response does not indicate how reads of objects perform.
    private static func outcome(
        of error: RemoteError, after time: Duration = .zero, isSmall: Bool = false
    ) -> CircuitBreaker.Outcome {
        switch error {
        case .cancelled: .unknown
        case .damaged, .tooLong: isSmall ? .unknown : .responded(after: time)
        case .timeout: .timedOut
        case .unreachable, .status, .digestUnavailable: .failed
        }
    }

    /// - Parameter key: The object that was read; nil for other requests.
    private func finished(
        _ outcome: CircuitBreaker.Outcome, _ permit: CircuitBreaker.Permit, _ error: RemoteError? = nil,
        reading key: String? = nil
    ) {
        let isFailure = outcome == .failed || outcome == .timedOut
        let (notice, ended) = state.withLock { state in
            if isFailure { state.counts.errors += 1 }
            if let key, isFailure || isSlow(outcome) { state.suspect = key }
            let change = state.breaker.finished(outcome, permit, at: .now)
            if change == .closed { state.suspect = nil }
            let ended = change == .opened ? state.reads.takeAll() : []
            // A cancelled request does not end an outage.
            let notice = error == .cancelled ? nil : state.notices.notice(isFailure: isFailure, change)
            return (notice, ended)
        }
        for cancel in ended { cancel() }
        if let notice { tell(notice, isFailure ? error : nil) }
    }

    private func isSlow(_ outcome: CircuitBreaker.Outcome) -> Bool {
        if case .responded(let time) = outcome { time >= configuration.slowResponse } else { false }
    }
}
