import CLinux
import Glibc
import Synchronization

/// The mapped file `generations`: 64-bit stamps whose changes are visible to every process on the directory.
///
///     word 0     "IMGCGEN2"
///     word 1     the stamp of everything
///     words 2-7  zero
///     then, for each of 2,044 slots, three words: the stamps of invalidations, of changes, and of the last change that the index shows
///
/// Stamps are unordered: each change writes one that no other has, so that no change is lost even if the file is damaged.
///
/// A change writes its stamp inside the transaction of the index, and writes the slot's third word after the transaction. In between, the
/// slot is not settled: a reader of its generation may see the index without the change. The third word is written without a lock. A process
/// that finds another change after it has written may have undone what that change wrote, and settles the slot inside a transaction. If one
/// is killed before it writes, the slot stays unsettled until its next change or commit, or until the next sweep. Meanwhile, readers must
/// query the index.
///
/// Stamps are read through the mapping, in nanoseconds, and written by `pwrite`, which fails on a full file system,
/// where a write to mapped memory would end the process. The file has its full length before it gets its name, and is
/// never truncated or rewritten as a whole, so that mapped pages always exist. (Truncating it from outside ends the
/// processes that map it, as with the shared memory of SQLite's log.)
///
/// `@unchecked Sendable`: the memory has a constant address and size while the object lives. Its words are read and written by atomic
/// operations and by the kernel.
final class GenerationTable: @unchecked Sendable {
    static let slots = 2044
    private static let header = 8
    private static let everything = 1
    static let byteCount = (header + slots * 3) * 8
    private static let magic: [UInt8] = Array("IMGCGEN2".utf8)

    private enum Memory {
        case mapped(UnsafePointer<UInt64>, File)
        /// Read word by word.
        case read(File)
        /// Memory of this process only, if the file is unavailable.
        case own(UnsafeMutablePointer<UInt64>)
    }

    private let memory: Memory
    /// The identity of the mapped file; nil for the process's own memory.
    let identity: FileStatus.Identity?

    /// Returns true if a file has the length and the first bytes of a table.
    static func isTable(_ file: File) -> Bool {
        guard let status = file.status, status.isRegular, status.size == Int64(byteCount) else { return false }
        return (try? file.bytes(at: 0, count: magic.count)) == magic
    }

    /// Uses a file; nil if it is not a table, or cannot be mapped.
    init?(_ file: File, isMapped: Bool = true) {
        guard Self.isTable(file), let status = file.status else { return nil }
        if isMapped {
            guard let words = clinux_map_shared(file.descriptor, Self.byteCount) else { return nil }
            memory = .mapped(words, file)
        } else {
            memory = .read(file)
        }
        identity = status.identity
    }

    /// Creates a table that is private to this process.
    init() {
        let words = UnsafeMutablePointer<UInt64>.allocate(capacity: Self.byteCount / 8)
        words.initialize(repeating: 0, count: Self.byteCount / 8)
        words[Self.everything] = Self.newStamp
        memory = .own(words)
        identity = nil
    }

    deinit {
        switch memory {
        case .mapped(let words, _): clinux_unmap(words, Self.byteCount)
        case .read: break
        case .own(let words): words.deallocate()
        }
    }

    /// The content of a new file. Its stamp of everything is new as well: content read under an older file has no
    /// generation here.
    static var initialBytes: [UInt8] {
        var bytes = magic
        withUnsafeBytes(of: newStamp) { bytes.append(contentsOf: $0) }
        return bytes + [UInt8](repeating: 0, count: byteCount - bytes.count)
    }

    static func slot(of resource: String) -> Int {
        Int(UInt64(bitPattern: keyHash(EntryKey(resource))) % UInt64(slots))
    }

    /// The slot of the resource, which it shares with all resources that differ only after a question mark.
    static func slot(ofAllLike resource: String) -> Int {
        guard let mark = resource.utf8.firstIndex(of: UInt8(ascii: "?")) else { return slot(of: resource) }
        return slot(of: String(resource[..<mark]))
    }

