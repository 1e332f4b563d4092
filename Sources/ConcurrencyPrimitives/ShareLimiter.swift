/// Counts units of one resource against a total limit and a limit for each client.
///
/// It only counts and decides: waiting and refusing are up to its user.
package struct ShareLimiter: Sendable {
    package struct Limits: Sendable, Hashable {
        /// The number of units for all clients together.
        package var total: Int
        /// The number of units for one client.
        package var perClient: Int

        /// - Parameter perClient: Default: a quarter of the total, at least 1.
        package init(total: Int, perClient: Int? = nil) {
            self.total = total
            self.perClient = perClient ?? max(1, total / 4)
        }
    }

    /// The limit that a request for units exceeds.
    package enum Shortage: Error, Sendable, Hashable {
        /// No units are left.
        case total
        /// The client has used its share.
        case client
    }

    package var limits: Limits
    /// The number of units taken.
    package private(set) var used = 0
    private var shares: [String: Int] = [:]

    package init(_ limits: Limits) { self.limits = limits }

    /// The number of units taken by a client.
    package func used(by client: String) -> Int { shares[client, default: 0] }

    /// The limit that taking so many units would exceed, or nil.
    ///
    /// - Parameter client: nil for unattributed use, to which only the total limit applies.
    package func shortage(of count: Int = 1, for client: String?) -> Shortage? {
        // The client's own share is checked first, so that the result is independent of other clients.
        if let client, limits.perClient < limits.total, shares[client, default: 0] > max(0, limits.perClient) - count {
            return .client
        }
        return used > max(0, limits.total) - count ? .total : nil
    }

    package mutating func take(_ count: Int = 1, for client: String?) throws(Shortage) {
        if let shortage = shortage(of: count, for: client) { throw shortage }
        takeUnconditionally(count, for: client)
    }

    /// Takes units without checking the limits.
    package mutating func takeUnconditionally(_ count: Int = 1, for client: String?) {
        used += count
        if let client, count > 0 { shares[client, default: 0] += count }
    }

    /// Releases units that were taken for the same client.
    package mutating func release(_ count: Int = 1, for client: String?) {
        used -= count
        guard let client, let share = shares[client] else { return }
        shares[client] = share > count ? share - count : nil
    }
}
