// Bodies that are no longer entries, and bodies that runs hold.

extension Catalogue {
    // MARK: Doomed bodies

    func insertDoomed(_ id: Int64, allocated: Int64) throws(StoreError) {
        try run(.insertDoomed) { $0.bind(1, id).bind(2, allocated) }
    }

    /// - Returns: The bytes that the body took.
    func deleteDoomed(_ id: Int64) throws(StoreError) -> Int64 {
        try delete(.deleteDoomed, id, size: .doomedSize) ?? 0
    }

    func isDoomed(_ id: Int64) throws(StoreError) -> Bool {
        try first(.doomedSize, { $0.bind(1, id) }, row: { _ in true }) ?? false
    }

    func doomed(after id: Int64, limit: Int64) throws(StoreError) -> [Int64] {
        try all(.doomed, { $0.bind(1, id).bind(2, limit) }) { $0.integer(0) }
    }

    // MARK: Holds

    func insertHold(_ id: Int64, run: Int64, allocated: Int64) throws(StoreError) {
        try self.run(.insertHold) { $0.bind(1, id).bind(2, run).bind(3, allocated) }
    }

    /// Deletes up to `limit` of a run's holds.
    func deleteHolds(ofRun run: Int64, limit: Int64) throws(StoreError) -> [(id: Int64, allocated: Int64)] {
        try all(.deleteHolds, { $0.bind(1, run).bind(2, limit) }) { ($0.integer(0), $0.integer(1)) }
    }

    /// The runs that hold a body, including those that ended without releasing it.
    func holders(of id: Int64) throws(StoreError) -> [Int64] {
        try all(.holders, { $0.bind(1, id) }) { $0.integer(0) }
    }

    func run(after last: Int64) throws(StoreError) -> Int64? {
        try first(.nextRun, { $0.bind(1, last) }, row: { $0.integer(0) })
    }
}
