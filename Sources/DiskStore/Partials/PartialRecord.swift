import Glibc

/// The record of a partial, and its layout in the file.
///
///     0   "IMGCPRT1"
///     8   number of the data file       16  total length or -1     24  created, ms since 1970
///     32  length of the key (4 bytes)   36  length of the header (4 bytes)
///     40  offset of the slots           48  16 bytes of zero
///     64  key, header, XXH3-128 of all before it
///     slots - 32   the tail: start, length, XXH3-128 of bytes that do not fill their block
///     slots        16 bytes a block: the block's XXH3-128, or zero while it is not there
///
/// All numbers are little-endian. The record is written before the first byte of the data, and each slot after its
/// block, so a slot is either true of the data or detectably false; it contains its key, so that it is independent of
/// the index.
struct PartialRecord: Equatable, Sendable {
    let id: Int64
    var total: Int64?
    let created: Int64
    let key: EntryKey
    /// The caller's header: validators, URLs, the fields that `Vary` names.
    var header: [UInt8]

    private static let magic: [UInt8] = Array("IMGCPRT1".utf8)
    private static let fixedSize = 64
    /// The greatest plausible length in a record, which may have been written by others.
    private static let largestField = 1 << 24

    var slotsOffset: Int64 {
        let end = Self.fixedSize + key.value.utf8.count + header.count + Checksum.byteCount + Self.tailSize
        return Int64((end + 63) / 64 * 64)
    }

    static let tailSize = 32
    var tailOffset: Int64 { slotsOffset - Int64(Self.tailSize) }
    func slotOffset(_ block: Int64) -> Int64 { slotsOffset + block * Int64(Checksum.byteCount) }

    /// The space that the record of a body of `size` bytes occupies on disk.
    func allocation(for size: Int64) -> Int64 {
        Budget.rounded(slotOffset(BlockMap.count(for: size)))
    }

    func encoded() -> [UInt8] {
        var bytes = Self.magic
        func append(_ value: some FixedWidthInteger) {
            withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
        }
        append(id)
        append(total ?? -1)
        append(created)
        append(UInt32(key.value.utf8.count))
        append(UInt32(header.count))
        append(slotsOffset)
        append(UInt64(0))
        append(UInt64(0))
        bytes += Array(key.value.utf8)
        bytes += header
        let checksum = bytes.withUnsafeBytes { Checksum(of: $0) }
        checksum.withBytes { bytes.append(contentsOf: $0) }
        return bytes
    }

    /// `nil` for a file that is not a complete record.
    init?(reading file: File) throws(StoreError) {
        guard let size = file.status?.size else { return nil }
        guard let fixed = try file.bytes(at: 0, count: Self.fixedSize), Array(fixed.prefix(8)) == Self.magic else {
            return nil
        }
        func number<Number: FixedWidthInteger>(_ offset: Int, _: Number.Type) -> Number {
            fixed.withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Number.self)) }
        }
        let keyLength = Int(number(32, UInt32.self))
        let headerLength = Int(number(36, UInt32.self))
        guard keyLength <= Self.largestField, headerLength <= Self.largestField else { return nil }
        let length = Self.fixedSize + keyLength + headerLength
        guard size >= Int64(length + Checksum.byteCount),
            let all = try file.bytes(at: 0, count: length + Checksum.byteCount)
        else { return nil }
        let matches = all.withUnsafeBytes { bytes in
            Checksum(of: UnsafeRawBufferPointer(rebasing: bytes[..<length]))
                == Checksum(UnsafeRawBufferPointer(rebasing: bytes[length...]))
        }
        guard matches else { return nil }
        let total = number(16, Int64.self)
        guard total <= IncompleteBody.longest else { return nil }
        self.init(
            id: number(8, Int64.self), total: total < 0 ? nil : total, created: number(24, Int64.self),
            key: EntryKey(String(decoding: all[Self.fixedSize..<Self.fixedSize + keyLength], as: UTF8.self)),
            header: Array(all[(Self.fixedSize + keyLength)..<length]))
        // Other zeros, another offset, a key that is not UTF-8: of another version, or not a record.
        guard encoded() == all else { return nil }
    }

    init(id: Int64, total: Int64?, created: Int64, key: EntryKey, header: [UInt8]) {
        self.id = id
        self.total = total
        self.created = created
        self.key = key
        self.header = header
    }
}

