/// The place to which a machine has read the log of its fleet: a value, without I/O.
///
/// Entries are read by their numbers until one is absent. Numbers have no gaps, because each writer takes the first that is free; a gap
/// before the bell's entry means that old entries are deleted already, and that this machine has missed some.
package struct RemoteLogCursor: Sendable, Hashable {
    package enum Place: Sendable, Hashable {
        /// The log was never looked at: what was written before concerns others.
        case unknown
        /// There was no log yet.
        case beforeFirst
        /// This entry was the last one read.
        case at(RemoteLogPosition)
    }

    package private(set) var place: Place
    private var bell: RemoteLogPosition?

    package init(_ place: Place = .unknown) { self.place = place }

    /// The place as one number, for the next process.
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

    /// Notes the bell's content; nil: there is none.
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

    /// The entry to read next; nil: there is no log.
    package var next: RemoteLogPosition? {
        if case .at(let position) = place { position.next } else { nil }
    }

    /// Notes that the next entry was read.
    package mutating func found() { if let next { place = .at(next) } }

    /// Notes that the next entry is absent.
    ///
    /// - Returns: True if entries were missed, and reading goes on behind them; false at the end of the log.
    package mutating func absent() -> Bool {
        guard case .at(let last) = place, let bell, bell.log == last.log, last.entry < bell.entry else { return false }
        place = .at(bell)
        return true
    }
}
