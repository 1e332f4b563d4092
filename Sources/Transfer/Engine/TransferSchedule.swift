import ConcurrencyPrimitives

/// Decides which transfer runs next: at most so many in all, per host, and for one client; the rest in order of priority, then of
/// arrival, with clients taking turns. A transfer whose host or client is at its limit does not hold up the others.
struct TransferSchedule {
    typealias ID = UInt64

    struct Limits {
        var total: Int
        var perHost: Int
        /// For transfers that name a client.
        var perClient: Int
    }

    private struct Waiting: Comparable {
        let id: ID
        let priority: TransferPriority
        let tag: UInt64
        /// Arrival: identifiers are given out in order.
        var order: ID { id }

        static func < (left: Self, right: Self) -> Bool {
            if left.priority != right.priority { return left.priority > right.priority }
            return (left.tag, left.order) < (right.tag, right.order)
        }
    }

    private struct Host {
        var running = 0
        /// By client; nil: those that name none.
        var waiting: [String?: Heap<Waiting>] = [:]

        mutating func takeFirst(of client: String?) {
            _ = waiting[client]?.removeFirst()
            dropIfEmpty(client)
        }

        /// False: it did not wait here.
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
    /// Limits of single hosts, in place of the common one.
    private var hostLimits: [String: Int] = [:]
    /// Hosts with somebody waiting and room for one more. A pick looks at all of them: there are few, and a slot that
    /// has become free is worth more than the look.
    private var ready: Set<String> = []
    /// Hosts with which nothing may start now, whatever their limits.
    private var paused: Set<String> = []

    var running: Int { slots.used }

    init(_ limits: Limits) {
        self.limits = Limits(
            total: max(1, limits.total), perHost: max(1, limits.perHost), perClient: max(1, limits.perClient))
        slots = ShareLimiter(ShareLimiter.Limits(total: self.limits.total, perClient: self.limits.perClient))
    }

    /// - Parameters:
    ///   - client: whose limit it counts against; nil: nobody's.
    ///   - tag: what an earlier call gave for one that comes back, and is where it was.
    /// - Returns: Its place among the turns of clients.
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

    /// The next one that may start; it then holds a slot until ``finished(host:client:)``.
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

    /// Gives a host a limit of its own, instead of the common one.
    mutating func limit(_ host: String, to count: Int) {
        hostLimits[host] = max(1, count)
        settle(host)
    }

    /// Starts nothing with a host until ``resume(_:)``.
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

    /// Takes back one that waits.
    mutating func withdraw(_ id: ID, host: String, client: String? = nil) {
        guard hosts[host]?.remove(id, of: client) ?? false else { return }
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
        // The limits of others are learned again.
        if hostLimits.count > Self.mostHosts { hostLimits = hostLimits.filter { hosts[$0.key] != nil } }
    }
}
