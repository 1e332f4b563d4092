/// The state of a store, as far as it shows without reading the bodies.
package struct StoreDiagnosis: Sendable {
    /// Damage of the index as SQLite's quick check finds it, one sentence each.
    package var indexDamage: [String] = []
    /// The paths of indexes that could not be used and were moved aside, for inspection.
    package var indexesAside: [String] = []
    package var entries = 0
    /// The number of entries without a file.
    package var missing = 0
    /// The number of entries whose file has another length.
    package var wrongLength = 0
    /// The number of files in the folders of bodies that belong to no entry. The next sweep deletes them, unless a process reads them.
    package var strays = 0
}

extension DiskStore {
    /// Examines the store without changing it.
    package func diagnose() throws -> StoreDiagnosis {
        var diagnosis = StoreDiagnosis()
        diagnosis.indexDamage = try withIndex { (index) throws(StoreError) in
            let check = try index.catalogue().connection.prepare("PRAGMA quick_check(20)")
            defer { check.finalize() }
            var lines: [String] = []
            while try check.step() { lines.append(check.text(0)) }
            return lines.filter { $0 != "ok" }
        }
        diagnosis.indexesAside = Paths.asides.map(paths.aside).filter { FileStatus(at: $0) != nil }
        var known: Set<Int64> = []
        try list(by: .created) { entry in
            known.insert(entry.id)
            switch FileStatus(at: paths.body(entry.id)) {
            case nil: diagnosis.missing += 1
            case let status? where status.size != entry.size: diagnosis.wrongLength += 1
            default: break
            }
            return true
        }
        diagnosis.entries = known.count
        for folder in Int64(0)...255 {
            try forEachName(in: paths.folder(folder)) { (name) throws(StoreError) in
                if Paths.number(name).map({ !known.contains($0) }) ?? true { diagnosis.strays += 1 }
            }
        }
        return diagnosis
    }
}
