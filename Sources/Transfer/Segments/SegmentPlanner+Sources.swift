// The hosts that get connections, and the hosts that were put aside.

extension SegmentPlanner {
    /// A host that has the body.
    struct Source {
        /// The largest number of connections to the host.
        var most: Int
        /// True if the host has sent bytes. Before that it gets one connection, which requests its validator.
        var hasBegun: Bool
        /// True if the host may get another connection.
        var isOpen: Bool
        /// The number of its connections that failed after some bytes or were late, since the last successful one.
        var troubles = 0
        /// The start times of its idle connections, which have received their holes.
        var idle: [MonotonicTime] = []

        init(most: Int, hasBegun: Bool) {
            self.most = most
            self.hasBegun = hasBegun
            isOpen = most > 0
        }
    }

    /// The number of troubles after which a source is put aside.
    private static let mostTroubles = 3

    func connections(to source: Int) -> Int { connections.values.count { $0.source == source } }

    func hasOpenSource(besides source: Int) -> Bool {
        sources.indices.contains { $0 != source && sources[$0].isOpen }
    }

    /// The largest possible number of connections from now on.
    private var places: Int {
        min(
            rules.mostInAll,
            sources.indices.reduce(0) { $0 + (sources[$1].isOpen ? sources[$1].most : connections(to: $1)) })
    }

    /// The largest number of connections to the stream's source in the next round.
    var mostToStream: Int {
        if sources.count == 1 { return trial.most }
        return sources[0].isOpen ? max(1, sources[0].most) : 1
    }

    /// The source with the fewest connections for its rate, the first one of equal sources; `nil` if each has its largest number.
    func sourceForNext() -> Int? {
        if sources.count == 1 { return sources[0].isOpen ? 0 : nil }
        var best: (source: Int, load: Double)?
        for (index, source) in sources.enumerated() {
            let count = connections(to: index)
            guard source.isOpen, count < (source.hasBegun ? source.most : min(1, source.most)) else { continue }
            let load = Double(count) / expectedRate(of: index)
            if best.map({ load < $0.load }) ?? true { best = (index, load) }
        }
        return best?.source
    }

    /// The expected rate of another connection to a source, in bytes a second: the mean of its connections, otherwise of all connections.
    func expectedRate(of source: Int) -> Double {
        guard sources.count > 1 else { return meter.usualRate(of: begun) }
        let own = connections.values.filter { $0.source == source && $0.received > 0 }
        guard !own.isEmpty else { return meter.usualRate(of: begun) }
        return own.reduce(0) { $0 + rate(of: $1) } / Double(own.count)
    }

    // MARK: Limits

    /// Limits a source that refused a connection to its present connections.
    mutating func limit(_ source: Int) {
        sources[source].most = connections(to: source)
        if sources[source].most == 0, sources.count > 1 { return putAside(source, .failed) }
        trial.limit(to: places)
    }

    /// Limits the sources of connections that did not receive bytes in a successful trial.
    mutating func limitToBegun(_ count: Int, since start: MonotonicTime) {
        guard sources.count > 1, count < connections.count else { return }
        for index in sources.indices where sources[index].isOpen {
            let own = connections.values.filter { $0.source == index }
            let begun = own.count { $0.begunAt.map { $0 <= start } ?? false }
            if begun < own.count, begun > 0 { sources[index].most = begun }
        }
        trial.allow(places)
    }

    // MARK: Troubles

    /// Records the failure of a source's connection.
    ///
    /// - Returns: True if the failure concerns only this source, so that other sources keep their connections.
    mutating func noteFailure(of source: Int, afterBytes hasReceived: Bool) -> Bool {
        guard hasOpenSource(besides: source) else { return false }
        guard sources[source].isOpen else { return true }
        sources[source].troubles += 1
        let count = connections(to: source)
        if !hasReceived, count > 0 {
            sources[source].most = count
            trial.allow(places)
        } else if !hasReceived || sources[source].troubles >= Self.mostTroubles {
            putAside(source, .failed)
        }
        return true
    }

    /// Records that a connection of a source was late with its first byte or with its hole.
    mutating func noteDelay(of source: Int) {
        guard hasOpenSource(besides: source), sources[source].isOpen else { return }
        sources[source].troubles += 1
        if sources[source].troubles >= Self.mostTroubles - 1 { putAside(source, .late) }
    }

    /// Ends the connections of a source with another representation, except for the stream, and puts the source aside.
    mutating func drop(_ source: Int) -> [Action] {
        let others = connections.filter { $0.value.source == source && $0.key != Self.stream }.keys.sorted()
        for id in others { giveBack(id) }
        putAside(source, .differs)
        return others.map { .stop($0) }
    }

    private mutating func putAside(_ source: Int, _ reason: FurtherSources.AsideReason) {
        guard sources[source].isOpen else { return }
        sources[source].isOpen = false
        trial.excuse(leaving: connections.count)
        trial.allow(places)
        newlyAside.append(.putAside(source, reason))
    }
}
