/// The order and bounds of changes that wait for a remote store: a value without I/O.
///
/// At most one change of a key waits, the most recent one, and at most one runs, so that changes of one key are made in order. When there
/// are too many changes, or too many bytes, the oldest are dropped.
package struct RemoteQueue<Work: Sendable>: Sendable {
    package struct Change: Sendable {
        package let key: String
        /// The number of bytes to upload.
        package let size: Int64
        package let work: Work
        /// True if callers wait for the change. Urgent changes run before others, and are dropped after them.
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
    private var running: [String: Work] = [:]
    /// The total size of the waiting changes in bytes.
    private var bytes: Int64 = 0
    /// The number of dropped changes.
    package private(set) var dropped = 0

    /// - Parameters:
    ///   - maxCount: The number of changes that may wait.
    ///   - maxBytes: The total size in bytes of the changes that may wait.
    ///   - width: The number of changes that may run concurrently.
    package init(maxCount: Int, maxBytes: Int64, width: Int) {
        self.maxCount = max(1, maxCount)
        self.maxBytes = maxBytes
        self.width = max(1, width)
    }

    package var isIdle: Bool { waiting.isEmpty && running.isEmpty }
    package var waitingCount: Int { waiting.count }
    package var waitingBytes: Int64 { bytes }

    /// - Returns: The changes that will not be made: the dropped ones, and the one that this change replaces.
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

    /// Returns the next change to make, or nil if none can start now. The caller reports its end with ``finished(_:)``.
    package mutating func next() -> Change? {
        guard running.count < width, let index = waiting.firstIndex(where: { running[$0.key] == nil }) else {
            return nil
        }
        let change = waiting.remove(at: index)
        bytes -= change.size
        running[change.key] = change.work
        return change
    }

    package mutating func finished(_ key: String) { running[key] = nil }

    /// The change of a key that will be made last: the waiting one, or the running one; nil if there is none.
    package func pending(_ key: String) -> Work? { waiting.first { $0.key == key }?.work ?? running[key] }

    /// Removes all waiting changes, and returns them.
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
