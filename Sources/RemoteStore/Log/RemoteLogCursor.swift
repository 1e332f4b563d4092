/// The position up to which a machine has read the log of its fleet: a value without I/O.
///
/// Entries are read in order until one is missing. Numbers have no gaps, because each writer takes the first free one. A gap before the
/// log head's entry therefore means that old entries have been deleted, and that this machine has missed some.
package struct RemoteLogCursor: Sendable, Hashable {
    package enum Place: Sendable, Hashable {
        /// The log has never been read. Earlier entries do not concern this machine.
        case unknown
        /// There was no log yet.
        case beforeFirst
        /// This entry was the last one read.
        case at(RemoteLogPosition)
    }

    package private(set) var place: Place
    private var logHead: RemoteLogPosition?

    package init(_ place: Place = .unknown) { self.place = place }

    /// The position as one number, which is stored for the next process.
    package var number: Int64? {
        switch place {
        case .unknown: nil
        case .beforeFirst: 0
        case .at(let position): position.number
        }
    }

    package init(number: Int64?) {
        place =
            number.map { $0 == 0 ? .beforeFirst : RemoteLogPosition(number: $0).map { .at($0) } ?? .unknown }
            ?? .unknown
    }

    /// Records the log head's position, or nil if there is no log head.
    ///
    /// - Returns: True if entries may have been missed.
    package mutating func advanced(_ logHead: RemoteLogPosition?) -> Bool {
        self.logHead = logHead
        guard let logHead else {
            place = .beforeFirst
            return false
        }
        switch place {
        case .unknown: place = .at(logHead)
        case .beforeFirst: place = .at(.beginning(logHead.log))
        case .at(let last) where last.log == logHead.log: break
        case .at:
            place = .at(logHead)
            return true
        }
        return false
    }

    /// The entry to read next, or nil if there is no log.
    package var next: RemoteLogPosition? {
        if case .at(let position) = place { position.next } else { nil }
    }

    /// Records that the next entry was read.
    package mutating func found() { if let next { place = .at(next) } }

    /// Records that the next entry is missing.
    ///
    /// - Returns: True if entries were missed, and reading resumes after the log head's position; false at the end of the log.
    package mutating func absent() -> Bool {
        guard case .at(let last) = place, let logHead, logHead.log == last.log, last.entry < logHead.entry else {
            return false
        }
        place = .at(logHead)
        return true
    }
}
