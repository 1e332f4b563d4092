import ConcurrencyPrimitives
import Transfer

/// The right to request a key from the origin on behalf of the fleet. It lasts while it is renewed.
///
/// The lease is released by ``release()`` or with the last reference. It only avoids duplicate work, so losing it does no harm.
final class RemoteLease: Sendable {
    private struct State {
        var isReleased = false
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
    func keep(during fetch: Fetch) {
        let interval = cache.configuration.leaseTime / 3
        let limit = cache.configuration.maxBodySize
        let keeper = Task { [weak self] in
            var renewed = ContinuousClock.now
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.checkInterval)
                guard let self, !self.isReleased else { return }
                let isTooLong = fetch.latest.total ?? 0 > limit && fetch.isUnshared
                if isTooLong || fetch.start.settled()?.isPassed == true { return release() }
                guard .now - renewed >= interval else { continue }
                renewed = .now
                await cache.renew(objects.first, content)
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
        guard let keeper = end() else { return }
        keeper?.cancel()
        cache.delete(objects)
    }

    /// Releases the lease, and returns when its objects are deleted or the deletion has failed.
    func released() async {
        guard let keeper = end() else { return }
        keeper?.cancel()
        await cache.deleteNow(objects)
    }

    /// Marks the lease as released; `nil` if it already was.
    private func end() -> Task<Void, Never>?? {
        state.withLock { state in
            guard !state.isReleased else { return nil }
            state.isReleased = true
            defer { state.keeper = nil }
            return .some(state.keeper)
        }
    }
}

extension ResponseStart {
    /// True if the response is passed through without being stored.
    fileprivate var isPassed: Bool {
        switch self {
        case .passthrough, .head: true
        case .file, .live, .failed: false
        }
    }
}
