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

extension RemoteCache {
    /// Makes a request that somebody waits for. It ends as cancelled when the breaker opens: all wait together for a store that does not respond, and
    /// not one after another.
    func whileClosed<Value: Sendable>(
        _ request: @escaping @Sendable () async throws(RemoteError) -> Value
    ) async throws(RemoteError) -> Value {
        let task = Task(executorPreference: executor) { () async -> Result<Value, RemoteError> in
            do throws(RemoteError) { return .success(try await request()) } catch { return .failure(error) }
        }
        let number = state.withLock { state in state.reads.add { task.cancel() } }
        defer { state.withLock { $0.reads.remove(number) } }
        return try await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }.get()
    }
}
