/// Hands out units of one resource, within a limit in all and a limit for each client.
///
/// It counts and decides, and does nothing else: its user waits, refuses or tells.
package struct ShareLimiter: Sendable {
    package struct Limits: Sendable, Hashable {
        /// Units for all clients together.
        package var total: Int
        /// Units for one client.
        package var perClient: Int

        /// - Parameter perClient: default: a quarter of the total, at least 1.
        package init(total: Int, perClient: Int? = nil) {
            self.total = total
            self.perClient = perClient ?? max(1, total / 4)
        }
    }

    /// The limit that a request for units exceeds.
    package enum Shortage: Error, Sendable, Hashable {
        /// All units are taken.
        case total
        /// The client has its share.
        case client
    }

    package var limits: Limits
    /// Units that are taken.
    package private(set) var used = 0
    private var shares: [String: Int] = [:]

    package init(_ limits: Limits) { self.limits = limits }

    /// Units that a client has taken.
    package func used(by client: String) -> Int { shares[client, default: 0] }

    /// The reason for which so many units cannot be taken, or nil.
    ///
    /// - Parameter client: nil: nobody in particular, to whom the limit in all applies alone.
    package func shortage(of count: Int = 1, for client: String?) -> Shortage? {
        // The client's own share first: what it is told is then the same, whatever others do.
        if let client, limits.perClient < limits.total, shares[client, default: 0] > limits.perClient - count {
            return .client
        }
        return used > limits.total - count ? .total : nil
    }

    package mutating func take(_ count: Int = 1, for client: String?) throws(Shortage) {
        if let shortage = shortage(of: count, for: client) { throw shortage }
        takeUnconditionally(count, for: client)
    }

    /// Takes units that are granted whatever the limits say.
    package mutating func takeUnconditionally(_ count: Int = 1, for client: String?) {
        used += count
        if let client, count > 0 { shares[client, default: 0] += count }
    }

    /// Gives back units that were taken for the same client.
    package mutating func release(_ count: Int = 1, for client: String?) {
        used -= count
        guard let client, let share = shares[client] else { return }
        shares[client] = share > count ? share - count : nil
    }
}
