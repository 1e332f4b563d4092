/// The order and bounds of changes that wait to be made in a remote store: a value, without I/O.
///
/// At most one change of a key waits, the last one, and at most one runs: changes of one key are made in order. When there are too many
/// changes, or bytes of them, the oldest are dropped.
package struct RemoteQueue<Work: Sendable>: Sendable {
    package struct Change: Sendable {
        package let key: String
        /// Bytes to upload.
        package let size: Int64
        package let work: Work
        /// True if others wait for it: it is made before those that are not urgent, and dropped after them.
        package let isUrgent: Bool

        package init(key: String, size: Int64, work: Work, isUrgent: Bool = false) {
            self.key = key
            self.size = size
            self.work = work
            self.isUrgent = isUrgent
        }
    }

    private let maxCount: Int
    private let maxBytes: Int64
    private let width: Int
    private var waiting: [Change] = []
    private var running: Set<String> = []
    /// Bytes of the waiting changes.
    private var bytes: Int64 = 0
    /// The number of changes that were dropped.
    package private(set) var dropped = 0

    /// - Parameters:
    ///   - maxCount: The number of changes that may wait.
    ///   - maxBytes: The bytes of changes that may wait.
    ///   - width: The number of changes at once.
    package init(maxCount: Int, maxBytes: Int64, width: Int) {
        self.maxCount = max(1, maxCount)
        self.maxBytes = maxBytes
        self.width = max(1, width)
    }

    package var isIdle: Bool { waiting.isEmpty && running.isEmpty }
    package var waitingCount: Int { waiting.count }
    package var waitingBytes: Int64 { bytes }

    /// - Returns: The changes that will not be made: those that were dropped, and the one that this one replaces.
    package mutating func add(_ change: Change) -> [Change] {
        var dropped = remove { $0.key == change.key }
        guard change.size <= maxBytes else {
            self.dropped += 1
            return dropped + [change]
        }
        let end = change.isUrgent ? waiting.firstIndex { !$0.isUrgent } : nil
        waiting.insert(change, at: end ?? waiting.count)
        bytes += change.size
        while waiting.count > maxCount || bytes > maxBytes {
            let oldest = waiting.remove(at: waiting.firstIndex { !$0.isUrgent } ?? 0)
            bytes -= oldest.size
            dropped.append(oldest)
            self.dropped += 1
        }
        return dropped
    }

    /// The next change to make; nil: none can be begun now. Its end is told by ``finished(_:)``.
    package mutating func next() -> Change? {
        guard running.count < width, let index = waiting.firstIndex(where: { !running.contains($0.key) }) else {
            return nil
        }
        let change = waiting.remove(at: index)
        bytes -= change.size
        running.insert(change.key)
        return change
    }

    package mutating func finished(_ key: String) { running.remove(key) }

    /// Drops everything that waits, and returns it.
    package mutating func dropWaiting() -> [Change] {
        dropped += waiting.count
        return remove { _ in true }
    }

    private mutating func remove(where isMeant: (Change) -> Bool) -> [Change] {
        let removed = waiting.filter(isMeant)
        waiting.removeAll(where: isMeant)
        bytes = waiting.reduce(0) { $0 + $1.size }
        return removed
    }
}
