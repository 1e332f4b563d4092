/// Decides how the missing bytes of one body are divided among connections.
///
/// A value without I/O: connections report what they received, the planner answers with ``Action``s, and the caller performs them.
///
/// * The missing bytes are *holes*. Each hole belongs to one connection or to none, and no byte is in two holes: every byte is
///   fetched once, by one connection.
/// * A body begins with one connection. ``ConnectionTrial`` decides how many are worth their while: up to
///   ``Rules/mostConnections``, and none more after a host has refused one. No body is divided while less than ``Rules/leastRest`` is missing;
///   once a trial has begun, others follow down to half of that.
/// * A connection that is idle takes the first hole that is nobody's; else it takes from the end of the hole that would be finished
///   last: half of it, cut at a multiple of ``Rules/unit``, and no more than it receives within some seconds (``Rules/pieceTime``).
///   What would be finished later by it than without it is left where it is. The whole hole is taken from one that stands still, or is far
///   slower than the others.
/// * A connection that arrives at a cut goes on with the next hole that it has requested too, when that is nobody's, or belongs to one that would need
///   much longer. What the sink has before it is passed over, as long as that is no more than is on its way already.
/// * The hole of a connection that fails goes back. The first difference in a response leaves one connection.
/// * Where the sink wants the body more or less in order, further connections get what lies before its limit.
/// * Several hosts may have the body: each is a ``Source``. A further connection goes to the one that has the fewest for their rate.
struct SegmentPlanner {
    /// Numbers of connections in the order of their starts; the stream that the transfer began with is ``stream``.
    typealias ID = Int

    struct Rules {
        /// Connections at most to one source, the first one included, and to all of them.
        var mostConnections = 16
        var mostInAll = 64
        /// The missing bytes below which no first trial begins, and half of it no other.
        var leastRest: Int64 = 8 << 20
        /// The seconds in which the rest would come without others, below which no first trial begins: one takes about a second.
        var leastTime = 2.0
        /// The unit that cuts are multiples of, in bytes.
        var unit: Int64 = 256 << 10
        /// The time that a piece takes at most, at the usual rate of a connection.
        var pieceTime = 8.0
        /// The same for a connection that is only tried, which is not given much.
        var trialTime = 1.0
        var trialUnits: Int64 = 8
        /// The time without a byte after which a connection's hole is given to another one.
        var standstill = Duration.seconds(4)
    }

    enum Action: Equatable {
        /// Requests a range on a new connection.
        case start(ID, Range<Int64>)
        /// Ends a connection's request: its hole has been given away.
        case stop(ID)
        /// A source gets no further connection, for this reason.
        case putAside(Int, FurtherSources.AsideReason)
    }

    /// The way in which a connection's request ended.
    enum Ending: Equatable {
        /// It has no hole any more.
        case done
        case failed
        /// The host wants fewer connections: 429, 503.
        case refused
        /// The response is not of the same representation.
        case differs
    }

    struct Connection {
        /// The next byte.
        var position: Int64
        /// The end of its hole.
        var end: Int64
        /// Bytes before its position that it has yet to receive, and that the sink has.
        var skip: Int64 = 0
        /// The end of what it requested.
        let requestedEnd: Int64
        /// The index of the source that brings it.
        let source: Int
        /// The time of the first byte; of a connection that is used again, that of its first request.
        var begunAt: MonotonicTime?
        let startedAt: MonotonicTime
        var lastByteAt: MonotonicTime
        var received: Int64 = 0

        var rest: Int64 { end - position }

        init(
            _ hole: Range<Int64>, requestedEnd: Int64, source: Int = 0, begunAt: MonotonicTime?, at now: MonotonicTime
        ) {
            self.source = source
            position = hole.lowerBound
            end = hole.upperBound
            self.requestedEnd = requestedEnd
            self.begunAt = begunAt
            startedAt = now
            lastByteAt = now
        }
    }

    static let stream: ID = 0

    let rules: Rules
    /// The holes that are nobody's, in order.
    var free: [Range<Int64>] = []
    var connections: [ID: Connection] = [:]
    /// The hosts that have the body; the first one is the stream's.
    var sources: [Source]
    /// The sources that were put aside since the last actions.
    var newlyAside: [Action] = []
    var trial: ConnectionTrial
    private var nextID = Self.stream + 1
    var meter: RateMeter
    /// The number of connections that received bytes in the last window.
    var begun = 1
    /// True when a further connection has received all that it requested: ranges work.
    var hasRanges = false
    /// True when the last connection has failed: none is started any more.
    private var isGivenUp = false

    /// - Parameters:
    ///   - missing: The missing ranges of the body, in order.
    ///   - stream: The range that the stream receives from now on.
    ///   - requestedEnd: The end of what the stream requested.
    ///   - latency: The time from the stream's request to its response.
    ///   - sources: The most connections to each source; the first one is the stream's. Default: that one alone, by the rules.
    init(
        missing: [Range<Int64>], stream: Range<Int64>, requestedEnd: Int64, latency: Duration, rules: Rules = Rules(),
        sources: [Int]? = nil, at now: MonotonicTime
    ) {
        self.rules = rules
        self.sources = (sources ?? [rules.mostConnections]).enumerated().map {
            Source(most: min($1, rules.mostConnections), hasBegun: $0 == 0)
        }
        trial = ConnectionTrial(most: min(rules.mostInAll, self.sources.reduce(0) { $0 + $1.most }))
        meter = RateMeter(latency: latency, at: now)
        for range in missing {
            for (start, end) in [
                (range.lowerBound, min(range.upperBound, stream.lowerBound)),
                (max(range.lowerBound, stream.upperBound), range.upperBound),
            ] where start < end { free.append(start..<end) }
        }
        connections[Self.stream] = Connection(stream, requestedEnd: requestedEnd, begunAt: now, at: now)
    }

