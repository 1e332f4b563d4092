import ConcurrencyPrimitives
import RemoteStore

/// The requests to the remote store that somebody waits for.
struct PendingReads: Sendable {
    private var cancellations: [Int: @Sendable () -> Void] = [:]
    private var last = 0

    mutating func add(_ cancel: @escaping @Sendable () -> Void) -> Int {
        last += 1
        cancellations[last] = cancel
        return last
    }

    mutating func remove(_ number: Int) { cancellations[number] = nil }

    mutating func takeAll() -> [@Sendable () -> Void] {
        defer { cancellations = [:] }
        return Array(cancellations.values)
    }
}

/// The progress of a request that somebody waits for.
private struct ReadProgress: Sendable {
    /// The time at which it had a place, and was sent.
    var began: ContinuousClock.Instant?
    var hasHead = false
}

/// The end of a request that somebody waited for.
struct EndedRead<Value: Sendable>: Sendable {
    let result: Result<Value, RemoteError>
    /// The time since it was sent: waiting for a place is no time of the store's.
    let time: Duration
}

extension RemoteCache {
    /// Makes a request that somebody waits for, in its turn.
    ///
    /// It ends as cancelled when the breaker opens: all wait together for a store that does not respond, and not one after another. It ends so, too,
    /// if it has waited for a place and its response has not begun when the time for that is over, which counts from here.
    ///
    /// - Parameter places: The places of those that run.
    func awaiting<Value: Sendable>(
        _ places: AsyncSemaphore,
        _ request: @escaping @Sendable (any RemoteTier) async throws(RemoteError) -> Value
    ) async -> EndedRead<Value> {
        let progress = Locked(ReadProgress())
        let hasPlace = places.tryAcquire()
        let task = Task(executorPreference: executor) { [tier] () async -> Result<Value, RemoteError> in
            if !hasPlace {
                guard await places.acquire() else { return .failure(.cancelled) }
            }
            defer { places.release() }
            progress.withLock { $0.began = .now }
            let reader = tier.reporting { progress.withLock { $0.hasHead = true } }
            do throws(RemoteError) { return .success(try await request(reader)) } catch { return .failure(error) }
        }
        // One that is sent at once has the transport's limits of time, which are the same.
        let limit =
            hasPlace
            ? nil
            : Task { [configuration] in
                try? await Task.sleep(for: configuration.connectTimeout + configuration.firstByteTimeout)
                if !progress.withLock({ $0.hasHead }) { task.cancel() }
            }
        let number = state.withLock { state in state.reads.add { task.cancel() } }
        defer {
            limit?.cancel()
            state.withLock { $0.reads.remove(number) }
        }
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        return EndedRead(result: result, time: progress.withLock { $0.began }.map { .now - $0 } ?? .zero)
    }
}
