import FoundationEssentials
import Glibc

extension Index {
    /// Gives a complete body its final name and its row; the entries that it replaces are doomed in the same
    /// transaction.
    ///
    /// The file is put in place inside the transaction, before the row is durable: a kill between the two leaves a file
    /// without a row, never a row without its file. The transaction also keeps a sweep from treating the file as an
    /// orphan: the sweep deletes inside a transaction of its own.
    ///
    /// - Returns: The row, and the generation of its resource with it.
    func commit(
        _ new: NewEntry, _ body: FinishedBody,
        install: (_ path: String) throws(StoreError) -> Void,
        uninstall: (_ path: String) -> Void
    ) throws(StoreError) -> (entry: StoredEntry, generation: Generation?) {
        var after = new.generation
        var installed: String?
        var replaced: [Int64] = []
        let growth = max(0, body.allocated - (body.partial?.reserved ?? 0))
        do throws(StoreError) {
            let entry = try changeWithRoom(for: growth) { (totals) throws(StoreError) in
                if let earlier = installed {
                    uninstall(earlier)  // Undoes an attempt that did not become durable.
                    installed = nil
                }
                try requireCurrent(new.generation)
                try writeAccesses(&totals)
                replaced = try doomVariants(of: new, &totals)
                if !body.isTransient { replaced += try doomExcessEntries(&totals) }
                let id: Int64
                if let partial = body.partial {
                    id = partial.id
                    totals.noteTaken(id)
                    totals.partials -= try catalogue().deletePartial(id)
                } else {
                    id = try takeNumber(&totals)
                }
                let folder = Paths.folderNumber(of: id)
                let path = paths.body(id)
                try Self.putInPlace(path, folder: paths.folder(folder), install)
                installed = path
                try countFolder(folder, &totals)
                totals.bodies += body.allocated
                totals.entries += 1
                if configuration.holdsBodies, !body.isTransient { try hold(id, allocated: body.allocated, &totals) }
                if let generation = new.generation, !new.isDerived { after = try noted(generation) }
                let entry = try insert(new, body, id: id, &totals)
                if !body.isTransient { try holdIfPinned(id, key: new.key, allocated: body.allocated, &totals) }
                if body.isTransient { _ = try doom(id, &totals) }
                return entry
            }
            // The body is in place: failures from here on are left to the next sweep, or cost looks at the index.
            _ = try? deleteDoomed(replaced)
            if let noted = after, !new.isDerived { after = (try? settled(noted)) ?? noted }
            return (entry, after)
        } catch {
            if let installed { uninstall(installed) }
            throw error
        }
    }

    /// A number that no entry or partial has had, and no body's file has. Inside a transaction.
    ///
    /// A small body's commit that was killed after naming its file rolled its number back with the transaction, and a
    /// power failure rolls many back: such a file is deleted here when its number is issued again.
    func takeNumber(_ totals: inout Totals) throws(StoreError) -> Int64 {
        while true {
            let number = totals.takeNumber(folders: budget.folders)
            if FileStatus(at: paths.data(number)) != nil { continue }
            let path = paths.body(number)
            if FileStatus(at: path) == nil { return number }
            if totals.hasUncountedFiles == 0, try !exists(number), deleteUnlessRead(path) { return number }
        }
    }

    private static func putInPlace(
        _ path: String, folder: String, _ install: (String) throws(StoreError) -> Void
    ) throws(StoreError) {
        do throws(StoreError) {
            try install(path)
        } catch  where error.errno == ENOENT {
            try createFolder(folder)
            try install(path)
        }
    }

    private func insert(
        _ new: NewEntry, _ body: FinishedBody, id: Int64, _ totals: inout Totals
    ) throws(StoreError) -> StoredEntry {
        let now = now
        let sequence = totals.takeSequence()
        let expires = limits.expiry(stored: now, expires: new.expires.map(\.milliseconds))
        try catalogue().insert(new, body, id: id, created: now, sequence: sequence, expires: expires)
        return StoredEntry(
            id: id, key: new.key, variant: new.variant, url: new.url, size: body.size, allocated: body.allocated,
            metadata: new.metadata, created: Date(milliseconds: now), lastAccess: Date(milliseconds: now),
            accessSequence: sequence,
            checksum: body.checksum, boot: body.boot)
    }

    /// Dooms the entry that a new one replaces, and the least recently used of the other variants beyond the limit.
    private func doomVariants(of new: NewEntry, _ totals: inout Totals) throws(StoreError) -> [Int64] {
        let catalogue = try catalogue()
        var old = try catalogue.entry(of: new.key, variant: new.variant).map { [$0.id] } ?? []
        for id in old { _ = try doom(id, &totals) }
        guard new.variantLimit < .max, !new.variant.isEmpty else { return old }
        let excess = try catalogue.variantCount(of: new.key) + 1 - Int64(max(1, new.variantLimit))
        guard excess > 0 else { return old }
        let oldest = try catalogue.oldestVariants(of: new.key, count: excess)
        for id in oldest { _ = try doom(id, &totals) }
        old += oldest
        return old
    }

    /// Adds a folder's growth to the totals. Folders grow in steps of a block, so this seldom writes anything.
    func countFolder(_ folder: Int64, _ totals: inout Totals) throws(StoreError) {
        let path = folder == Self.partialsFolder ? paths.partials : paths.folder(folder)
        guard let size = FileStatus(at: path)?.allocated, folderSizes[folder] != size else { return }
        let catalogue = try catalogue()
        let counted = try catalogue.size(ofFolder: folder) ?? 0
        if counted != size {
            try catalogue.save(size: size, ofFolder: folder)
            totals.folders += size - counted
        }
        folderSizes[folder] = size
    }

    /// The number under which the folder of partials is counted among the body folders.
    static let partialsFolder: Int64 = -1
}