    /// The number of bytes that are missing.
    var rest: Int64 { connections.values.reduce(free.reduce(0) { $0 + Int64($1.count) }) { $0 + $1.rest } }

    var isComplete: Bool { free.isEmpty && connections.isEmpty }

    // MARK: Decisions

    /// The next things to do; to be called after each event, and often while bytes arrive.
    ///
    /// - Parameter limit: The offset before which further connections begin and end; `nil`: none.
    mutating func actions(at now: MonotonicTime, limit: Int64? = nil) -> [Action] {
        var actions: [Action] = []
        let start = meter.windowStart
        if let rate = meter.windowEnded(at: now) {
            let whole = connections.values.count { $0.begunAt.map { $0 <= start } ?? false }
            begun = max(1, connections.values.count { $0.begunAt != nil })
            let (isTrying, settled) = (trial.isTrying, trial.settled)
            let rest = rest
            let isWorthATrial = rest >= rules.leastRest && Double(rest) >= meter.usualRate(of: 1) * rules.leastTime
            trial.measured(
                rate, in: now - start, usual: meter.window, begun: whole, mayBegin: isWorthATrial,
                mayGoOn: rest >= rules.leastRest / 2, at: now)
            if isTrying, !trial.isTrying {
                if trial.settled > settled { limitToBegun(whole, since: start) }
                actions += stopTried()
            }
        }
        let limit = limit ?? .max
        while connections.count < trial.wanted, !isGivenUp, let source = sourceForNext() {
            guard let (hole, stopped) = take(below: limit, for: source, at: now) else { break }
            if let stopped { actions.append(.stop(stopped)) }
            guard sources[source].isOpen else {
                release(hole)
                continue
            }
            connections[nextID] = Connection(
                hole, requestedEnd: hole.upperBound, source: source, begunAt: sources[source].idle.popLast(), at: now)
            actions.append(.start(nextID, hole))
            nextID += 1
        }
        defer { newlyAside = [] }
        return actions + newlyAside
    }

    /// After a trial: of those that are too many, the ones that have not begun wait for a place that does not come, and slow ones would stand
    /// in the way of others. The rest end by themselves, which costs nothing.
    private mutating func stopTried() -> [Action] {
        var actions: [Action] = []
        for (id, connection) in connections.sorted(by: { $0.key > $1.key })
        where connections.count > trial.wanted && id != Self.stream
            && (connection.begunAt == nil || Double(connection.rest) > rate(of: connection) * rules.trialTime)
        {
            giveBack(id)
            if connection.begunAt == nil { noteDelay(of: connection.source) }
            actions.append(.stop(id))
        }
        return actions
    }

    /// A connection's request has ended.
    mutating func ended(_ id: ID, _ ending: Ending) -> [Action] {
        guard let connection = connections[id] else { return [] }
        giveBack(id)
        let source = connection.source
        isGivenUp = connections.isEmpty && ending != .done && !hasOpenSource(besides: source)
        switch ending {
        case .done:
            connection.begunAt.map { sources[source].idle.append($0) }
            sources[source].troubles = 0
            hasRanges = hasRanges || id != Self.stream && connection.position == connection.requestedEnd
            return []
        case .failed:
            if !noteFailure(of: source, afterBytes: connection.received > 0) {
                trial.lostConnection(leaving: connections.count, at: meter.now)
            }
            return []
        case .refused:
            limit(source)
            return []
        case .differs: return sources.count == 1 ? keepOne() : drop(source)
        }
    }

    /// Leaves the longest-running connection alone, for good.
    mutating func keepOne() -> [Action] {
        trial.limit(to: 1)
        let others = connections.keys.sorted().dropFirst()
        for id in others { giveBack(id) }
        return others.map { .stop($0) }
    }

    /// Stops all connections but the stream.
    func stopOthers() -> [Action] { connections.keys.filter { $0 != Self.stream }.sorted().map { .stop($0) } }

    mutating func giveBack(_ id: ID) {
        guard let connection = connections.removeValue(forKey: id), connection.rest > 0 else { return }
        release(connection.position..<connection.end)
    }

    mutating func release(_ hole: Range<Int64>) {
        let index = free.firstIndex { $0.lowerBound > hole.lowerBound } ?? free.count
        free.insert(hole, at: index)
        if index + 1 < free.count, free[index].upperBound == free[index + 1].lowerBound {
            free[index] = free[index].lowerBound..<free.remove(at: index + 1).upperBound
        }
        if index > 0, free[index - 1].upperBound == free[index].lowerBound {
            free[index - 1] = free[index - 1].lowerBound..<free.remove(at: index).upperBound
        }
    }
}
