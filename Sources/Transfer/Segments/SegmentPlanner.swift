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
/// * While readers follow the body, only what lies within ``Rules/readAhead`` of what they can have is given out.
struct SegmentPlanner {
    /// Numbers of connections in the order of their starts; the stream that the transfer began with is ``stream``.
    typealias ID = Int

    struct Rules {
        /// Connections at most, the first one included.
        var mostConnections = 16
        /// The missing bytes below which no first trial begins, and half of it no other.
        var leastRest: Int64 = 8 << 20
        /// The unit that cuts are multiples of, in bytes.
        var unit: Int64 = 256 << 10
        /// The longest distance from what readers can have.
        var readAhead: Int64 = 16 << 20
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
        /// The time of the first byte; of a connection that is used again, that of its first request.
        var begunAt: MonotonicTime?
        let startedAt: MonotonicTime
        var lastByteAt: MonotonicTime
        var received: Int64 = 0

        var rest: Int64 { end - position }

        init(_ hole: Range<Int64>, requestedEnd: Int64, begunAt: MonotonicTime?, at now: MonotonicTime) {
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
    private(set) var connections: [ID: Connection] = [:]
    private(set) var trial: ConnectionTrial
    private var nextID = Self.stream + 1
    private var meter: RateMeter
    /// The number of connections that received bytes in the last window.
    private var begun = 1
    /// When those connections had begun that have received their holes, and are idle.
    private var idle: [MonotonicTime] = []
    /// True when a further connection has received all that it requested: ranges work.
    private var hasRanges = false
    /// True when the last connection has failed: none is started any more.
    private var isGivenUp = false

    /// - Parameters:
    ///   - missing: The missing ranges of the body, in order.
    ///   - stream: The range that the stream receives from now on.
    ///   - requestedEnd: The end of what the stream requested.
    ///   - latency: The time from the stream's request to its response.
    init(
        missing: [Range<Int64>], stream: Range<Int64>, requestedEnd: Int64, latency: Duration, rules: Rules = Rules(),
        at now: MonotonicTime
    ) {
        self.rules = rules
        trial = ConnectionTrial(most: rules.mostConnections)
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

    // MARK: Bytes

    /// The use of a connection's next bytes.
    struct Room {
        /// Bytes that it passes over, because the sink has them.
        let skipped: Int64
        /// The offset of the bytes behind those, and how many of them it gives to the sink.
        let position: Int64
        let count: Int64
    }

    /// The use of so many bytes that a connection has received; `nil`: its hole was given to another one.
    func room(for id: ID, wanting count: Int64) -> Room? {
        guard let connection = connections[id] else { return nil }
        let skipped = min(connection.skip, count)
        return Room(skipped: skipped, position: connection.position, count: min(count - skipped, connection.rest))
    }

    /// A connection has used its room.
    mutating func received(_ room: Room, by id: ID, at now: MonotonicTime) {
        guard var connection = connections[id] else { return }
        connection.skip -= room.skipped
        connection.position += room.count
        connection.received += room.count
        connection.begunAt = connection.begunAt ?? now
        connection.lastByteAt = now
        connections[id] = connection
        meter.received(room.count)
    }

    /// Lets a connection that has received its hole, and requested more than that, go on with another one, if there is one near.
    ///
    /// - Returns: False when there is none: the connection has arrived at a cut. And a connection whose hole it has taken.
    mutating func goesOn(_ id: ID) -> (Bool, stopped: ID?) {
        guard let connection = connections[id] else { return (false, nil) }
        if connection.rest > 0 || connection.end == connection.requestedEnd { return (true, nil) }
        let own = rate(of: connection)
        // So much is on its way already: it would be lost with the request. The stream goes through to the end as long as no range has come whole.
        let reach = id == Self.stream && !hasRanges ? .max : connection.end + Int64(own * meter.startTime)
        let other = connections.filter { $0.key != id && $0.value.rest > 0 && $0.value.position >= connection.end }
            .min { $0.value.position < $1.value.position }
        if let index = free.firstIndex(where: { $0.lowerBound >= connection.end }),
            free[index].lowerBound < other?.value.position ?? .max
        {
            let hole = free[index]
            let end = min(hole.upperBound, connection.requestedEnd)
            guard hole.lowerBound <= reach, hole.lowerBound < end else { return (false, nil) }
            if end == hole.upperBound { free.remove(at: index) } else { free[index] = end..<hole.upperBound }
            move(id, to: hole.lowerBound..<end)
            return (true, nil)
        }
        guard let other, other.value.position <= reach, other.value.end <= connection.requestedEnd else {
            return (false, nil)
        }
        let timeNeeded = Double(other.value.end - connection.end) / own
        guard other.value.received == 0 || Double(other.value.rest) / rate(of: other.value) > 2 * timeNeeded else {
            return (false, nil)
        }
        connections[other.key] = nil
        move(id, to: other.value.position..<other.value.end)
        return (true, other.key)
    }

    private mutating func move(_ id: ID, to hole: Range<Int64>) {
        guard var connection = connections[id] else { return }
        connection.skip = hole.lowerBound - connection.end
        connection.position = hole.lowerBound
        connection.end = hole.upperBound
        connections[id] = connection
    }

    // MARK: Decisions

    /// The next things to do; to be called after each event, and often while bytes arrive.
    ///
    /// - Parameter followedEnd: The end of what readers of the growing body can have; `nil`: nobody reads it.
    mutating func actions(at now: MonotonicTime, followedEnd: Int64? = nil) -> [Action] {
        var actions: [Action] = []
        if let rate = meter.windowEnded(at: now) {
            let start = now + (.zero - meter.window)
            let whole = connections.values.count { $0.begunAt.map { $0 <= start } ?? false }
            begun = max(1, connections.values.count { $0.begunAt != nil })
            let isTrying = trial.isTrying
            let rest = rest
            trial.measured(
                rate, begun: whole, mayBegin: rest >= rules.leastRest, mayGoOn: rest >= rules.leastRest / 2, at: now)
            if isTrying, !trial.isTrying { actions += stopTried() }
        }
        let limit = followedEnd.map { $0 + rules.readAhead } ?? .max
        while connections.count < trial.wanted, !isGivenUp {
            guard let (hole, stopped) = take(below: limit, at: now) else { break }
            if let stopped { actions.append(.stop(stopped)) }
            connections[nextID] = Connection(hole, requestedEnd: hole.upperBound, begunAt: idle.popLast(), at: now)
            actions.append(.start(nextID, hole))
            nextID += 1
        }
        return actions
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
            actions.append(.stop(id))
        }
        return actions
    }

    /// A connection's request has ended.
    mutating func ended(_ id: ID, _ ending: Ending) -> [Action] {
        guard let connection = connections[id] else { return [] }
        giveBack(id)
        isGivenUp = connections.isEmpty && ending != .done
        switch ending {
        case .done:
            connection.begunAt.map { idle.append($0) }
            hasRanges = hasRanges || id != Self.stream && connection.position == connection.requestedEnd
            return []
        case .failed:
            trial.lostConnection(leaving: connections.count, at: meter.now)
            return []
        case .refused:
            trial.limit(to: connections.count)
            return []
        case .differs: return keepOne()
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

    private mutating func giveBack(_ id: ID) {
        guard let connection = connections.removeValue(forKey: id), connection.rest > 0 else { return }
        release(connection.position..<connection.end)
    }

    private mutating func release(_ hole: Range<Int64>) {
        let index = free.firstIndex { $0.lowerBound > hole.lowerBound } ?? free.count
        free.insert(hole, at: index)
        if index + 1 < free.count, free[index].upperBound == free[index + 1].lowerBound {
            free[index] = free[index].lowerBound..<free.remove(at: index + 1).upperBound
        }
        if index > 0, free[index - 1].upperBound == free[index].lowerBound {
            free[index - 1] = free[index - 1].lowerBound..<free.remove(at: index).upperBound
        }
    }

    // MARK: Holes

    /// A hole for a new connection, and the connection that had it and is too late with it, if there is one.
    private mutating func take(below limit: Int64, at now: MonotonicTime) -> (Range<Int64>, stopped: ID?)? {
        if let first = free.first, first.lowerBound < limit {
            let wanted = min(limit, first.lowerBound + longestPiece)
            var end = first.upperBound
            if wanted < end { end = cut(before: wanted, after: first.lowerBound) ?? min(end, alignedUp(wanted)) }
            let hole = first.lowerBound..<end
            if hole.upperBound == first.upperBound {
                free.removeFirst()
            } else {
                free[0] = hole.upperBound..<first.upperBound
            }
            return (hole, nil)
        }
        let late = connections.filter { standsStill($0.value, at: now) || isFarBehind($0.value, at: now) }
        if let (id, connection) = late.min(by: { $0.key < $1.key }) {
            connections[id] = nil
            return (connection.position..<connection.end, id)
        }
        return steal(below: limit).map { ($0, nil) }
    }

    private func standsStill(_ connection: Connection, at now: MonotonicTime) -> Bool {
        connection.rest > 0 && now - connection.lastByteAt > rules.standstill
    }

    /// True for a connection so slow that another one would bring all of its hole much sooner.
    private func isFarBehind(_ connection: Connection, at now: MonotonicTime) -> Bool {
        guard connection.rest > 0, now - connection.startedAt > rules.standstill / 2 else { return false }
        let timeNeeded = meter.startTime + Double(connection.rest) / meter.usualRate(of: begun)
        return Double(connection.rest) / rate(of: connection) > 4 * timeNeeded
    }

    /// Cuts a piece from the hole that would be finished last.
    private mutating func steal(below limit: Int64) -> Range<Int64>? {
        var best: (id: ID, timeLeft: Double, piece: Range<Int64>)?
        for (id, connection) in connections {
            let end = min(connection.end, alignedUp(limit))
            guard end - connection.position > rules.unit else { continue }
            let middle = connection.position + (end - connection.position) / 2
            let wanted = max(middle, end - longestPiece)
            guard let cut = cut(after: wanted, before: end) ?? cut(before: wanted, after: connection.position) else {
                continue
            }
            let timeLeft = Double(connection.rest) / rate(of: connection)
            let timeNeeded = meter.startTime + Double(end - cut) / meter.usualRate(of: begun)
            guard timeNeeded < timeLeft else { continue }
            if best.map({ (timeLeft, id) > ($0.timeLeft, $0.id) }) ?? true { best = (id, timeLeft, cut..<end) }
        }
        guard let best, let victim = connections[best.id] else { return nil }
        connections[best.id]?.end = best.piece.lowerBound
        if best.piece.upperBound < victim.end { release(best.piece.upperBound..<victim.end) }
        return best.piece
    }

    /// Bytes a second; of one that has just begun, the usual rate.
    private func rate(of connection: Connection) -> Double {
        let usual = meter.usualRate(of: begun)
        let seconds = (meter.now - connection.startedAt).seconds - meter.startTime
        guard seconds > meter.window.seconds else { return usual }
        return max(1, Double(connection.received) / seconds)
    }

    private var longestPiece: Int64 {
        let rate = meter.usualRate(of: begun)
        let bytes = Int64(min(rate * (trial.isTrying ? rules.trialTime : rules.pieceTime), 1e15))
        return max(rules.unit, trial.isTrying ? min(bytes, rules.trialUnits * rules.unit) : bytes)
    }

    private func alignedUp(_ offset: Int64) -> Int64 {
        guard offset < .max - rules.unit else { return .max }
        return (offset + rules.unit - 1) / rules.unit * rules.unit
    }

    /// The first place for a cut at or behind an offset, and before another one.
    private func cut(after offset: Int64, before end: Int64) -> Int64? {
        let cut = alignedUp(offset)
        return cut < end ? cut : nil
    }

    /// The last place for a cut at or before an offset, and behind another one.
    private func cut(before offset: Int64, after start: Int64) -> Int64? {
        let cut = offset / rules.unit * rules.unit
        return cut > start ? cut : nil
    }
}
