import DiskStore
import Transfer

/// The limit of concurrent transfers with one host, which all processes that use a cache directory share.
struct SharedHostSlots: SharedHostLimit {
    /// The place that is returned if the lock file cannot be used: the transfer starts without a limit.
    private final class Unlimited: Sendable {}

    let store: DiskStore
    let count: Int

    func place(with host: String) -> (any AnyObject & Sendable)? {
        do throws(StoreError) { return try store.place(with: host, of: count) } catch { return Unlimited() }
    }
}
