/// Looks at a store without changing it.
extension DiskStore {
    /// Damage of the index as SQLite's quick check finds it, one sentence each.
    package func indexDamage() throws(StoreError) -> [String] {
        try withIndex { (index) throws(StoreError) in
            let check = try index.catalogue().connection.prepare("PRAGMA quick_check(20)")
            defer { check.finalize() }
            var lines: [String] = []
            while try check.step() { lines.append(check.text(0)) }
            return lines.filter { $0 != "ok" }
        }
    }

    /// The number of files in the folders of bodies that belong to no entry. The next sweep deletes them, unless a process reads them.
    package func strayBodies() throws -> Int {
        var known: Set<Int64> = []
        try list(by: .created) { entry in
            known.insert(entry.id)
            return true
        }
        var strays = 0
        for folder in Int64(0)...255 {
            try forEachName(in: paths.folder(folder)) { (name) throws(StoreError) in
                if Paths.number(name).map({ !known.contains($0) }) ?? true { strays += 1 }
            }
        }
        return strays
    }

    /// The paths of indexes that could not be used and were moved aside, for inspection.
    package var indexesAside: [String] { Paths.asides.map(paths.aside).filter { FileStatus(at: $0) != nil } }
}
