import Units

// The choice of a hole for a connection: a free one, the hole of a late connection, or a part of the hole that would be finished last.

extension SegmentPlanner {
    /// Returns a hole for a new connection, and the late connection that had it, if any.
    mutating func take(
        below limit: Int64, for source: Int, at now: MonotonicTime
    ) -> (Range<Int64>, stopped: ID?)? {
        if let first = free.ranges.first, first.lowerBound < limit {
            let wanted = min(limit, first.lowerBound + longestPiece(for: source))
            var end = first.upperBound
            if wanted < end { end = cut(before: wanted, after: first.lowerBound) ?? min(end, alignedUp(wanted)) }
            let hole = first.lowerBound..<end
            free.remove(contentsOf: hole)
            return (hole, nil)
        }
        let late = connections.filter {
            mayLose($0.key) && (standsStill($0.value, at: now) || isFarBehind($0.value, at: now))
        }
        if let (id, connection) = late.min(by: { $0.key < $1.key }) {
            connections[id] = nil
            noteDelay(of: connection.source)
            return (connection.position..<connection.end, id)
        }
        return steal(below: limit, for: source).map { ($0, nil) }
    }

    /// Returns false for the stream as long as no range has been received completely: only the stream may be able to fetch the body.
    func mayLose(_ id: ID) -> Bool { id != Self.stream || hasRanges }

    private func standsStill(_ connection: Connection, at now: MonotonicTime) -> Bool {
        connection.rest > 0 && now - connection.lastByteAt > rules.standstill
    }

    /// Returns true for a connection so slow that another one would receive its whole hole much sooner.
    private func isFarBehind(_ connection: Connection, at now: MonotonicTime) -> Bool {
        guard connection.rest > 0, now - connection.startedAt > rules.standstill / 2 else { return false }
        let timeNeeded = meter.startTime + Double(connection.rest) / meter.usualRate(of: begun)
        return Double(connection.rest) / rate(of: connection) > 4 * timeNeeded
    }

    /// Cuts a piece from the hole that would be finished last.
    private mutating func steal(below limit: Int64, for source: Int) -> Range<Int64>? {
        var best: (id: ID, timeLeft: Double, piece: Range<Int64>)?
        let (longestPiece, ownRate) = (longestPiece(for: source), expectedRate(of: source))
        for (id, connection) in connections {
            let end = min(connection.end, alignedUp(limit))
            guard end - connection.position > rules.unit else { continue }
            let middle = connection.position + (end - connection.position) / 2
            let wanted = max(middle, end - longestPiece)
            guard let cut = cut(after: wanted, before: end) ?? cut(before: wanted, after: connection.position) else {
                continue
            }
            let timeLeft = Double(connection.rest) / rate(of: connection)
            let timeNeeded = meter.startTime + Double(end - cut) / ownRate
            guard timeNeeded < timeLeft else { continue }
            if best.map({ (timeLeft, id) > ($0.timeLeft, $0.id) }) ?? true { best = (id, timeLeft, cut..<end) }
        }
        guard let best, let victim = connections[best.id] else { return nil }
        connections[best.id]?.end = best.piece.lowerBound
        if best.piece.upperBound < victim.end { free.insert(contentsOf: best.piece.upperBound..<victim.end) }
        return best.piece
    }

    /// The rate of a connection in bytes a second. For one that has just begun, this is the usual rate.
    func rate(of connection: Connection) -> Double {
        let usual = meter.usualRate(of: begun)
        let seconds = (meter.now - connection.startedAt).inSeconds - meter.startTime
        guard seconds > meter.window.inSeconds else { return usual }
        return max(1, Double(connection.received) / seconds)
    }

    private func longestPiece(for source: Int) -> Int64 {
        let rate = expectedRate(of: source)
        let bytes = Int64(min(rate * (trial.isTrying ? rules.trialTime : rules.pieceTime), 1e15))
        return max(rules.unit, trial.isTrying ? min(bytes, rules.trialUnits * rules.unit) : bytes)
    }

    private func alignedUp(_ offset: Int64) -> Int64 {
        guard offset < .max - rules.unit else { return .max }
        return (offset + rules.unit - 1) / rules.unit * rules.unit
    }

    /// The first possible cut at or after `offset` and before `end`.
    private func cut(after offset: Int64, before end: Int64) -> Int64? {
        let cut = alignedUp(offset)
        return cut < end ? cut : nil
    }

    /// The last possible cut at or before `offset` and after `start`.
    private func cut(before offset: Int64, after start: Int64) -> Int64? {
        let cut = offset / rules.unit * rules.unit
        return cut > start ? cut : nil
    }
}
