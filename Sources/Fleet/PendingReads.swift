import ConcurrencyPrimitives
import RemoteStore

/// The running requests to the remote store with a waiting caller.
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

/// The progress of a request.
private struct ReadProgress: Sendable {
    /// The time at which the request acquired a slot and was sent.
    var began: ContinuousClock.Instant?
    var hasHead = false
}

/// The result of a request with a waiting caller.
struct EndedRead<Value: Sendable>: Sendable {
    let result: Result<Value, RemoteError>
    /// The time since the request was sent, without the wait for a slot.
    let time: Duration
}

extension RemoteCache {
    /// Makes a request with a waiting caller in a slot.
    ///
    /// The request is cancelled when the circuit opens, so that requests to an unresponsive store fail together rather than one after
    /// another. It is also cancelled if it had to wait for a slot and its response has not started within the time limit, counted from this
    /// call.
    ///
    /// - Parameter places: The slots.
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
        // A request that is sent immediately is subject to the equal time limits of the transport.
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
