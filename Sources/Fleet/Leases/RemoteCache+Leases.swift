import ConcurrencyPrimitives
import Digests
import DiskStore
import ImageCache
import RemoteStore

/// Acquires and renews leases of keys in the store.
extension RemoteCache {
    /// The outcome of an attempt to get a lease.
    enum LeaseAttempt {
        case held(RemoteLease)
        /// Another machine has it.
        case refused
        /// The store failed or is not used, so the origin is contacted without a lease.
        case unavailable
    }

    /// True if the key should be leased: the store is not known to ignore conditions, and the key's last response could be shared.
    func usesLease(for key: EntryKey) -> Bool {
        guard configuration.leaseTime > .zero else { return false }
        return state.withLock { state in
            state.conditions != .ignoresConditions && !state.unshareable.contains(key, now: .now)
        }
    }

    /// Records that a key's response cannot be shared, so that leases of the key are not used for a while.
    func noteUnshareable(_ key: EntryKey) { state.withLock { $0.unshareable.insert(key, now: .now) } }

    func noteLeaseWait() { state.withLock { $0.counts.leaseWaits += 1 } }

    func lease(for key: EntryKey) async -> LeaseAttempt {
        let owner = Self.newOwner()
        let name = key.leaseKey
        switch await put(owner, at: name) {
        case true?:
            state.withLock { $0.counts.leases += 1 }
            return .held(RemoteLease([name], owner, in: self))
        case false?: return .refused
        case nil: return .unavailable
        }
    }

    /// Takes over from a holder that has not renewed its lease. Only one machine can store the object that is named after the lease's tag.
    func takeOver(_ key: EntryKey, tag: String) async -> LeaseAttempt {
        let owner = Self.newOwner()
        let name = key.leaseKey
        let successor = "\(name)-\(ShortSHA256.digest(of: tag.utf8).hexadecimal.prefix(16))"
        switch await put(owner, at: successor) {
        case true?:
            state.withLock { $0.counts.leasesTakenOver += 1 }
            await renew(name, owner)
            return .held(RemoteLease([name, successor], owner, in: self))
        case false?: return .refused
        case nil: return .unavailable
        }
    }

    /// The current lease of a key; nil if the store failed or is not used.
    func readLease(of key: EntryKey) async -> RemoteReading? {
        await asking { (tier) async throws(RemoteError) in try await tier.read(key.leaseKey, unless: nil) }
    }

    func renew(_ name: String?, _ content: [UInt8]) async {
        guard let name else { return }
        _ = await asking { (tier) async throws(RemoteError) in try await tier.put(content, at: name, .none) }
    }

    func deleteNow(_ names: [String]) async {
        for name in names {
            await asking { (tier) async throws(RemoteError) in try await tier.delete(name) }
        }
    }

    /// Returns false if the object exists; nil if the store failed or is not used.
    private func put(_ content: [UInt8], at name: String) async -> Bool? {
        await asking { (tier) async throws(RemoteError) in try await tier.put(content, at: name, .ifAbsent) }
    }

    private static func newOwner() -> [UInt8] {
        (0..<16).map { _ in UInt8.random(in: 0 ... .max) }.hexadecimal.utf8.map { $0 }
    }
}

extension EntryKey {
    /// The key of the lease's object in the remote store.
    var leaseKey: String { ObjectClass.leases.key(of: ShortSHA256.digest(of: value.utf8)) }
}
