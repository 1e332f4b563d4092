extension DiskStore {
    /// Opens the bodies of several entries, as ``open(_:isHeld:)``, and holds them in one transaction.
    package func open(_ entries: [StoredEntry]) throws(StoreError) -> [StoredBody?] {
        var bodies: [StoredBody?] = []
        for entry in entries { bodies.append(try openChecked(entry)) }
        let opened = bodies.compactMap { $0?.entry }
        if !configuration.holdsBodies || opened.isEmpty { return bodies }
        let held: Set<Int64>
        do throws(StoreError) {
            held = try withIndex { (index) throws(StoreError) in try index.hold(opened) }
        } catch  where error.code == .full || error.code == .notWritable {
            return bodies
        }
        return bodies.map { $0.flatMap { held.contains($0.entry.id) ? $0 : nil } }
    }
}

extension Index {
    /// Holds the bodies of entries whose files are open under their shared locks.
    ///
    /// - Returns: The numbers of those that, or whose files, are still there.
    fileprivate func hold(_ entries: [StoredEntry]) throws(StoreError) -> Set<Int64> {
        try change { (totals) throws(StoreError) in
            var held: Set<Int64> = []
            for entry in entries {
                let isEntry = try exists(entry.id)
                if !isEntry { guard try catalogue().isDoomed(entry.id) else { continue } }
                try hold(entry.id, allocated: entry.allocated, isDoomed: !isEntry, &totals)
                held.insert(entry.id)
            }
            return held
        }
    }
}
