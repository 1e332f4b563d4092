/// Divides the missing bytes of a body among connections.
///
/// A value without I/O. Connections report the bytes that they received, the planner returns ``Action``s, and the caller performs them.
///
/// * The missing bytes are *holes*. Each hole belongs to one connection or is free, and holes do not overlap: each byte is fetched once, by one
///   connection.
/// * A body begins with one connection. ``ConnectionTrial`` decides how many are useful, up to ``Rules/mostConnections``. A host that has refused a
///   connection gets no more than it has. No body is divided while less than ``Rules/leastRest`` is missing. After a first trial, others follow
///   down to half of that.
/// * An idle connection takes the first free hole. Otherwise it takes the end of the hole that would be finished last: half of it, cut at a
///   multiple of ``Rules/unit``, and no more than it receives within ``Rules/pieceTime``. It takes no bytes that would arrive later by it than
///   without it. It takes the whole hole of a connection that has stopped or is far slower than the others.
/// * A connection at a cut continues with the next hole within its request, if that hole is free or belongs to a much slower connection. It skips
///   bytes that the sink already has, if no more are skipped than are on the way already.
/// * The hole of a failed connection becomes free. After a response with another representation, only one connection remains; of several hosts, the
///   one that sent it is put aside.
/// * If the sink has a limit, additional connections get holes before the limit.
/// * Several hosts may have the body; each is a ``Source``. An additional connection goes to the host with the fewest connections for its rate.
struct SegmentPlanner {
    /// The number of a connection, in the order of their starts. ``stream`` is the connection that the transfer began with.
    typealias ID = Int

    struct Rules {
        /// The largest number of connections to one source, including the first connection, and to all sources.
        var mostConnections = 16
        var mostInAll = 64
        /// The number of missing bytes below which no first trial begins. The limit for later trials is half of it.
        var leastRest: Int64 = 8 << 20
        /// The expected remaining time, in seconds, below which no first trial begins. A trial takes about a second.
        var leastTime = 2.0
        /// The unit of cuts, in bytes.
        var unit: Int64 = 256 << 10
        /// The longest time for a piece, in seconds, at the usual rate of a connection.
        var pieceTime = 8.0
        /// The longest time in seconds, and the largest number of units, for a piece of a connection on trial.
        var trialTime = 1.0
        var trialUnits: Int64 = 8
        /// The time without a byte after which a connection's hole is given to another one.
        var standstill = Duration.seconds(4)
    }

    enum Action: Equatable {
        /// Requests a range on a new connection.
        case start(ID, Range<Int64>)
        /// Ends the request of a connection whose hole was given away.
        case stop(ID)
        /// Puts a source aside for this reason: it gets no further connection.
        case putAside(Int, FurtherSources.AsideReason)
    }

    /// The way in which a connection's request ended.
    enum Ending: Equatable {
        /// The connection has no hole any more.
        case done
        case failed
        /// The host refused the connection: 429 or 503.
        case refused
        /// The response belongs to another representation.
        case differs
    }

    struct Connection {
        /// The offset of the next byte.
        var position: Int64
        /// The end of the connection's hole.
        var end: Int64
        /// The number of bytes before `position` that the connection has still to skip, because the sink has them.
        var skip: Int64 = 0
        /// The end of the requested range.
        let requestedEnd: Int64
        /// The index of the connection's source.
        let source: Int
        /// The time of the first byte. For a reused connection, this is the time of its first request.
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
    /// The free holes.
    var free: RangeSet<Int64>
    var connections: [ID: Connection] = [:]
    /// The hosts that have the body. The first one is the stream's.
    var sources: [Source]
    /// The sources that were put aside since the last actions.
    var newlyAside: [Action] = []
    var trial: ConnectionTrial
    private var nextID = Self.stream + 1
    var meter: RateMeter
    /// The number of connections that received bytes in the last window.
    var begun = 1
    /// True if an additional connection has received its whole range, which proves that ranges work.
    var hasRanges = false
    /// True if the last connection failed. Then no connection is started any more.
    private var isGivenUp = false

    /// - Parameters:
    ///   - missing: The missing ranges of the body, in order.
    ///   - stream: The range that the stream is receiving.
    ///   - requestedEnd: The end of the stream's requested range.
    ///   - latency: The time from the stream's request to its response.
    ///   - sources: The largest number of connections to each source; the first one is the stream's. Default: only that source, by the rules.
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
        free = RangeSet(missing).subtracting(RangeSet(stream))
        connections[Self.stream] = Connection(stream, requestedEnd: requestedEnd, begunAt: now, at: now)
    }

    /// The number of bytes that are missing.
    var rest: Int64 { connections.values.reduce(free.ranges.reduce(0) { $0 + Int64($1.count) }) { $0 + $1.rest } }

    /// The end of each connection's hole.
    var ends: [(id: ID, offset: Int64)] { connections.map { ($0, $1.end) } }

    var isComplete: Bool { free.isEmpty && connections.isEmpty }

    // MARK: Decisions

    /// Returns the next actions. Called after each event, and frequently while bytes arrive.
    ///
    /// - Parameter limit: The offset before which additional connections begin and end; `nil` for no limit.
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
                free.insert(contentsOf: hole)
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

    /// Stops excess connections after a trial: those that have not received bytes, and slow ones, which would delay others. The rest end by
    /// themselves at no cost.
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

    /// Handles the end of a connection's request.
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

    /// Stops all connections except the longest-running one, and allows no others.
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
        free.insert(contentsOf: connection.position..<connection.end)
    }
}
