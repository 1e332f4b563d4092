/// The order in which those who wait are served, so that a client that asks for much at once does not hold up the others.
///
/// Start-time fair queueing (Goyal, Vin, Cheng, 1996) with requests of one size: each request gets a tag, one more than that of
/// its client's former request, but not less than the tag that was served last. Served by tag, then by arrival, clients take
/// turns; the requests of one client alone keep their order.
package struct FairOrder: Sendable {
    private var now: UInt64 = 0
    /// The tag of the newest request of each client that is ahead of `now`.
    private var newest: [String: UInt64] = [:]
    private var mostKept = 64

    package init() {}

    /// The tag of a request that begins to wait.
    ///
    /// - Parameter client: nil is a client, too: nobody in particular.
    package mutating func tag(for client: String?) -> UInt64 {
        let client = client ?? ""
        let tag = max(now, newest[client].map { $0 + 1 } ?? 0)
        newest[client] = tag
        return tag
    }

    /// Notes that the request with this tag is being served.
    package mutating func serve(_ tag: UInt64) {
        now = max(now, tag)
        // Clients without a request ahead of the others begin at `now` again.
        guard newest.count > mostKept else { return }
        newest = newest.filter { $0.value >= now }
        mostKept = max(64, 2 * newest.count)
    }

    /// Notes that nobody waits: all begin anew.
    package mutating func reset() { newest.removeAll() }
}
