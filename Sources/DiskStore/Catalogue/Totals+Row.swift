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
