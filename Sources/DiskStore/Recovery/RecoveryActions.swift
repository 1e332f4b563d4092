/// The decision about a file that lies among the bodies.
enum BodyRecoveryAction: Equatable {
    /// It is an entry's; or it was removed while it was read, and goes later; or it is a whole body that was killed on its way to
    /// its row, and becomes a partial again.
    case keep
    /// Nothing knows of it.
    case orphan

    init(isEntry: Bool, isDoomed: Bool, isPartial: Bool) {
        self = isEntry || isDoomed || isPartial ? .keep : .orphan
    }
}

/// The decision about a partial that has its row.
enum PartialRecoveryAction: Equatable {
    case keep
    /// Its whole body stands among the bodies without a row: a kill came between the two. It gets its partial's name again.
    case restore
    /// Files and row go, unless somebody works on it.
    case drop

    /// The file among the bodies that bears the partial's number.
    enum Body {
        case none
        /// An entry's: the partial was just committed.
        case entry
        case unknown
    }

    /// - Parameter isRecorded: Its record is there and whole: without one nothing is known of its bytes.
    init(data: Bool, isRecorded: Bool, body: Body) {
        self =
            switch (data, body) {
            case (true, _): isRecorded ? .keep : .drop
            case (false, .unknown): .restore
            case (false, .entry): .keep
            case (false, .none): .drop
            }
    }
}

/// The decision about files of a partial that has no row.
enum UnindexedPartialAction: Equatable {
    /// The row is made anew: the record says all that is needed.
    case adopt
    /// It is just being made.
    case keep
    case delete

    /// - Parameters:
    ///   - isLocked: Somebody works on its data.
    ///   - isRecorded: Its record is whole, and says that there are bytes.
    init(data: Bool, isLocked: Bool, isRecorded: Bool) {
        self =
            switch (data, isLocked) {
            case (false, _): .delete
            case (true, true): .keep
            case (true, false): isRecorded ? .adopt : .delete
            }
    }
}