    private static let lastStamp = Atomic<UInt64>(.random(in: .min ... .max))

    /// A stamp that no other change has: counted from a random one in each process, without a system call for each.
    private static var newStamp: UInt64 { max(1, lastStamp.wrappingAdd(1, ordering: .relaxed).newValue) }

    // MARK: Reading

    func generation(of resource: String) -> Generation {
        let slot = Self.slot(of: resource)
        let wider = Self.slot(ofAllLike: resource)
        let change = self[Self.changeWord(slot)]
        return Generation(
            epoch: Generation.Epoch(
                slot: wider, everything: self[Self.everything], invalidation: self[Self.invalidationWord(wider)]),
            slot: slot, change: change, isSettled: self[Self.settledWord(slot)] == change)
    }

    func isCurrent(_ epoch: Generation.Epoch) -> Bool {
        self[Self.everything] == epoch.everything && !isInvalidated(since: epoch)
    }

    func isInvalidated(since epoch: Generation.Epoch) -> Bool {
        self[Self.invalidationWord(epoch.slot)] != epoch.invalidation
    }

    func isCurrent(_ generation: Generation) -> Bool {
        generation.isSettled && isCurrent(generation.epoch)
            && self[Self.changeWord(generation.slot)] == generation.change
    }

    private subscript(word: Int) -> UInt64 {
        switch memory {
        case .mapped(let words, _): clinux_load(words + word)
        // A word that cannot be read is like no other, so that nothing counts as current.
        case .read(let file):
            (try? file.bytes(at: Int64(word) * 8, count: 8))?.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
                ?? Self.newStamp
        case .own(let words): clinux_load(words + word)
        }
    }

    // MARK: Changing

    func invalidate(_ scope: InvalidationScope) throws(StoreError) {
        switch scope {
        case .everything: try renew(Self.everything)
        case .resource(let resource):
            try renew(Self.invalidationWord(Self.slot(ofAllLike: resource)))
            let slot = Self.slot(of: resource)
            try write(try renew(Self.changeWord(slot)), Self.settledWord(slot))
        }
    }

    /// Records a change of the generation's resource, inside a transaction; returns the generation after it.
    func change(_ generation: Generation) throws(StoreError) -> Generation {
        Generation(
            epoch: generation.epoch, slot: generation.slot, change: try renew(Self.changeWord(generation.slot)),
            isSettled: true)
    }

    /// Records that the index shows a change, or that it never will. Not if there was another change since, which records that for
    /// itself.
    ///
    /// - Returns: False if another change came while this was recorded, so that what it recorded may be undone. The slot must then be settled
    ///   inside a transaction.
    func settle(_ changed: Generation) throws(StoreError) -> Bool {
        guard self[Self.changeWord(changed.slot)] == changed.change else { return true }
        try write(changed.change, Self.settledWord(changed.slot))
        return self[Self.changeWord(changed.slot)] == changed.change
    }

    /// Settles a slot that was left unsettled. Inside a transaction, where no other change is under way; not one that has
    /// changed the slot itself.
    func settle(slot: Int) throws(StoreError) {
        let change = self[Self.changeWord(slot)]
        if self[Self.settledWord(slot)] != change { try write(change, Self.settledWord(slot)) }
    }

    @discardableResult
    private func renew(_ word: Int) throws(StoreError) -> UInt64 {
        let stamp = Self.newStamp
        try write(stamp, word)
        return stamp
    }

    private func write(_ stamp: UInt64, _ word: Int) throws(StoreError) {
        switch memory {
        case .own(let words): clinux_store(words + word, stamp)
        case .mapped(_, let file), .read(let file):
            try withUnsafeBytes(of: stamp) { (bytes) throws(StoreError) in try file.write(bytes, at: Int64(word) * 8) }
        }
    }

    private static func invalidationWord(_ slot: Int) -> Int { header + slot * 3 }
    private static func changeWord(_ slot: Int) -> Int { header + slot * 3 + 1 }
    private static func settledWord(_ slot: Int) -> Int { header + slot * 3 + 2 }
}
