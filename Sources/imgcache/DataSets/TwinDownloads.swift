import ConcurrencyPrimitives
import Digests

/// Runs downloads with the same digest in a list one after another, so that the later ones find the first one's file in the store.
final class TwinDownloads: Sendable {
    private let isOn: Bool
    private let running = Locked<[Digest: Promise<Void>]>([:])

    /// - Parameter isOn: False to run them concurrently.
    init(isOn: Bool) { self.isOn = isOn }

    /// Waits until no other download of the digest is running. The caller ends its turn by ``end(_:)``.
    ///
    /// - Returns: The digest whose turn it is; `nil` if the download need not wait, or if the task is cancelled.
    func turn(_ digest: Digest?) async -> Digest? {
        guard isOn, let digest, digest.algorithm.isCollisionResistant else { return nil }
        let own = Promise<Void>()
        while let other = running.withLock({ $0.begin(digest, own) }) {
            if await other.value() == nil { return nil }
        }
        return digest
    }

    func end(_ digest: Digest) { running.withLock { $0.removeValue(forKey: digest) }?.fulfill(()) }
}

extension [Digest: Promise<Void>] {
    /// The running download of the digest, or `nil` if there was none and `own` is now the running one.
    fileprivate mutating func begin(_ digest: Digest, _ own: Promise<Void>) -> Promise<Void>? {
        if let other = self[digest] { return other }
        self[digest] = own
        return nil
    }
}
