import ConcurrencyPrimitives
import Digests

/// Runs downloads with the same digest in a list one after another, so that the later ones find the first one's file in the store.
final class DigestCoalescer: Sendable {
    private let isOn: Bool
    private let running = Locked<[Digest: Promise<Void>]>([:])

    /// - Parameter isOn: False to run them concurrently.
    init(isOn: Bool) { self.isOn = isOn }

    /// Runs `work` when no other download of the digest is running.
    func run<Result>(_ digest: Digest?, _ work: () async throws -> Result) async rethrows -> Result {
        guard isOn, let digest, digest.algorithm.isCollisionResistant else { return try await work() }
        let own = Promise<Void>()
        while let other = running.withLock({ $0.begin(digest, own) }) {
            // The task is cancelled, so the work itself ends immediately.
            if await other.value() == nil { return try await work() }
        }
        defer {
            running.withLock { $0[digest] = nil }
            own.fulfill(())
        }
        return try await work()
    }
}

extension [Digest: Promise<Void>] {
    /// The running download of the digest, or `nil` if there was none and `own` is now the running one.
    fileprivate mutating func begin(_ digest: Digest, _ own: Promise<Void>) -> Promise<Void>? {
        if let other = self[digest] { return other }
        self[digest] = own
        return nil
    }
}
