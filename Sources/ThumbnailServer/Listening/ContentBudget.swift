import Locking

/// The memory that the contents of all requests may take together: each is held until its request is answered.
final class ContentBudget: Sendable {
    private let left: Locked<Int>

    /// - Parameter bytes: in all.
    init(bytes: Int) { left = Locked(bytes) }

    /// False: there are not so many bytes left.
    func take(_ count: Int) -> Bool {
        left.withLock {
            guard $0 >= count else { return false }
            $0 -= count
            return true
        }
    }

    func giveBack(_ count: Int) {
        guard count > 0 else { return }
        left.withLock { $0 += count }
    }
}
