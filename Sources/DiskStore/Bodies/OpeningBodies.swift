import ConcurrencyPrimitives
import Glibc
import Logging

extension DiskStore {
    /// Opens an entry's body without recording a use: see ``touch(_:)``.
    ///
    /// The length is checked always, the checksum once after each boot: bodies are written without fsync, so a power
    /// failure may damage them. nil, a miss, if the body is missing or fails the check: its entry is then removed.
    ///
    /// - Parameter isHeld: True if the store holds the body already.
    package func open(_ entry: StoredEntry, isHeld: Bool = false) throws(StoreError) -> StoredBody? {
        let body = try openChecked(entry)
        return isHeld ? body : try held([body])[0]
    }

    /// Opens the bodies of several entries, as ``open(_:isHeld:)``, and holds them in one transaction.
    package func open(_ entries: [StoredEntry]) throws(StoreError) -> [StoredBody?] {
        var bodies: [StoredBody?] = []
        for entry in entries { bodies.append(try openChecked(entry)) }
        return try held(bodies)
    }

    /// Opens an entry's body without a hold.
    private func openChecked(_ entry: StoredEntry) throws(StoreError) -> StoredBody? {
        let path = paths.body(entry.id)
        let file: File
        do throws(StoreError) {
            file = try File(path, O_RDONLY)
        } catch {
            if error.isOfResources { throw error }
            return try drop(entry, because: "its body cannot be opened")
        }
        // Only deletion takes the exclusive lock; a file unlinked before the shared lock was obtained is a miss as
        // well. By its name: a body may have further ones, see ``LinkMode/hardlink``.
        guard fileSystem.lock(file, exclusive: false), let status = file.status,
            FileStatus(at: path)?.identity == status.identity
        else { return nil }
        guard status.isRegular, status.size == entry.size else {
            return try drop(entry, file, because: "its body has another length")
        }
        let boot = configuration.boot()
        let former = CheckMark.isLinked(entry.boot) ? entry.boot : firstMark ?? entry.boot
        if !CheckMark.isChecked(former, status, boot: boot) {
            guard try checksum(of: file, size: entry.size) == entry.checksum else {
                return try drop(entry, file, because: "its body does not match its checksum")
            }
            try mark(entry, after: former, checkedAs: status, boot: boot)
        }
        return StoredBody(entry: entry, file: file, path: path, modified: status.modified, store: self)
    }

    /// The mark of a body that has none: on a shared file system it counts as verified only while its file is unchanged, like one with
    /// another name, because another machine may replace it.
    var firstMark: Int64? { fileSystem.isShared ? CheckMark.linked : nil }

    /// Notes that a body was found right, for the next one who opens it.
    private func mark(
        _ entry: StoredEntry, after former: Int64, checkedAs status: FileStatus, boot: Int64
    ) throws(StoreError) {
        guard !configuration.isReadOnly, boot != 0,
            let mark = CheckMark.checked(after: former, status, boot: boot, now: .now)
        else { return }
        try withIndex { (index) throws(StoreError) in try index.replace(entry.boot, by: mark, of: entry.id) }
    }

    /// The time that a stored body waits for its hold while another process changes the index.
    private static let waitForHold = Duration.seconds(1)

    /// The bodies that are held now, if the store holds bodies; `nil` for those that are gone. On a full disk, and while another process
    /// keeps the index from being changed, they are delivered without a hold.
    private func held(_ bodies: [StoredBody?]) throws(StoreError) -> [StoredBody?] {
        let entries = bodies.compactMap { $0?.entry }
        if !configuration.holdsBodies || entries.isEmpty { return bodies }
        let held: Set<Int64>
        do throws(StoreError) {
            held = try withIndex(waitingFor: Self.waitForHold) { (index) throws(StoreError) in try index.hold(entries) }
        } catch  where error.code == .full || error.code == .notWritable {
            return bodies
        } catch  where error.code == .busy {
            configuration.logger.info("stored files are delivered without a hold", metadata: ["reason": "\(error)"])
            return bodies
        }
        return bodies.map { $0.flatMap { held.contains($0.entry.id) ? $0 : nil } }
    }

    /// Removes an entry whose body failed a check, unless another process keeps the index from being changed. Its intact blocks are kept, if
    /// possible. Always returns nil.
    private func drop(
        _ entry: StoredEntry, _ file: File? = nil, because reason: String
    ) throws(StoreError) -> StoredBody? {
        let isRemoved: Bool
        do throws(StoreError) {
            if let file, let kept = (try? salvage(entry, file)) ?? nil {
                configuration.logger.warning(
                    "the damaged blocks of an entry are fetched again: \(reason)",
                    metadata: ["url": "\(entry.url)", "intact bytes": "\(kept)", "of": "\(entry.size)"])
                return nil
            }
            isRemoved = configuration.isReadOnly ? false : try remove(entry)
        } catch  where error.code == .busy {
            return nil
        }
        // It may have been evicted or replaced meanwhile, which is not damage.
        if isRemoved {
            configuration.logger.warning(
                "an entry was dropped: \(reason)", metadata: ["url": "\(entry.url)", "path": "\(paths.body(entry.id))"])
        }
        return nil
    }

    /// Reads a body and returns its checksum; nil if it cannot be read or is too short.
    func checksum(of file: File, size: Int64) throws(StoreError) -> Checksum? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(BlockMap.blockSize), alignment: 64)
        defer { buffer.deallocate() }
        var checksum = BodyChecksum()
        for block in 0..<BlockMap.count(for: size) {
            let range = BlockMap.range(of: block, total: size)
            guard let block = (try? file.checksum(of: range, using: buffer)) ?? nil else { return nil }
            checksum.add(block)
        }
        return checksum.finish(length: size)
    }
}

extension Index {
    /// Replaces an entry's ``CheckMark``, unless another process has replaced it meanwhile.
    ///
    /// Left to the next use while another process changes the index.
    func replace(_ old: Int64, by mark: Int64, of id: Int64) throws(StoreError) {
        _ = try changeUnlessBusy { (_) throws(StoreError) in try catalogue().entries.replace(old, by: mark, of: id) }
    }

    /// Sets an entry's ``CheckMark``.
    func save(_ mark: Int64, of id: Int64) throws(StoreError) {
        try change { (_) throws(StoreError) in try catalogue().entries.save(mark, of: id) }
    }
}

/// The machine's present boot.
enum Boot {
    /// The time since boot, including suspended time.
    static var uptime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    private static let known = Locked<Int64?>(nil)

    /// The kernel's random identifier of this boot; 0 while it cannot be read: a body is then checked whenever it is
    /// opened.
    static var current: Int64 {
        known.withLock { known in
            if known == nil { known = read() }
            return known ?? 0
        }
    }

    private static func read() -> Int64? {
        guard let file = try? File("/proc/sys/kernel/random/boot_id", O_RDONLY),
            let text = try? file.bytes(at: 0, count: 36)
        else { return nil }
        let hash = text.withUnsafeBytes { Checksum(of: $0).low }
        return Int64(bitPattern: hash | 1)
    }
}
