import CLinux
import ConcurrencyPrimitives
import Glibc
import Units

// Operations for `BodyWriter`.
extension DiskStore {
    // MARK: Room

    /// Refuses a body that can never fit, whatever is evicted.
    func checkFits(_ size: Int64) throws(StoreError) {
        try checkLimit(size)
        try withIndex { (index) throws(StoreError) in
            if size > (try index.usage().largestBody) { throw Self.tooLarge(size, index).needing(size) }
        }
    }

    /// Refuses a body above the limit for single entries.
    private func checkLimit(_ size: Int64) throws(StoreError) {
        guard let limit = configuration.maxEntrySize, size > limit else { return }
        throw StoreError(
            .tooLarge, "\(ByteSize(size)) are more than the \(ByteSize(limit)) that one entry may have",
            path: paths.root)
    }

    /// - Parameter isGrowing: True if the body's length is unknown, and it has so many bytes at least.
    private static func tooLarge(_ size: Int64, isGrowing: Bool = false, _ index: Index) -> StoreError {
        let bytes = isGrowing ? "more than \(ByteSize(size)) (length unknown)" : "\(ByteSize(size))"
        return StoreError(
            .tooLarge, "\(bytes) do not fit into the capacity of \(ByteSize(index.budget.capacity))",
            path: index.paths.root)
    }

    /// Refuses a small body before its first byte if it could not be held.
    func checkHolds(_ size: Int64) throws(StoreError) {
        guard configuration.holdsBodies else { return }
        try withIndex { (index) throws(StoreError) in try index.checkRoom(for: Budget.rounded(size)) }
    }

    /// Writes a block. If the disk is fuller than the reservation assumed, evicts once and writes it again.
    func writeBlock(_ write: () throws(StoreError) -> Void) throws(StoreError) {
        do throws(StoreError) { try write() } catch  where error.code == .full {
            try withIndex { (index) throws(StoreError) in try index.makeRoom(for: 0, atLeast: BlockMap.blockSize) }
            try write()
        }
    }

    // MARK: Partials

    /// - Parameter reservesAll: False to reserve no space for blocks. Otherwise all of the body is reserved, or if its length is unknown, some more
    ///   than it has.
    /// - Parameter given: The bytes to reserve instead.
    func makePartial(
        key: EntryKey, header: [UInt8], total: Int64?, held: Int64, epoch: Generation.Epoch?, reservesAll: Bool = true,
        reserving given: Int64? = nil
    ) throws(StoreError) -> Partial {
        guard total ?? 0 <= IncompleteBody.longest else {
            throw StoreError(.tooLarge, "the body has \(total ?? 0) bytes, more than \(IncompleteBody.longest)")
        }
        let claim = Claim.new()
        let (record, reserved) = try withIndex { (index) throws(StoreError) in
            let record = try PartialRecord(
                id: index.takeNumber(), total: total, created: index.now, key: key, header: header)
            let size = total ?? held + index.budget.reservationStep(held: held)
            let all = Budget.rounded(size) + record.allocation(for: size)
            return (record, given ?? (reservesAll ? all : Budget.page + record.allocation(for: 0)))
        }
        let partial = try Partial(creating: record, claim: claim, reserved: reserved, paths: paths)
        do throws(StoreError) {
            try withIndex { (index) throws(StoreError) in
                try index.addPartial(record, claim: claim, reserved: reserved, epoch)
            }
        } catch {
            partial.deleteFiles()
            throw error
        }
        return partial
    }

