import TestSupport
import Units

@testable import Transfer

/// A host or several, a link and a clock for a planner, in steps of 20 ms: which byte was fetched, how often, and by how many connections.
///
/// Offsets are multiples of 1 KiB.
struct SimulatedHost {
    struct Link {
        /// Bytes a second of all connections together, and of each.
        var capacity: Int64 = 1 << 40
        var perConnection: Int64
        var latency = Duration.milliseconds(200)
        /// A second's worth of bytes at once, then nothing for a second: as nginx limits a connection's rate.
        var isInBursts = false
        /// Every range lacks its last KiB.
        var cutsRanges = false
        /// The rates of single connections, where they differ: by the order of their starts.
        var slow: [Int: Int64] = [:]
        /// The hosts, where there are several: bytes a second of all connections to one together, and of each.
        var sites: [Site] = []
    }

    struct Site {
        var capacity: Int64 = 1 << 40
        var perConnection: Int64
    }

    private struct Request {
        var sent: Int64
        let end: Int64
        let begins: MonotonicTime
        let number: Int
        let source: Int
        /// Bytes that the link has for it, and that are less than 1 KiB.
        var credit: Int64 = 0
    }

    private static let step = Duration.milliseconds(20)

    let total: Int64
    let link: Link
    private(set) var planner: SegmentPlanner
    private(set) var now = MonotonicTime(nanoseconds: 0)
    private(set) var fetched: [UInt8]
    private(set) var mostAtOnce = 1
    /// Bytes that came a second time, and were passed over.
    private(set) var passedOver: Int64 = 0
    private(set) var started: [Range<Int64>] = []
    /// The source of each start, and the most connections to one.
    private(set) var sources: [Int] = []
    private(set) var mostToOne = 1
    /// The bytes that each source has sent.
    private(set) var sent: [Int: Int64] = [:]
    /// The sources that were put aside, in order.
    private(set) var aside: [Int] = []
    /// The missing bytes at each start that made more connections than ever before.
    private(set) var restAtGrowth: [Int64] = []
    private var requests: [SegmentPlanner.ID: Request] = [:]
    /// The limit of what further connections get; nil: none.
    var limit: (@Sendable (SimulatedHost) -> Int64)?

    init(_ total: Int64, _ link: Link, missing: [Range<Int64>]? = nil, rules: SegmentPlanner.Rules = .init()) {
        self.total = total
        self.link = link
        let missing = missing ?? [0..<total]
        fetched = Array(repeating: 1, count: Int(total >> 10))
        for range in missing {
            for index in range.lowerBound >> 10..<range.upperBound >> 10 { fetched[Int(index)] = 0 }
        }
        planner = SegmentPlanner(
            missing: missing, stream: missing[0], requestedEnd: missing[0].upperBound, latency: link.latency,
            rules: rules, sources: link.sites.isEmpty ? nil : link.sites.map { _ in rules.mostConnections }, at: now)
        requests[SegmentPlanner.stream] = Request(
            sent: missing[0].lowerBound, end: missing[0].upperBound, begins: now, number: 0, source: 0)
    }

    /// The number of bytes from the start that have been fetched.
    var prefix: Int64 { Int64(fetched.firstIndex(of: 0) ?? fetched.count) << 10 }

    var running: [SegmentPlanner.ID] { requests.keys.sorted() }

    func running(from source: Int) -> [SegmentPlanner.ID] {
        requests.filter { $0.value.source == source }.keys.sorted()
    }

    /// Runs one step.
    mutating func advance() {
        now = now + Self.step
        let open = requests.values.filter { $0.begins <= now }
        for id in running {
            guard let request = requests[id], request.begins <= now else { continue }
            let site = link.sites.isEmpty ? nil : link.sites[request.source]
            let own = link.slow[request.number] ?? site?.perConnection ?? link.perConnection
            let sameSite = Int64(open.count { $0.source == request.source })
            let ofSite = (site?.capacity ?? 1 << 40) / max(1, sameSite)
            let rate = min(own, ofSite, link.capacity / Int64(max(1, open.count)))
            // The steps since the connection began; bytes come in the first one of each second.
            let age = (now - request.begins).nanoseconds / Self.step.nanoseconds
            let share = link.isInBursts ? (age % 50 == 1 ? rate : 0) : rate / 50
            let credit = request.credit + share
            requests[id]?.credit = credit % 1024
            deliver(credit - credit % 1024, to: id)
        }
        perform(planner.actions(at: now, limit: limit?(self)))
    }

    private mutating func deliver(_ count: Int64, to id: SegmentPlanner.ID) {
        guard let request = requests[id] else { return }
        let isCut = link.cutsRanges && id != SegmentPlanner.stream
        let bytes = min(count, request.end - (isCut ? 1024 : 0) - request.sent)
        guard bytes > 0 else { return isCut ? end(id, .failed) : () }
        sent[request.source, default: 0] += bytes
        var left = bytes
        while left > 0 {
            guard let room = planner.room(for: id, wanting: left) else { return requests[id] = nil }
            for index in room.position >> 10..<(room.position + room.count) >> 10 { fetched[Int(index)] += 1 }
            planner.received(room, by: id, at: now)
            passedOver += room.skipped
            left -= room.skipped + room.count
            let (goesOn, stopped) = planner.goesOn(id)
            if let stopped { requests[stopped] = nil }
            if !goesOn { return end(id, .done) }
        }
        requests[id]?.sent += bytes
        if requests[id]?.sent == request.end { end(id, .done) }
    }

    /// Ends a connection's request.
    mutating func end(_ id: SegmentPlanner.ID, _ ending: SegmentPlanner.Ending) {
        requests[id] = nil
        perform(planner.ended(id, ending))
        perform(planner.actions(at: now, limit: limit?(self)))
    }

    private mutating func perform(_ actions: [SegmentPlanner.Action]) {
        for action in actions {
            switch action {
            case .stop(let id): requests[id] = nil
            case .putAside(let source, _): aside.append(source)
            case .start(let id, let range):
                let source = planner.connections[id]?.source ?? 0
                started.append(range)
                sources.append(source)
                requests[id] = Request(
                    sent: range.lowerBound, end: range.upperBound, begins: now + link.latency, number: started.count,
                    source: source)
                mostToOne = max(mostToOne, requests.values.count { $0.source == source })
                if requests.count > mostAtOnce {
                    mostAtOnce = requests.count
                    restAtGrowth.append(planner.rest)
                }
            }
        }
    }

    /// Runs until the body is whole, or nothing runs any more.
    ///
    /// - Returns: The seconds that it took.
    mutating func finish(most seconds: Double = 10_000) -> Double {
        while !planner.isComplete, !requests.isEmpty, now.seconds < seconds { advance() }
        return now.seconds
    }
}

extension MonotonicTime {
    var seconds: Double { Double(nanoseconds) / 1e9 }
}
