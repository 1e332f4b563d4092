import CLinux
import Glibc

/// A partial claimed by this process: its two open files, and the blocks that are present.
///
/// The exclusive `flock` on the data marks it as in use; it ends with this value or with the process.
final class Partial {
    let paths: Paths
    private(set) var record: PartialRecord
    let claim: Int64
    let data: File
    let recordFile: File
    /// The bytes of the capacity that are reserved for it.
    var reserved: Int64
    private(set) var blocks = BlockMap()
    private(set) var tail: PartialTail?

    var id: Int64 { record.id }
    var total: Int64? { record.total }

    init(paths: Paths, record: PartialRecord, claim: Int64, data: File, recordFile: File, reserved: Int64) {
        self.paths = paths
        self.record = record
        self.claim = claim
        self.data = data
        self.recordFile = recordFile
        self.reserved = reserved
        Claim.note(claim, isUsed: true)
    }

    deinit { Claim.note(claim, isUsed: false) }

    /// Creates both files: the data first, locked before it has a name, so that it is never treated as idle. The row
    /// with the reservation follows, before the first byte.
    convenience init(
        creating record: PartialRecord, claim: Int64, reserved: Int64, paths: Paths
    ) throws(StoreError) {
        let data = try Self.lockedFile(paths.data(record.id), in: paths)
        let recordFile: File
        do throws(StoreError) {
            recordFile = try File(paths.record(record.id, claim: claim), O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
            try recordFile.write(record.encoded(), at: 0)
        } catch {
            unlink(paths.record(record.id, claim: claim))
            unlink(data.path)
            throw error
        }
        self.init(
            paths: paths, record: record, claim: claim, data: data, recordFile: recordFile, reserved: reserved)
    }

    private static func lockedFile(_ path: String, in paths: Paths) throws(StoreError) -> File {
        let descriptor = clinux_open_unnamed(paths.partials, 0o600)
        if descriptor < 0 {
            // A file system without unnamed files: it exists unlocked for a moment.
            let file = try File(path, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
            _ = file.tryLock(exclusive: true)
            return file
        }
        let file = File(descriptor: descriptor, path: path)
        _ = file.tryLock(exclusive: true)
        let isNamed = withExtendedLifetime(file) { clinux_link_unnamed(descriptor, path) == 0 }
        if !isNamed { throw .system("cannot make a file", path: path) }
        return file
    }

    /// True if the names still refer to the files that are open here: a process that could not see the lock may have
    /// claimed the record, or deleted both.
    var isStillOurs: Bool {
        FileStatus(at: recordFile.path)?.identity == recordFile.status?.identity
            && FileStatus(at: data.path)?.identity == data.status?.identity
    }

    // MARK: Blocks

    /// Counts every recorded block as present. ``verify(using:)`` reads them instead.
    func trustSlots() throws(StoreError) {
        let size = data.status?.size ?? 0
        try recordFile.forEachSlot(of: record, below: BlockMap.count(for: size)) { block, slot in
            if slot != .none { blocks[block] = true }
        }
    }

    /// Notes that a block is present, or missing.
    func note(_ block: Int64, isPresent: Bool) { blocks[block] = isPresent }

    /// Notes the record after its file was rewritten with another header of the same length.
    func noteHeader(_ header: [UInt8]) { record.header = header }

    /// Writes a block's bytes and then its slot: a slot never describes missing bytes.
    func write(block: Int64, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        try data.write(bytes, at: BlockMap.start(of: block))
        try setSlot(block, Checksum(of: bytes))
        blocks[block] = true
        if let tail, BlockMap.index(of: tail.start) == block { try setTail(nil) }
    }

    /// Records bytes of an incomplete block.
    func write(tailAt start: Int64, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        try data.write(bytes, at: start)
        try setTail(PartialTail(start: start, length: Int64(bytes.count), checksum: Checksum(of: bytes)))
    }

    private func setTail(_ tail: PartialTail?) throws(StoreError) {
        try recordFile.write((tail ?? .none).encoded(), at: record.tailOffset)
        self.tail = tail
    }

    private func setSlot(_ block: Int64, _ checksum: Checksum) throws(StoreError) {
        var failure: StoreError?
        checksum.withBytes { bytes in
            do throws(StoreError) {
                try recordFile.write(bytes, at: record.slotOffset(block))
            } catch { failure = error }
        }
        if let failure { throw failure }
    }

    func setTotal(_ total: Int64) throws(StoreError) {
        if record.total == total { return }
        var known = record
        known.total = total
        try recordFile.write(known.encoded(), at: 0)
        record = known
    }

    /// Reads the recorded blocks and keeps only those that match their checksums.
    ///
    /// - Parameter buffer: Memory for one block; afterwards it contains the tail's bytes, if any.
    func verify(using buffer: UnsafeMutableRawBufferPointer) throws(StoreError) {
        let size = data.status?.size ?? 0
        try recordFile.forEachSlot(of: record, below: BlockMap.count(for: size)) { (block, slot) throws(StoreError) in
            if slot == .none { return }
            if try matches(BlockMap.range(of: block, total: total), slot, buffer) {
                blocks[block] = true
            } else {
                try setSlot(block, .none)
            }
        }
        tail = nil
        if let noted = try recordFile.tail(of: record), !blocks[BlockMap.index(of: noted.start)],
            noted.range.upperBound <= total ?? Int64.max, try matches(noted.range, noted.checksum, buffer)
        {
            tail = noted
        }
    }

    private func matches(
        _ range: Range<Int64>, _ checksum: Checksum, _ buffer: UnsafeMutableRawBufferPointer
    ) throws(StoreError) -> Bool {
        guard range.count <= buffer.count, !range.isEmpty else { return false }
        return try data.checksum(of: range, using: buffer) == checksum
    }

    /// The checksums of the body's blocks. Each block is read again and compared with the received one: the file may have
    /// been modified between its write and the commit.
    ///
    /// - Parameter buffer: Memory for one block.
    /// - Throws: ``StoreError/Code/altered``: blocks that differ are missing from now on; the others can be continued.
    func verifiedChecksums(
        total: Int64, using buffer: UnsafeMutableRawBufferPointer
    ) throws(StoreError) -> BlockChecksums {
        var checksums = BlockChecksums()
        var altered: Int64 = 0
        let count = BlockMap.count(for: total)
        let isWhole = try recordFile.forEachPage(of: record, count: count) { (first, page) throws(StoreError) in
            for position in 0..<page.count / Checksum.byteCount {
                let block = first + Int64(position)
                let received = page.withUnsafeBytes {
                    Checksum(UnsafeRawBufferPointer(rebasing: $0[(position * Checksum.byteCount)...]))
                }
                checksums.append(received)
                if try matches(BlockMap.range(of: block, total: total), received, buffer) { continue }
                altered += 1
                blocks[block] = false
                try setSlot(block, .none)
            }
        }
        if !isWhole {
            // The record was truncated: blocks without a slot do not count.
            for block in 0..<count { blocks[block] = false }
            altered = count
        }
        guard altered == 0 else {
            throw StoreError(
                .altered, "\(altered) of the body's blocks were changed on disk by somebody else", path: data.path)
        }
        return checksums
    }

    func deleteFiles() {
        unlink(recordFile.path)
        unlink(data.path)
    }
}
