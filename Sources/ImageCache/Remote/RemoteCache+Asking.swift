import ConcurrencyPrimitives
import RemoteStore

/// Requests to the store, as far as the breaker lets them be made.
///
/// Reads of objects decide about the store: their quick success ends what is held against it. Small requests, and changes, count when they fail;
/// a store whose tombstones are quick may have slow objects.
extension RemoteCache {
    /// The outcome of a read of an object.
    enum ObjectReading<Value: Sendable>: Sendable {
        /// The store is left alone.
        case skipped
        /// The store has failed, or has given what is not the object, for this reason.
        case failed(RemoteError)
        case done(Value)
    }

    /// Reads an object that somebody waits for.
    ///
    /// - Parameters:
    ///   - places: The places of those that run.
    ///   - byteCount: The length of what was read; nil: its time says nothing of the store.
    func reading<Value: Sendable>(
        _ key: String, in places: AsyncSemaphore, counts: Bool = true, byteCount: (Value) -> Int?,
        _ request: @escaping @Sendable (any RemoteTier) async throws(RemoteError) -> Value
    ) async -> ObjectReading<Value> {
        guard let permit = mayAsk(mayProbe: true, counts: counts) else { return .skipped }
        let ended = await awaiting(places, request)
        switch ended.result {
        case .success(let value):
            // Several long ones share the network's pace.
            let time = byteCount(value).map { max(.zero, ended.time - Self.time(for: $0)) }
            finished(.responded(after: time ?? .zero), permit, reading: key)
            return .done(value)
        case .failure(let error):
            finished(Self.outcome(of: error, after: ended.time), permit, error, reading: key)
            return .failed(error)
        }
    }

    /// Asks the store for something small that somebody waits for, within the time of a read.
    ///
    /// - Parameter counts: False if it is not worth counting that the request was not made.
    /// - Returns: `nil` without a response that is of use.
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

    /// Changes the store, behind the response; returns false if that failed, or could not be tried.
    ///
    /// - Parameter change: Returns true if something was uploaded.
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
            // Uploads that time out say little of reads, which are shorter.
            if case .timeout = error {
                finished(.failed, permit, error)
            } else {
                finished(Self.outcome(of: error, isSmall: true), permit, error)
            }
            return nil
        }
    }

    /// The time that bytes take over a good network, ten a microsecond: a long object is not a slow response.
    private static func time(for byteCount: Int) -> Duration { .microseconds(byteCount / 10) }

    // MARK: The breaker

    /// - Parameters:
    ///   - mayProbe: True for reads of objects.
    ///   - counts: False for a request that nobody waits for: that it was not made is not worth counting.
    func mayAsk(mayProbe: Bool = false, counts: Bool = true) -> CircuitBreaker.Permit? {
        state.withLock { state in
            let permit = state.breaker.mayAsk(mayProbe: mayProbe, at: .now)
            if permit == nil, counts { state.counts.skipped += 1 }
            return permit
        }
    }

    /// - Parameter isSmall: True if a response tells nothing of reads of objects.
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

    /// - Parameter key: The object that was read; nil: it was none.
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
            // One that was cancelled is no sign that an outage is over.
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
