import CLinux
import Glibc

/// The file `generations`, mapped: 64-bit stamps that every process on the directory sees change.
///
///     word 0     "IMGCGEN1"
///     word 1     the stamp of everything
///     words 2-7  zero
///     then, for each of 2,044 slots, two words: the stamp of invalidations, and that of changes
///
/// A stamp has no order: each change writes a new random one, so that none is lost whatever happens to the file. Whoever read
/// the stamp before finds another one afterwards.
///
/// Stamps are read through the mapping, in nanoseconds, and written by `pwrite`, which fails where a write to mapped memory
/// would end the process: on a full file system. The file has its full length before it gets its name, is never cut and never
/// written over as a whole, so that a mapping always has pages behind it. (Whoever truncates it from outside ends the processes
/// that have it mapped, as with the shared memory of SQLite's log.)
///
/// `@unchecked Sendable`: the memory is constant in place and size while the object lives; its words are read and written by
/// atomic operations and by the kernel.
final class GenerationTable: @unchecked Sendable {
    static let slots = 2044
    private static let header = 8
    private static let everything = 1
    static let byteCount = (header + slots * 2) * 8
    private static let magic: [UInt8] = Array("IMGCGEN1".utf8)

    private enum Memory {
        case mapped(UnsafePointer<UInt64>, File)
        /// For a process alone, where there is no file to be had.
        case own(UnsafeMutablePointer<UInt64>)
    }

    private let memory: Memory
    /// The file that is mapped; nil for a process's own memory.
    let identity: FileStatus.Identity?

    /// Whether a file is a table of ours, as far as its length and beginning tell.
    static func isTable(_ file: File) -> Bool {
        guard let status = file.status, status.isRegular, status.size == Int64(byteCount) else { return false }
        return (try? file.bytes(at: 0, count: magic.count)) == magic
    }

    /// Maps a file; nil when it is none of ours, or cannot be mapped.
    init?(_ file: File) {
        guard Self.isTable(file), let status = file.status,
            let words = clinux_map_shared(file.descriptor, Self.byteCount)
        else { return nil }
        memory = .mapped(words, file)
        identity = status.identity
    }

    /// A table that no other process sees.
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
        case .own(let words): words.deallocate()
        }
    }

    /// What a new file holds. Its stamp of everything is new too: what was read from an older file is of no generation here.
    static var initialBytes: [UInt8] {
        var bytes = magic
        withUnsafeBytes(of: newStamp) { bytes.append(contentsOf: $0) }
        return bytes + [UInt8](repeating: 0, count: byteCount - bytes.count)
    }

    static func slot(of resource: String) -> Int {
        Int(UInt64(bitPattern: keyHash(EntryKey(resource))) % UInt64(slots))
    }

    /// The slot of the resource and all that differ from it after a question mark alone.
    static func slot(ofAllLike resource: String) -> Int {
        guard let mark = resource.utf8.firstIndex(of: UInt8(ascii: "?")) else { return slot(of: resource) }
        return slot(of: String(resource[..<mark]))
    }

    private static var newStamp: UInt64 { UInt64.random(in: 1 ... .max) }

    // MARK: Reading

    func generation(of resource: String) -> Generation {
        let slot = Self.slot(of: resource)
        let wider = Self.slot(ofAllLike: resource)
        let change = self[Self.changeWord(slot)]
        return Generation(
            epoch: Generation.Epoch(
                slot: wider, everything: self[Self.everything], invalidation: self[Self.invalidationWord(wider)]),
            slot: slot, change: change)
    }

    func isCurrent(_ epoch: Generation.Epoch) -> Bool {
        self[Self.everything] == epoch.everything && !isInvalidated(since: epoch)
    }

    func isInvalidated(since epoch: Generation.Epoch) -> Bool {
        self[Self.invalidationWord(epoch.slot)] != epoch.invalidation
    }

    func isCurrent(_ generation: Generation) -> Bool {
        isCurrent(generation.epoch) && self[Self.changeWord(generation.slot)] == generation.change
    }

    private subscript(word: Int) -> UInt64 {
        switch memory {
        case .mapped(let words, _): clinux_load(words + word)
        case .own(let words): clinux_load(words + word)
        }
    }

    // MARK: Changing

    func invalidate(_ scope: InvalidationScope) throws(StoreError) {
        switch scope {
        case .everything: try renew(Self.everything)
        case .resource(let resource):
            try renew(Self.invalidationWord(Self.slot(ofAllLike: resource)))
            try renew(Self.changeWord(Self.slot(of: resource)))
        }
    }

    /// Notes a change of the generation's resource; returns the generation after it.
    func change(_ generation: Generation) throws(StoreError) -> Generation {
        Generation(
            epoch: generation.epoch, slot: generation.slot, change: try renew(Self.changeWord(generation.slot)))
    }

    @discardableResult
    private func renew(_ word: Int) throws(StoreError) -> UInt64 {
        let stamp = Self.newStamp
        switch memory {
        case .own(let words): clinux_store(words + word, stamp)
        case .mapped(_, let file):
            try withUnsafeBytes(of: stamp) { (bytes) throws(StoreError) in try file.write(bytes, at: Int64(word) * 8) }
        }
        return stamp
    }

    private static func invalidationWord(_ slot: Int) -> Int { header + slot * 2 }
    private static func changeWord(_ slot: Int) -> Int { header + slot * 2 + 1 }
}
