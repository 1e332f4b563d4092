import ConcurrencyPrimitives
import DiskStore
import HTTPCaching
import HTTPTypes
import TextIdentity
import Transfer

/// The properties of a request that affect its response, besides its key and the fields that `Vary` names. Only requests with equal terms share a
/// response, so that a result does not depend on other requests.
struct FetchTerms: Hashable, Sendable {
    private let policy: CachePolicy
    private let freshnessOverride: FreshnessOverride?
    private let sha256: String?
    private let version: ByteText?
    /// `Cache-Control` and `Pragma`, as an array: `HTTPFields` compares different bytes that are not text as equal.
    private let directives: [HTTPField]
    private let transfer: TransferOptions

    /// The length in bytes up to which a body is followed although its transfer has a time limit.
    private static let quickLength: Int64 = 16 << 20

    init(_ resolved: ResolvedRequest) {
        policy = resolved.cacheRequest.policy
        freshnessOverride = resolved.request.freshnessOverride
        sha256 = resolved.expectedDigest?.hexadecimal
        version = resolved.request.version?.asBytes
        directives = resolved.request.fields.filter(\.isCacheDirective)
        transfer = resolved.request.transfer
    }

    /// Returns true if a request with these terms may use the response to an earlier request that is still being fetched.
    ///
    /// - Parameter length: The length of the body, in bytes.
    func mayFollow(_ other: FetchTerms, length: Int64) -> Bool {
        policy == .useProtocolCachePolicy && directives.isEmpty && sha256 == nil && other.sha256 == nil
            && freshnessOverride == other.freshnessOverride && version == other.version
            && transfer.rateLimit == other.transfer.rateLimit
            && (other.transfer.maxTime == nil || length <= Self.quickLength)
    }
}

/// The requests to origins in progress in this process, by key. Fetches of files, of thumbnails' originals and of proxied responses find each other
/// here.
final class RunningFetches: Sendable {
    struct Running: Sendable {
        fileprivate let number: UInt64
        let task: FetchPool.SharedTask
        let terms: FetchTerms
        let epoch: Generation.Epoch
    }

    private struct State {
        var fetches: [EntryKey: Running] = [:]
        var last: UInt64 = 0
    }

    private let state = Locked(State())

    /// Registers a fetch that asks the origin, and returns the number for ``end(_:_:)``. A later fetch with the same key replaces an earlier one.
    func begin(_ resolved: ResolvedRequest, _ task: FetchPool.SharedTask, _ epoch: Generation.Epoch) -> UInt64 {
        state.withLock { state in
            state.last += 1
            state.fetches[resolved.key] = Running(
                number: state.last, task: task, terms: FetchTerms(resolved), epoch: epoch)
            return state.last
        }
    }

    func end(_ key: EntryKey, _ number: UInt64) {
        state.withLock { if $0.fetches[key]?.number == number { $0.fetches[key] = nil } }
    }

    /// The running fetch of a key, if it was begun in this epoch.
    func running(_ key: EntryKey, in epoch: Generation.Epoch) -> Running? {
        guard let fetch = state.withLock({ $0.fetches[key] }), fetch.epoch == epoch else { return nil }
        return fetch
    }

    /// Raises the priority of a key's fetch to the priority of a waiting request.
    func raise(_ key: EntryKey, to priority: TransferPriority) {
        state.withLock { $0.fetches[key]?.task.context }?.raise(to: priority)
    }
}