    /// A copy of a partial, for continuing what a process of another machine may still be writing. Both files belong to this process alone.
    func copyPartial(_ row: PartialRow) throws(StoreError) -> Partial? {
        guard let files = try openFiles(of: row) else { return nil }
        let record = files.record
        let copy = try makePartial(
            key: record.key, header: record.header, total: record.total, held: 0, epoch: nil, reserving: row.reserved)
        let buffer = BlockMemory.take(Int(BodyWriter.unit))
        defer { BlockMemory.give(buffer) }
        do throws(StoreError) {
            let end = BlockMap.count(for: files.data.status?.size ?? 0)
            try files.recordFile.forEachSlot(of: record, below: end) { (block, slot) throws(StoreError) in
                let range = BlockMap.range(of: block, total: record.total)
                if slot == .none || range.isEmpty { return }
                let bytes = UnsafeMutableRawBufferPointer(rebasing: buffer[..<range.count])
                guard try files.data.read(into: bytes, at: range.lowerBound) == range.count,
                    Checksum(of: UnsafeRawBufferPointer(bytes)) == slot
                else { return }
                try copy.write(block: block, UnsafeRawBufferPointer(bytes))
            }
            return copy
        } catch {
            try drop(copy)
            throw error
        }
    }

    /// Extends a reservation to `needed`, and with an unknown length beyond it, to reduce the number of calls.
    ///
    /// A body of unknown length that has half of the capacity, or of the disk, evicts no further usable entry, and may use only free room.
    /// An endless body would otherwise empty the store.
    func reserve(_ needed: Int64, for partial: Partial, isGrowing: Bool, size: Int64) throws(StoreError) {
        let (id, reserved) = (partial.id, partial.reserved)
        try checkLimit(size)
        partial.reserved = try withIndex { (index) throws(StoreError) in
            let usage = try index.usage()
            if needed > usage.largestBody { throw Self.tooLarge(size, isGrowing: isGrowing, index).needing(size) }
            let half = usage.largestBodyOnDisk / 2
            let some = needed + index.budget.reservationStep(held: size)
            if isGrowing {
                do throws(StoreError) {
                    try index.setReserved(id, from: reserved, to: some, sparesUseful: some > half)
                    return some
                } catch  where error.isLackOfRoom {
                    // Without a large step: the exact size may still fit.
                }
            }
            let sparesUseful = isGrowing && needed > half
            do throws(StoreError) {
                try index.setReserved(id, from: reserved, to: needed, sparesUseful: sparesUseful)
            } catch  where sparesUseful && error.isLackOfRoom {
                // Otherwise the disk is full.
                guard try index.usage().excess(with: needed - reserved) > 0 else { throw error }
                throw Self.tooLarge(size, isGrowing: true, index).needing(size)
            }
            return needed
        }
    }

