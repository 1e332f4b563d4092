import DiskStore
import Transfer

/// The limit of the transfers with one host that all processes on a directory share.
struct HostPlaces: SharedHostLimit {
    /// A place where the lock file cannot be used: nobody is held up.
    private final class Unlimited: Sendable {}

    let store: DiskStore
    let count: Int

    func place(with host: String) -> (any AnyObject & Sendable)? {
        do throws(StoreError) { return try store.place(with: host, of: count) } catch { return Unlimited() }
    }
}
