/// The position up to which a machine has read the log of its fleet: a value without I/O.
///
/// Entries are read in order until one is missing. Numbers have no gaps, because each writer takes the first free one. A gap before the
/// bell's entry therefore means that old entries have been deleted, and that this machine has missed some.
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
    private var bell: RemoteLogPosition?

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

    /// Records the bell's position, or nil if there is no bell.
    ///
    /// - Returns: True if entries may have been missed.
    package mutating func rang(_ bell: RemoteLogPosition?) -> Bool {
        self.bell = bell
        guard let bell else {
            place = .beforeFirst
            return false
        }
        switch place {
        case .unknown: place = .at(bell)
        case .beforeFirst: place = .at(.beginning(bell.log))
        case .at(let last) where last.log == bell.log: break
        case .at:
            place = .at(bell)
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
    /// - Returns: True if entries were missed, and reading resumes after the bell's position; false at the end of the log.
    package mutating func absent() -> Bool {
        guard case .at(let last) = place, let bell, bell.log == last.log, last.entry < bell.entry else { return false }
        place = .at(bell)
        return true
    }
}