    /// Extends the reservation of a partial of which only some blocks are needed.
    func reserve(_ needed: Int64, forPartial id: Int64, reserved: Int64) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in
            if needed > (try index.usage().largestBody) { throw Self.tooLarge(needed, index).needing(needed) }
            try index.setReserved(id, from: reserved, to: needed)
        }
    }

    /// Releases the unused part of a partial's reservation while nothing writes to it. Deletes a partial that look-ups no longer find.
    func release(_ partial: Partial) throws(StoreError) {
        let size = (partial.data.status?.counted ?? 0) + (partial.recordFile.status?.counted ?? 0)
        let (id, reserved, claim) = (partial.id, partial.reserved, partial.claim)
        let isDisowned = try withIndex { (index) throws(StoreError) in
            if try index.catalogue().partials.isDisowned(id) { return true }
            try index.setReserved(id, from: reserved, to: min(reserved, size))
            if index.fileSystem.isShared { try index.releaseClaim(claim, ofPartial: id) }
            return false
        }
        if isDisowned { try drop(partial) }
    }

    func drop(_ partial: Partial) throws(StoreError) {
        if partial.isStillOurs { partial.deleteFiles() }
        let id = partial.id
        try withIndex { (index) throws(StoreError) in _ = try index.forgetPartial(id) }
    }

    // MARK: Commits

    /// Creates a body from a complete partial.
    ///
    /// - Parameter buffer: Memory for one block.
    func commit(
        _ new: NewEntry, _ partial: Partial, size: Int64, isTransient: Bool = false,
        using buffer: UnsafeMutableRawBufferPointer
    ) throws(StoreError) -> StoredBody {
        if !isTransient { try checkLimit(size) }
        let data = partial.data
        if let status = data.status, status.size != size, ftruncate(data.descriptor, off_t(size)) != 0 {
            throw .system("cannot set the length", path: data.path)
        }
        // Before the bytes are read again, so that the file is not opened for writing after that.
        _ = fchmod(data.descriptor, 0o400)
        let blocks: BlockChecksums
        do throws(StoreError) {
            blocks = try partial.verifiedChecksums(total: size, using: buffer)
        } catch {
            _ = fchmod(data.descriptor, 0o600)
            throw error
        }
        _ = data.tryLock(exclusive: false)
        guard let status = data.status else { throw .system("cannot look at the body", path: data.path) }
        let finished = FinishedBody(
            size: size, allocated: max(status.allocated, Budget.rounded(size)), checksum: blocks.whole(length: size),
            boot: firstMark ?? configuration.boot(), blocks: new.isResumable ? blocks : nil,
            partial: (partial.id, partial.reserved),
            isTransient: isTransient)
        let placing = BodyPlacing { (path) throws(StoreError) in
            guard partial.isStillOurs else {
                throw StoreError(.taken, "the partial was deleted, or taken over by another process", path: data.path)
            }
            try Self.rename(data.path, to: path)
        } undo: { path in
            _ = try? Self.rename(path, to: data.path)
        }
        do throws(StoreError) {
            let generation = try perform([Index.commit(new, finished, placing)])[0].get()
            unlink(partial.recordFile.path)
            return try body(placing, data, generation ?? new.generation)
        } catch {
            _ = data.tryLock(exclusive: true)
            throw error
        }
    }

    private func body(
        _ placing: BodyPlacing, _ file: File, _ generation: Generation?
    ) throws(StoreError) -> StoredBody {
        guard let entry = placing.entry else { throw StoreError(.io, "a commit without an entry", path: paths.root) }
        return StoredBody(entry: entry, file: file, path: paths.body(entry.id), generation: generation, store: self)
    }

    /// Moves a body between the bodies and the partials. Never replaces an existing file, which would be another entry's body (and costs five
    /// times as much).
    static func rename(_ from: String, to: String) throws(StoreError) {
        if clinux_rename_exclusive(from, to) == 0 { return }
        var number = errno
        if number == EINVAL || number == ENOSYS {
            // The file system does not support the flag.
            number = EEXIST
            if FileStatus(at: to) == nil {
                if Glibc.rename(from, to) == 0 { return }
                number = errno
            }
        }
        throw .system("cannot move the body to its place", path: to, errno: number)
    }

    /// Writes the file of a body of at most one block. It has no name yet.
    func write(_ bytes: UnsafeRawBufferPointer, isTransient: Bool) throws(StoreError) -> WrittenBody {
        if !isTransient { try checkLimit(Int64(bytes.count)) }
        var checksum = BodyChecksum()
        if !bytes.isEmpty { checksum.add(Checksum(of: bytes)) }
        let file: SmallBodyFile
        do throws(StoreError) {
            file = try SmallBodyFile(in: paths)
        } catch  where error.errno == ENOENT {
            try recreateDirectory()
            file = try SmallBodyFile(in: paths)
        }
        try file.write(bytes)
        let finished = FinishedBody(
            size: Int64(bytes.count), allocated: max(file.allocated, Budget.rounded(Int64(bytes.count))),
            checksum: checksum.finish(length: Int64(bytes.count)), boot: firstMark ?? configuration.boot(),
            isTransient: isTransient)
        return WrittenBody(file, finished)
    }

    /// The file of a small body before its commit.
    struct WrittenBody {
        private let file: SmallBodyFile
        private let finished: FinishedBody
        private let placing: BodyPlacing

        fileprivate init(_ file: SmallBodyFile, _ finished: FinishedBody) {
            self.file = file
            self.finished = finished
            placing = BodyPlacing { (path) throws(StoreError) in
                try file.install(path)
            } undo: {
                file.uninstall($0)
            }
        }

        func commit(_ new: NewEntry) -> SharedChange { Index.commit(new, finished, placing) }

        /// The body after its commit.
        func body(in store: DiskStore, _ generation: Generation?) throws(StoreError) -> StoredBody {
            try store.body(placing, file.file, generation)
        }
    }
}