/// Bytes of an incomplete block, recorded when a transfer was stopped in an orderly way.
struct PartialTail: Equatable, Sendable {
    let start: Int64
    let length: Int64
    let checksum: Checksum

    static let none = PartialTail(start: 0, length: 0, checksum: .none)

    var range: Range<Int64> { start..<start + length }

    func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        withUnsafeBytes(of: start.littleEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: length.littleEndian) { bytes.append(contentsOf: $0) }
        checksum.withBytes { bytes.append(contentsOf: $0) }
        return bytes
    }

    /// `nil` if there is no valid tail.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == PartialRecord.tailSize else { return nil }
        let numbers = bytes.withUnsafeBytes { raw in
            (0..<2).map { Int64(littleEndian: raw.loadUnaligned(fromByteOffset: $0 * 8, as: Int64.self)) }
        }
        let (start, length) = (numbers[0], numbers[1])
        guard start >= 0, start % BlockMap.blockSize == 0, start < Int64.max / 2, length > 0,
            length < BlockMap.blockSize
        else { return nil }
        self.init(
            start: start, length: length,
            checksum: bytes.withUnsafeBytes { Checksum(UnsafeRawBufferPointer(rebasing: $0[16...])) })
    }

    init(start: Int64, length: Int64, checksum: Checksum) {
        self.start = start
        self.length = length
        self.checksum = checksum
    }
}

extension File {
    /// Calls `body` with each block, below `limit`, that the record has a slot for.
    func forEachSlot(
        of record: PartialRecord, below limit: Int64 = .max,
        _ body: (Int64, Checksum) throws(StoreError) -> Void
    ) throws(StoreError) {
        let slots = max(0, (status?.size ?? 0) - record.slotsOffset) / Int64(Checksum.byteCount)
        let count = min(slots, record.total.map(BlockMap.count) ?? slots, limit)
        _ = try forEachPage(of: record, count: count) { (first, page) throws(StoreError) in
            for position in 0..<page.count / Checksum.byteCount {
                try body(
                    first + Int64(position),
                    page.withUnsafeBytes {
                        Checksum(UnsafeRawBufferPointer(rebasing: $0[(position * Checksum.byteCount)...]))
                    })
            }
        }
    }

    /// Calls `body` with the record's first `count` slots, some thousands at a time, and the first one's block. Returns
    /// false if the file ends before them.
    func forEachPage(
        of record: PartialRecord, count: Int64, _ body: (Int64, [UInt8]) throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        var block: Int64 = 0
        while block < count {
            let some = min(count - block, 4096)
            guard let page = try bytes(at: record.slotOffset(block), count: Int(some) * Checksum.byteCount) else {
                return false
            }
            try body(block, page)
            block += some
        }
        return true
    }

    /// The recorded tail, if any.
    func tail(of record: PartialRecord) throws(StoreError) -> PartialTail? {
        try bytes(at: record.tailOffset, count: PartialRecord.tailSize).flatMap { PartialTail($0) }
    }

    /// Exactly `count` bytes, or nil if the file is shorter.
    func bytes(at offset: Int64, count: Int) throws(StoreError) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: count)
        var failure: StoreError?
        let read = buffer.withUnsafeMutableBytes { buffer -> Int in
            do throws(StoreError) {
                return try self.read(into: buffer, at: offset)
            } catch {
                failure = error
                return 0
            }
        }
        if let failure { throw failure }
        return read == count ? buffer : nil
    }

    func write(_ bytes: [UInt8], at offset: Int64) throws(StoreError) {
        var failure: StoreError?
        bytes.withUnsafeBytes { bytes in
            do throws(StoreError) { try write(bytes, at: offset) } catch { failure = error }
        }
        if let failure { throw failure }
    }
}
