import ConcurrencyPrimitives
import ImageCache

/// The right to request a key from the origin on behalf of the fleet. It lasts while it is renewed.
///
/// The lease is released by ``release()`` or with the last reference. It only avoids duplicate work, so losing it does no harm.
final class RemoteLease: Sendable {
    private struct State {
        var isReleased = false
        /// True while the lease is renewed at the store.
        var isRenewing = false
        var keeper: Task<Void, Never>?
    }

    /// The interval of the checks whether the response can be shared.
    private static let checkInterval = Duration.milliseconds(100)

    private let cache: RemoteCache
    /// The keys of the lease's objects. The first one is renewed.
    private let objects: [String]
    private let content: [UInt8]
    private let state = Locked(State())

    /// - Parameters:
    ///   - objects: The keys of the lease's objects. The first one is renewed.
    ///   - content: The content of the first object.
    init(_ objects: [String], _ content: [UInt8], in cache: RemoteCache) {
        self.cache = cache
        self.objects = objects
        self.content = content
    }

    deinit { release() }

    /// Renews the lease during a fetch. Releases it if the response turns out to be too long to share, or is passed through to one client.
    /// If the response is shared in parts, the upload releases the lease.
    func keep(during fetch: RemoteFetch) {
        let interval = cache.configuration.leaseTime / 3
        let keeper = Task { [weak self, weak fetch] in
            var renewed = ContinuousClock.now
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.checkInterval)
                guard let self, !self.isReleased else { return }
                if fetch?.isUnshareable == true { return release() }
                guard .now - renewed >= interval else { continue }
                renewed = .now
                guard self.beginRenewal() else { return }
                await cache.renew(objects.first, content)
                self.state.withLock { $0.isRenewing = false }
            }
        }
        let isReleased = state.withLock { state in
            if !state.isReleased { state.keeper = keeper }
            return state.isReleased
        }
        if isReleased { keeper.cancel() }
    }

    private var isReleased: Bool { state.withLock { $0.isReleased } }

    /// Releases the lease in the background.
    func release() {
        guard let ended = end() else { return }
        ended.keeper?.cancel()
        guard let renewal = ended.renewal else { return cache.delete(objects) }
        // The store may apply a renewal that was sent already after the deletion.
        Task { [cache, objects] in
            await renewal.value
            cache.delete(objects)
        }
    }

    /// Releases the lease, and returns when its objects are deleted or the deletion has failed.
    func released() async {
        guard let ended = end() else { return }
        ended.keeper?.cancel()
        await ended.renewal?.value
        await cache.deleteNow(objects)
    }

    /// Marks the lease as released; `nil` if it already was.
    ///
    /// - Returns: The task that keeps the lease, also as the renewal if it is renewing at this moment.
    private func end() -> (keeper: Task<Void, Never>?, renewal: Task<Void, Never>?)? {
        state.withLock { state in
            guard !state.isReleased else { return nil }
            state.isReleased = true
            defer { state.keeper = nil }
            return (state.keeper, state.isRenewing ? state.keeper : nil)
        }
    }

    /// Returns false if the lease is released.
    private func beginRenewal() -> Bool {
        state.withLock { state in
            state.isRenewing = !state.isReleased
            return state.isRenewing
        }
    }
}

extension RemoteFetch {
    /// True if the response turned out to be too long to share, or is passed through to one client.
    fileprivate var isUnshareable: Bool {
        let isUnshared = state.withLock { $0.isDecided && $0.upload == nil }
        let isTooLong = access.progress.total ?? 0 > remote.configuration.maxBodySize
        return isTooLong && isUnshared || access.isPassedThrough
    }
}
