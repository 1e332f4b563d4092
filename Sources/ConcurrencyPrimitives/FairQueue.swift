/// A queue order in which a client with many items does not delay the others.
///
/// Start-time fair queueing (Goyal, Vin, Cheng, 1996): a client's work starts where its previous work ends, but not
/// before the work that was begun last. Ordered by start, then by arrival, clients take turns; the order of one
/// client's work is preserved. Only after ``withdraw(_:cost:)`` may later work start before a client's waiting work.
package struct FairQueue<Client: Hashable & Sendable>: Sendable {
    /// The start of the work that was begun last.
    package private(set) var now: UInt64 = 0
    /// The end of each client's work that is ahead of `now`.
    private var ends: [Client: UInt64] = [:]
    private var mostKept = 64

    package init() {}

    /// The start of a client's next work, if it were queued now.
    package func start(of client: Client) -> UInt64 { max(now, ends[client] ?? 0) }

    /// Queues work of a client.
    ///
    /// - Returns: Its start.
    package mutating func enter(_ client: Client, cost: Int = 1) -> UInt64 {
        let start = start(of: client)
        ends[client] = start + UInt64(max(0, cost))
        return start
    }

    /// Takes back queued work of a client that will not begin: it does not count towards the client's share.
    package mutating func withdraw(_ client: Client, cost: Int = 1) {
        guard let end = ends[client] else { return }
        ends[client] = end - min(end, UInt64(max(0, cost)))
    }

    /// Records that all waiting work of a client was taken back: it is not behind the others.
    package mutating func forget(_ client: Client) { ends[client] = nil }

    /// Records that the work with this start has begun.
    package mutating func begin(_ start: UInt64) {
        now = max(now, start)
        // Clients without work ahead of the others start at `now` again.
        guard ends.count > mostKept else { return }
        ends = ends.filter { $0.value > now }
        mostKept = max(64, 2 * ends.count)
    }

    /// Records that the queue is empty: all clients become equal again.
    package mutating func reset() { ends.removeAll() }
}
