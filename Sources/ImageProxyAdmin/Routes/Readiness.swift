import ConcurrencyPrimitives
import ImageCache

/// The server's readiness: set by its parts, read by `/readyz` and the page.
package final class Readiness: Sendable {
    enum State: String, Sendable, Encodable {
        case starting, ready, stopping
        /// The store cannot be written.
        case unwritable
        /// No worker process can be started: images cannot be decoded.
        case undecodable
    }

    private let current = Locked(State.starting)
    /// The running check, which all concurrent requests share because it writes to the store.
    private let check = Locked<Task<State, Never>?>(nil)

    var state: State { current.withLock { $0 } }

    /// The readiness of the server's parts, of the store, and of the workers for images.
    func state(with cache: DownloadCache) async -> State { await state { await Self.checkedState(of: cache) } }

    /// - Parameter checked: The readiness of the store and of the workers.
    func state(_ checked: @escaping @Sendable () async -> State) async -> State {
        guard state == .ready else { return state }
        let running = check.withLock { check in
            if let running = check { return running }
            let new = Task {
                defer { self.check.withLock { $0 = nil } }
                return await checked()
            }
            check = new
            return new
        }
        let found = await running.value
        // The shutdown may have begun meanwhile.
        return current.withLock { $0 == .ready ? found : $0 }
    }

    private static func checkedState(of cache: DownloadCache) async -> State {
        do {
            try await cache.checkWritable()
            return cache.canDecodeImages ? .ready : .undecodable
        } catch {
            return .unwritable
        }
    }

    /// The data listener accepts connections.
    package func start() { current.withLock { if $0 == .starting { $0 = .ready } } }

    /// The server is shutting down: running requests finish, and new ones should be sent elsewhere.
    package func stop() { current.withLock { $0 = .stopping } }
}
