/// Who may transfer now: at most so many in all, at most so many per host, the rest in order of priority, then of
/// arrival. A transfer whose host is at its limit does not hold up those to other hosts.
struct TransferSchedule {
    typealias ID = UInt64

    private struct Waiting: Comparable {
        let id: ID
        let priority: TransferPriority
        /// Arrival: identifiers are given out in order, so a transfer that comes back for a retry is where it was.
        var order: ID { id }

        static func < (left: Self, right: Self) -> Bool {
            left.priority != right.priority ? left.priority > right.priority : left.order < right.order
        }
    }

    private struct Host {
        var running = 0
        var waiting = Heap<Waiting>()
    }

    let maxTransfers: Int
    let maxPerHost: Int
    private(set) var running = 0
    private var hosts: [String: Host] = [:]
    /// Hosts with somebody waiting and room for one more. A pick looks at all of them: there are few, and a slot that
    /// has become free is worth more than the look.
    private var ready: Set<String> = []

    init(maxTransfers: Int, maxPerHost: Int) {
        self.maxTransfers = max(1, maxTransfers)
        self.maxPerHost = max(1, maxPerHost)
    }

    mutating func enqueue(_ id: ID, host: String, priority: TransferPriority) {
        hosts[host, default: Host()].waiting.insert(Waiting(id: id, priority: priority))
        settle(host)
    }

    /// The next one that may start; it then holds a slot until ``finished(host:)``.
    mutating func next() -> ID? {
        guard running < maxTransfers else { return nil }
        var best: (host: String, waiting: Waiting)?
        for host in ready {
            guard let waiting = hosts[host]?.waiting.first else { continue }
            if best.map({ waiting < $0.waiting }) ?? true { best = (host, waiting) }
        }
        guard let best else { return nil }
        _ = hosts[best.host]?.waiting.removeFirst()
        hosts[best.host]?.running += 1
        running += 1
        settle(best.host)
        return best.waiting.id
    }

    mutating func finished(host: String) {
        hosts[host]?.running -= 1
        running -= 1
        settle(host)
    }

    /// Takes back one that waits.
    mutating func withdraw(_ id: ID, host: String) {
        hosts[host]?.waiting.filter { $0.id != id }
        settle(host)
    }

    private mutating func settle(_ name: String) {
        guard let host = hosts[name] else { return }
        if host.waiting.isEmpty || host.running >= maxPerHost { ready.remove(name) } else { ready.insert(name) }
        if host.waiting.isEmpty, host.running == 0 { hosts[name] = nil }
    }
}
