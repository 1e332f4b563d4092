/// The recovery of a file found among the bodies.
enum BodyRecoveryAction: Equatable {
    /// Belongs to an entry; or was removed while it was read, and is deleted later; or is a complete body whose commit
    /// was killed before its row, and becomes a partial again.
    case keep
    /// Belongs to nothing.
    case orphan

    init(isEntry: Bool, isDoomed: Bool, isPartial: Bool) {
        self = isEntry || isDoomed || isPartial ? .keep : .orphan
    }
}

/// The recovery of a partial that has a row.
enum PartialRecoveryAction: Equatable {
    case keep
    /// Its complete body is among the bodies without a row, because its commit was killed: it gets its partial's name
    /// again.
    case restore
    /// Files and row are deleted, unless it is in use.
    case drop

    /// The file among the bodies with the partial's number.
    enum Body {
        case none
        /// The partial of an entry: it was just committed.
        case entry
        case unknown
    }

    /// - Parameter isRecorded: True if its record exists and is complete: otherwise nothing is known about its bytes.
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

/// The recovery of a partial's files without a row.
enum UnindexedPartialAction: Equatable {
    /// The row is restored from the record, which contains all that is needed.
    case adopt
    /// It is being created.
    case keep
    case delete

    /// - Parameters:
    ///   - isLocked: True if a writer uses its data.
    ///   - isRecorded: True if its record is complete, and contains bytes.
    init(data: Bool, isLocked: Bool, isRecorded: Bool) {
        self =
            switch (data, isLocked) {
            case (false, _): .delete
            case (true, true): .keep
            case (true, false): isRecorded ? .adopt : .delete
            }
    }
}
