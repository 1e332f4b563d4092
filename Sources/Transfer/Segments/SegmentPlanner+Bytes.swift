// Received bytes, and the next hole of a connection at the end of its hole.

extension SegmentPlanner {
    /// The use of the next bytes of a connection.
    struct Room {
        /// The number of bytes to skip, because the sink has them.
        let skipped: Int64
        /// The offset of the bytes after the skipped ones, and the number of them for the sink.
        let position: Int64
        let count: Int64
    }

    /// The use of received bytes of a connection; `nil` if its hole was given to another connection.
    func room(for id: ID, wanting count: Int64) -> Room? {
        guard let connection = connections[id] else { return nil }
        let skipped = min(connection.skip, count)
        return Room(skipped: skipped, position: connection.position, count: min(count - skipped, connection.rest))
    }

    /// Records that a connection has used its room.
    mutating func received(_ room: Room, by id: ID, at now: MonotonicTime) {
        guard var connection = connections[id] else { return }
        connection.skip -= room.skipped
        connection.position += room.count
        connection.received += room.count
        connection.begunAt = connection.begunAt ?? now
        connection.lastByteAt = now
        connections[id] = connection
        if !sources[connection.source].hasBegun { sources[connection.source].hasBegun = true }
        meter.received(room.count)
    }

    /// Lets a connection that has received its hole, and requested more, continue with another hole if there is one close enough.
    ///
    /// - Returns: False if there is no such hole and the connection is at a cut. Also the connection whose hole was taken, if any.
    mutating func goesOn(_ id: ID) -> (Bool, stopped: ID?) {
        guard let connection = connections[id] else { return (false, nil) }
        if connection.rest > 0 || connection.end == connection.requestedEnd { return (true, nil) }
        let own = rate(of: connection)
        // This number of bytes is on the way already and would be lost with the request. A connection that must not be lost continues to the end.
        let isNeeded = !mayLose(id)
        let reach = isNeeded ? .max : connection.end + Int64(own * meter.startTime)
        let other = connections.filter { $0.key != id && $0.value.rest > 0 && $0.value.position >= connection.end }
            .min { $0.value.position < $1.value.position }
        if let hole = free.ranges.first(where: { $0.lowerBound >= connection.end }),
            hole.lowerBound < other?.value.position ?? .max
        {
            let end = min(hole.upperBound, connection.requestedEnd)
            guard hole.lowerBound <= reach, hole.lowerBound < end else { return (false, nil) }
            free.remove(contentsOf: hole.lowerBound..<end)
            move(id, to: hole.lowerBound..<end)
            return (true, nil)
        }
        guard let other, mayLose(other.key), other.value.position <= reach, other.value.end <= connection.requestedEnd
        else {
            return (false, nil)
        }
        let timeNeeded = Double(other.value.end - connection.end) / own
        guard isNeeded || other.value.received == 0 || Double(other.value.rest) / rate(of: other.value) > 2 * timeNeeded
        else {
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
}
