import FoundationEssentials
import Glibc

extension Index {
    /// The change that gives a complete body its final name and its row. The entries that it replaces are marked for deletion in the same
    /// transaction.
    ///
    /// The file is moved inside the transaction, before the row is durable. A kill in between leaves a file without a row, never a row
    /// without its file. The transaction also keeps a sweep from treating the file as an orphan, because the sweep deletes inside its own
    /// transaction.
    static func commit(
        _ new: NewEntry, _ body: FinishedBody, _ placing: BodyPlacing
    ) -> SharedChange {
        SharedChange(growth: max(0, body.allocated - (body.partial?.reserved ?? 0))) {
            (index, totals) throws(StoreError) in
            try index.commit(new, body, placing, &totals)
        } undo: {
            placing.undo()
        }
    }

    /// Must be called inside a transaction.
    private func commit(
        _ new: NewEntry, _ body: FinishedBody, _ placing: BodyPlacing, _ totals: inout Totals
    ) throws(StoreError) -> SharedChange.Effects {
        // An earlier attempt has recorded the change, which is not rolled back.
        let generation = placing.noted ?? new.generation
        try requireCurrent(generation)
        try writeAccesses(&totals)
        var effects = SharedChange.Effects()
        effects.replaced = try markVariantsDeleted(of: new, &totals)
        if !body.isTransient { effects.replaced += try markExcessEntriesDeleted(&totals) }
        let id: Int64
        if let partial = body.partial {
            id = partial.id
            totals.noteTaken(id)
            totals.partials -= try catalogue().partials.delete(id)
            try install(placing, id)
        } else {
            id = try installNew(placing, &totals)
        }
        grownFolders.insert(Paths.folderNumber(of: id))
        totals.bodies += body.allocated
        totals.entries += 1
        if configuration.holdsBodies, !body.isTransient { try hold(id, allocated: body.allocated, &totals) }
        if let generation, !new.isDerived { placing.noted = try noted(generation) }
        effects.noted = placing.noted
        placing.entry = try insert(new, body, id: id, &totals)
        if !body.isTransient { try holdIfPinned(id, key: new.key, allocated: body.allocated, &totals) }
        if body.isTransient { _ = try markDeleted(id, &totals) }
        return effects
    }

    // MARK: Numbers

    /// Returns a number that no entry or partial has had and that no partial's file has. Must be called inside a transaction.
    private func takeNumber(_ totals: inout Totals) -> Int64 {
        while true {
            let number = totals.takeNumber(folders: budget.folders)
            // Only the index issues numbers above the last partial's number.
            if let last = lastPartial, number > last { return number }
            if FileStatus(at: paths.data(number)) == nil { return number }
        }
    }

    /// Returns a number for a partial, which no body's file has either. Must be called inside a transaction.
    func takePartialNumber(_ totals: inout Totals) throws(StoreError) -> Int64 {
        while true {
            let number = takeNumber(&totals)
            if FileStatus(at: paths.body(number)) == nil { return number }
            if try deleteLeftover(number, totals) { return number }
        }
    }

    /// Gives a small body's file its name under a new number. Must be called inside a transaction.
    private func installNew(_ placing: BodyPlacing, _ totals: inout Totals) throws(StoreError) -> Int64 {
        while true {
            let number = takeNumber(&totals)
            do throws(StoreError) {
                try install(placing, number)
                return number
            } catch  where error.errno == EEXIST {
                guard try deleteLeftover(number, totals) else { continue }
                try install(placing, number)
                return number
            }
        }
    }

    private func install(_ placing: BodyPlacing, _ number: Int64) throws(StoreError) {
        try placing.install(paths.body(number), folder: paths.folder(Paths.folderNumber(of: number)))
    }

    /// Deletes the file of a body whose number was issued again. This happens if a small body's commit was killed after it named its file,
    /// which rolled the number back with the transaction. A power failure rolls many numbers back.
    ///
    /// - Returns: False if the file stays, so that the number cannot be used.
    private func deleteLeftover(_ number: Int64, _ totals: Totals) throws(StoreError) -> Bool {
        guard totals.hasUncountedFiles == 0, try !exists(number) else { return false }
        return deleteUnlessRead(paths.body(number))
    }

    private func insert(
        _ new: NewEntry, _ body: FinishedBody, id: Int64, _ totals: inout Totals
    ) throws(StoreError) -> StoredEntry {
        let now = now
        let sequence = totals.takeSequence()
        let expires = limits.expiry(stored: now, expires: new.expires.flatMap(\.expiry))
        try catalogue().entries.insert(new, body, id: id, created: now, sequence: sequence, expires: expires)
        if let blocks = body.blocks { try catalogue().blocks.insert(blocks, of: id) }
        return StoredEntry(
            id: id, key: new.key, variant: new.variant, url: new.url, size: body.size, allocated: body.allocated,
            metadata: new.metadata, created: Date(milliseconds: now), lastAccess: Date(milliseconds: now),
            accessSequence: sequence,
            checksum: body.checksum, boot: body.boot)
    }

    /// Marks for deletion the entry that a new one replaces, and the least recently used of the other variants beyond the limit.
    private func markVariantsDeleted(of new: NewEntry, _ totals: inout Totals) throws(StoreError) -> [Int64] {
        let catalogue = try catalogue()
        var old = try catalogue.entries.entry(of: new.key, variant: new.variant).map { [$0.id] } ?? []
        for id in old { _ = try markDeleted(id, &totals) }
        guard new.variantLimit < .max, !new.variant.isEmpty else { return old }
        let excess = try catalogue.entries.variantCount(of: new.key) + 1 - Int64(max(1, new.variantLimit))
        guard excess > 0 else { return old }
        let oldest = try catalogue.entries.oldestVariants(of: new.key, count: excess)
        for id in oldest { _ = try markDeleted(id, &totals) }
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

/// The move of a body's file to the name that belongs to its row.
final class BodyPlacing {
    /// The row, after the transaction.
    var entry: StoredEntry?
    /// The generation of the resource that was recorded with the row.
    var noted: Generation?
    private var installed: String?
    private let move: (_ path: String) throws(StoreError) -> Void
    private let moveBack: (_ path: String) -> Void

    /// - Parameters:
    ///   - move: Gives the file a name, which must be unused.
    ///   - moveBack: Removes the name again.
    init(_ move: @escaping (String) throws(StoreError) -> Void, undo moveBack: @escaping (String) -> Void) {
        self.move = move
        self.moveBack = moveBack
    }

    func install(_ path: String, folder: String) throws(StoreError) {
        do throws(StoreError) {
            try move(path)
        } catch {
            guard error.errno == ENOENT || error.errno == ENOTDIR else { throw error }
            try Index.createFolder(folder)
            try move(path)
        }
        installed = path
    }

    func undo() {
        installed.map(moveBack)
        installed = nil
    }
}

/// A body's complete file, before its row is inserted.
struct FinishedBody {
    let size: Int64
    let allocated: Int64
    let checksum: Checksum
    let boot: Int64
    /// The checksums of its blocks, if they are kept.
    var blocks: BlockChecksums?
    /// The partial that the file was before, and its reservation in bytes.
    var partial: (id: Int64, reserved: Int64)?
    /// True if look-ups never find the body: it is marked for deletion in the transaction that creates it.
    var isTransient = false
}
