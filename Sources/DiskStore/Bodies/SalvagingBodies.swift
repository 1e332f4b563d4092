import Glibc

extension DiskStore {
    /// Turns an entry with a damaged body into a partial of its key, in which only the damaged blocks are missing.
    ///
    /// This is impossible if the body's block checksums are not kept (``NewEntry/isResumable``), if no block is intact, or if the file may have
    /// another user: a reader, a run that was given its path, or another hard link.
    ///
    /// - Parameter file: The body, if it is open here.
    /// - Returns: The number of intact bytes; `nil` if the entry is unchanged.
    func salvage(_ entry: StoredEntry, _ file: File? = nil) throws(StoreError) -> Int64? {
        if configuration.isReadOnly { return nil }
        let blocks = try withIndex { (index) throws(StoreError) in
            try index.catalogue().blocks.checksums(of: entry.id)
        }
        guard let blocks, blocks.count == BlockMap.count(for: entry.size),
            blocks.whole(length: entry.size) == entry.checksum,
            let body = DamagedBody(entry, file, blocks, at: paths.body(entry.id))
        else { return nil }
        let id = try withIndex { (index) throws(StoreError) in try index.takeNumber() }
        let record = PartialRecord(
            id: id, total: entry.size, created: configuration.clock().milliseconds, key: entry.key,
            header: entry.metadata)
        let isReplaced = try withIndex { (index) throws(StoreError) in try index.replace(entry, by: record, with: body)
        }
        return isReplaced ? body.intact : nil
    }
}

/// A damaged body without other users, and the checksums of its intact blocks.
private struct DamagedBody {
    let file: File
    let allocated: Int64
    private(set) var blocks: BlockChecksums
    private(set) var intact: Int64 = 0

    /// `nil` if the file may have another user, or if no block is intact.
    init?(_ entry: StoredEntry, _ open: File?, _ blocks: BlockChecksums, at path: String) {
        guard let file = open ?? (try? File(path, O_RDONLY)), file.tryLock(exclusive: true),
            let status = file.status, status.isRegular, status.links == 1,
            FileStatus(at: path)?.identity == status.identity
        else { return nil }
        self.file = file
        self.blocks = blocks
        allocated = status.allocated
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(BlockMap.blockSize), alignment: 64)
        defer { buffer.deallocate() }
        for block in 0..<blocks.count {
            let range = BlockMap.range(of: block, total: entry.size)
            if (try? file.checksum(of: range, using: buffer)) == blocks[block] {
                intact += Int64(range.count)
            } else {
                self.blocks[block] = .none
            }
        }
        if intact == 0 { return nil }
    }
}

extension Index {
    /// Moves a body to the partials. Its record is complete before, so that a kill leaves either the entry or the partial.
    ///
    /// - Returns: False if the entry no longer exists, or if a run holds it.
    fileprivate func replace(
        _ entry: StoredEntry, by record: PartialRecord, with body: DamagedBody
    ) throws(StoreError) -> Bool {
        let claim = Claim.released()
        let recordPath = paths.record(record.id, claim: claim)
        let (data, path) = (paths.data(record.id), paths.body(entry.id))
        let reserved = max(body.allocated, Budget.page) + record.allocation(for: entry.size)
        var isReplaced = false
        defer { if !isReplaced { unlink(recordPath) } }
        let recordFile = try File(recordPath, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        try recordFile.write(record.encoded(), at: 0)
        try recordFile.write(body.blocks.bytes, at: record.slotOffset(0))
        do throws(StoreError) {
            isReplaced = try changeWithRoom(for: max(0, reserved - entry.allocated)) { (totals) throws(StoreError) in
                guard try catalogue().entries.entry(entry.id)?.checksum == entry.checksum, try !isHeld(entry.id),
                    try markDeleted(entry.id, &totals)
                else { return false }
                totals.doomed -= try catalogue().deletedBodies.delete(entry.id)
                try insertPartial(id: record.id, claim: claim, key: record.key, reserved: reserved, &totals)
                grownFolders.insert(Self.partialsFolder)
                _ = fchmod(body.file.descriptor, 0o600)
                try DiskStore.rename(path, to: data)
                return true
            }
        } catch {
            if FileStatus(at: path) == nil { try? DiskStore.rename(data, to: path) }
            _ = fchmod(body.file.descriptor, 0o400)
            throw error
        }
        return isReplaced
    }
}
