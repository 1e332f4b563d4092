/// The order in which those who wait are served, so that a client that asks for much at once does not hold up the others.
///
/// Start-time fair queueing (Goyal, Vin, Cheng, 1996): a client's work starts where its former work ends, but not before the work
/// that was begun last. Begun by start, then by arrival, clients take turns; the work of one client alone keeps its order.
package struct FairQueue<Client: Hashable & Sendable>: Sendable {
    private var now: UInt64 = 0
    /// Where the work of each client ends that is ahead of `now`.
    private var ends: [Client: UInt64] = [:]
    private var mostKept = 64

    package init() {}

    /// The start of a client's next work, if it began to wait now.
    package func start(of client: Client) -> UInt64 { max(now, ends[client] ?? 0) }

    /// Lines up work of a client.
    ///
    /// - Returns: Its start.
    package mutating func enter(_ client: Client, cost: Int = 1) -> UInt64 {
        let start = start(of: client)
        ends[client] = start + UInt64(max(0, cost))
        return start
    }

    /// Notes that the work with this start is begun.
    package mutating func begin(_ start: UInt64) {
        now = max(now, start)
        // Clients without work ahead of the others begin at `now` again.
        guard ends.count > mostKept else { return }
        ends = ends.filter { $0.value > now }
        mostKept = max(64, 2 * ends.count)
    }

    /// Notes that nobody waits: all begin anew.
    package mutating func reset() { ends.removeAll() }
}
