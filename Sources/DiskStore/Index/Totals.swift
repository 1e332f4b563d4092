/// The index's single row of sums, updated in the same transaction as the rows that they count.
struct Totals: Equatable, Sendable {
    var entries: Int64 = 0
    /// Allocated bytes of bodies, reserved bytes of partials, allocated bytes of bodies with remaining readers.
    var bodies: Int64 = 0
    var partials: Int64 = 0
    var doomed: Int64 = 0
    /// The body folders' own blocks, which grow with their names and never shrink.
    var folders: Int64 = 0
    var nextNumber: Int64 = 0
    var nextSequence: Int64 = 0
    /// The end of the last sweep, in milliseconds since 1970.
    var swept: Int64 = 0
    /// 1 if the folders may contain files that this index has never counted; they are removed before anything is
    /// written.
    var hasUncountedFiles: Int64 = 0
    /// Allocated bytes of entries' bodies that runs hold: see `Holds.swift`. Included in `bodies`.
    var held: Int64 = 0
    /// The last configured capacity, or 0 for none.
    var capacity: Int64 = 0

    var counted: Int64 { bodies + partials + doomed + folders }

    /// Returns a number that no entry or partial has used.
    mutating func takeNumber(folders: Int64) -> Int64 {
        let number = nextNumber
        nextNumber += 1
        // The lowest byte determines the folder: see `Paths.folderNumber`. Consecutive bodies share a folder, and are evicted in about the
        // same order. Thus only a few blocks of one folder change, instead of a block in each of 256.
        return number << 8 | (number >> Self.folderRun) % folders
    }

    /// The number of consecutive bodies in one folder, as a power of two: 1,024.
    private static let folderRun: Int64 = 10

    /// Marks a number found on a file as used: an index that was lost, or rolled back by a power failure, would issue
    /// it again.
    mutating func noteTaken(_ number: Int64) { nextNumber = max(nextNumber, number >> 8 + 1) }

    mutating func takeSequence() -> Int64 {
        defer { nextSequence += 1 }
        return nextSequence
    }
}

extension Totals {
    init(_ row: Statement) {
        entries = row.integer(0)
        bodies = row.integer(1)
        partials = row.integer(2)
        doomed = row.integer(3)
        folders = row.integer(4)
        nextNumber = row.integer(5)
        nextSequence = row.integer(6)
        swept = row.integer(7)
        hasUncountedFiles = row.integer(8)
        held = row.integer(9)
        capacity = row.integer(10)
    }

    func bind(to statement: Statement) {
        statement.bind(1, entries).bind(2, bodies).bind(3, partials).bind(4, doomed).bind(5, folders)
        statement.bind(6, nextNumber).bind(7, nextSequence).bind(8, swept).bind(9, hasUncountedFiles)
        statement.bind(10, held).bind(11, capacity)
    }
}
