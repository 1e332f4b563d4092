import ConcurrencyPrimitives
import Transfer

/// The right to be the one of the fleet that asks the origin for a key, which lasts while it is renewed.
///
/// It is given back when it is released, or when nobody holds this object any more. A lease saves work: losing it changes nothing.
final class RemoteLease: Sendable {
    private struct State {
        var isReleased = false
        var keeper: Task<Void, Never>?
    }

    /// The interval at which it is checked that the response is still of use to others.
    private static let checkInterval = Duration.milliseconds(100)

    private let cache: RemoteCache
    /// The objects that stand for it, the one that is renewed first.
    private let objects: [String]
    private let content: [UInt8]
    private let state = Locked(State())

    /// - Parameters:
    ///   - objects: The names of the objects that stand for it, the one that is renewed first.
    ///   - content: What the first of them contains.
    init(_ objects: [String], _ content: [UInt8], in cache: RemoteCache) {
        self.cache = cache
        self.objects = objects
        self.content = content
    }

    deinit { release() }

    /// Renews it from now on, and releases it as soon as the response of a fetch turns out to be too long to be shared, or one client's own. Of
    /// one that is shared in parts, the upload releases it.
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

    /// Gives it back, behind the response.
    func release() {
        guard let keeper = end() else { return }
        keeper?.cancel()
        cache.delete(objects)
    }

    /// Gives it back; returns when others may see it, as far as that can be had.
    func released() async {
        guard let keeper = end() else { return }
        keeper?.cancel()
        await cache.deleteNow(objects)
    }

    /// `nil`: it was given back before.
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
    /// True if the response goes past the store.
    fileprivate var isPassed: Bool {
        switch self {
        case .passed, .head: true
        case .file, .growing, .failed: false
        }
    }
}
