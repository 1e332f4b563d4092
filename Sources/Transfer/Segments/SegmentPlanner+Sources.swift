// The hosts that connections are given to, and those that are given none any more.

extension SegmentPlanner {
    /// A host that has the body.
    struct Source {
        /// The most connections to it.
        var most: Int
        /// True when it has sent bytes. Until then it gets one connection, which asks for its validator.
        var hasBegun: Bool
        /// True if it may get another connection.
        var isOpen: Bool
        /// Its connections since the last good one that failed after some bytes, or were too late.
        var troubles = 0
        /// When those of its connections had begun that have received their holes, and are idle.
        var idle: [MonotonicTime] = []

        init(most: Int, hasBegun: Bool) {
            self.most = most
            self.hasBegun = hasBegun
            isOpen = most > 0
        }
    }

    /// The troubles after which a source is put aside.
    private static let mostTroubles = 3

    func connections(to source: Int) -> Int { connections.values.count { $0.source == source } }

    func hasOpenSource(besides source: Int) -> Bool {
        sources.indices.contains { $0 != source && sources[$0].isOpen }
    }

    /// The most connections that there may ever be from now on.
    private var places: Int {
        min(
            rules.mostInAll,
            sources.indices.reduce(0) { $0 + (sources[$1].isOpen ? sources[$1].most : connections(to: $1)) })
    }

    /// The most connections that the stream's source gets in a next round.
    var mostToStream: Int {
        if sources.count == 1 { return trial.most }
        return sources[0].isOpen ? max(1, sources[0].most) : 1
    }

    /// The source that has the fewest connections for their rate, of equal ones the first; `nil`: each has its most.
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

    /// The bytes a second that another connection to a source will probably have: the mean of those that it has, else of all.
    func expectedRate(of source: Int) -> Double {
        guard sources.count > 1 else { return meter.usualRate(of: begun) }
        let own = connections.values.filter { $0.source == source && $0.received > 0 }
        guard !own.isEmpty else { return meter.usualRate(of: begun) }
        return own.reduce(0) { $0 + rate(of: $1) } / Double(own.count)
    }

    // MARK: Limits

    /// A source has refused a connection: it keeps those that it has.
    mutating func limit(_ source: Int) {
        sources[source].most = connections(to: source)
        if sources[source].most == 0, sources.count > 1 { return putAside(source, .failed) }
        trial.limit(to: places)
    }

    /// After a trial that succeeded without some of its connections: their sources do not let them begin.
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

    /// A source's connection has failed.
    ///
    /// - Returns: True if this is the source's own trouble, and no reason to have fewer connections to others.
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

    /// A connection of a source was too late with its first byte, or with its hole.
    mutating func noteDelay(of source: Int) {
        guard hasOpenSource(besides: source), sources[source].isOpen else { return }
        sources[source].troubles += 1
        if sources[source].troubles >= Self.mostTroubles - 1 { putAside(source, .late) }
    }

    /// A source has another representation: its connections end, but for the stream, and it gets none any more.
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
