import ConcurrencyPrimitives

/// Decides which transfer starts next, within the limits in all, per host and per client. Waiting transfers start in order of priority, then of
/// arrival, and clients take turns. A transfer whose host or client is at its limit does not delay others.
struct TransferSchedule {
    typealias ID = UInt64

    struct Limits {
        var total: Int
        var perHost: Int
        /// The limit for each client of transfers that name one.
        var perClient: Int
    }

    private struct Waiting: Comparable {
        let id: ID
        let priority: TransferPriority
        let tag: UInt64
        /// The order of arrival: identifiers are assigned in order.
        var order: ID { id }

        static func < (left: Self, right: Self) -> Bool {
            if left.priority != right.priority { return left.priority > right.priority }
            return (left.tag, left.order) < (right.tag, right.order)
        }
    }

    private struct Host {
        var running = 0
        /// Waiting transfers by client; `nil` for those without a client.
        var waiting: [String?: Heap<Waiting>] = [:]

        mutating func takeFirst(of client: String?) {
            _ = waiting[client]?.removeFirst()
            dropIfEmpty(client)
        }

        /// Returns false if the transfer did not wait here.
        mutating func remove(_ id: ID, of client: String?) -> Bool {
            guard let before = waiting[client]?.count else { return false }
            waiting[client]?.filter { $0.id != id }
            let isRemoved = waiting[client]?.count != before
            dropIfEmpty(client)
            return isRemoved
        }

        private mutating func dropIfEmpty(_ client: String?) {
            if waiting[client]?.isEmpty ?? false { waiting[client] = nil }
        }
    }

    /// The number of hosts up to which the limits of those without transfers are kept.
    private static let mostHosts = 1000

    let limits: Limits
    private var slots: ShareLimiter
    private var turns = FairQueue<String?>()
    private var waitingCount = 0
    private var hosts: [String: Host] = [:]
    /// Limits of single hosts that replace the common one.
    private var hostLimits: [String: Int] = [:]
    /// Hosts with waiting transfers and a free place. Each pick searches all of them: there are few, and a free slot is worth the search.
    private var ready: Set<String> = []
    /// Hosts with which no transfer may start now, regardless of the limits.
    private var paused: Set<String> = []

    var running: Int { slots.used }

    init(_ limits: Limits) {
        self.limits = Limits(
            total: max(1, limits.total), perHost: max(1, limits.perHost), perClient: max(1, limits.perClient))
        slots = ShareLimiter(ShareLimiter.Limits(total: self.limits.total, perClient: self.limits.perClient))
    }

    /// - Parameters:
    ///   - client: The client that the transfer counts for; `nil` for none.
    ///   - tag: The result of an earlier call for the same transfer, which then keeps its place.
    /// - Returns: The place of the transfer among the turns of clients.
    @discardableResult
    mutating func enqueue(
        _ id: ID, host: String, priority: TransferPriority, client: String? = nil, tag: UInt64? = nil
    ) -> UInt64 {
        let tag = tag ?? turns.enter(client)
        let waiting = Waiting(id: id, priority: priority, tag: tag)
        hosts[host, default: Host()].waiting[client, default: Heap()].insert(waiting)
        waitingCount += 1
        settle(host)
        return tag
    }

    /// Returns the next transfer that may start. It holds a slot until ``finished(host:client:)``.
    mutating func next() -> ID? {
        guard running < limits.total else { return nil }
        var best: (host: String, client: String?, waiting: Waiting)?
        for host in ready {
            for (client, queue) in hosts[host]?.waiting ?? [:] {
                guard let waiting = queue.first, slots.shortage(for: client) == nil else { continue }
                if best.map({ waiting < $0.waiting }) ?? true { best = (host, client, waiting) }
            }
        }
        guard let best else { return nil }
        hosts[best.host]?.takeFirst(of: best.client)
        hosts[best.host]?.running += 1
        slots.takeUnconditionally(for: best.client)
        turns.begin(best.waiting.tag)
        noteOneLessWaiting()
        settle(best.host)
        return best.waiting.id
    }

    /// Sets the limit of one host, which replaces the common one.
    mutating func limit(_ host: String, to count: Int) {
        hostLimits[host] = max(1, count)
        settle(host)
    }

    /// Prevents transfers with a host from starting until ``resume(_:)``.
    mutating func pause(_ host: String) {
        paused.insert(host)
        settle(host)
    }

    mutating func resume(_ host: String) {
        paused.remove(host)
        settle(host)
    }

    /// Returns true if transfers wait for their turn with a host.
    func isContended(_ host: String) -> Bool { hosts[host]?.waiting.isEmpty == false }

    mutating func finished(host: String, client: String? = nil) {
        hosts[host]?.running -= 1
        slots.release(for: client)
        settle(host)
    }

    /// Removes a waiting transfer.
    ///
    /// - Parameter isOver: True if it is not queued again. If no other transfer of the client waits, those that were withdrawn do not set the
    ///   client back.
    mutating func withdraw(_ id: ID, host: String, client: String? = nil, isOver: Bool) {
        guard hosts[host]?.remove(id, of: client) ?? false else { return }
        if isOver, !hosts.values.contains(where: { $0.waiting[client]?.isEmpty == false }) { turns.forget(client) }
        noteOneLessWaiting()
        settle(host)
    }

    private mutating func noteOneLessWaiting() {
        waitingCount -= 1
        if waitingCount == 0 { turns.reset() }
    }

    private mutating func settle(_ name: String) {
        guard let host = hosts[name] else { return }
        let limit = hostLimits[name] ?? limits.perHost
        if host.waiting.isEmpty || host.running >= limit || paused.contains(name) {
            ready.remove(name)
        } else {
            ready.insert(name)
        }
        if host.waiting.isEmpty, host.running == 0 { hosts[name] = nil }
        // Hosts without transfers adapt their limits again later.
        if hostLimits.count > Self.mostHosts { hostLimits = hostLimits.filter { hosts[$0.key] != nil } }
    }
}
