import CLinux
import Glibc

/// An open file, closed with the last reference.
final class File: Sendable {
    let descriptor: Int32
    let path: String

    init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    /// Opens a regular file.
    ///
    /// Opening never waits: other processes may have put a FIFO in place of a file of the store.
    ///
    /// - Throws: ``StoreError``; of ``StoreError/isOfOtherKind`` if a folder, FIFO, socket, device or symbolic link is at the path.
    convenience init(_ path: String, _ flags: Int32, mode: mode_t = 0) throws(StoreError) {
        let descriptor = clinux_open(path, flags | O_NOFOLLOW | O_NONBLOCK, mode)
        if descriptor < 0 { throw .system("cannot open", path: path) }
        self.init(descriptor: descriptor, path: path)
        guard let status else { throw .system("cannot open", path: path) }
        if !status.isRegular {
            throw .system("not a regular file", path: path, errno: status.isFolder ? EISDIR : ENXIO)
        }
    }

    /// Opens a file for reading; `nil` if there is none that this process can read: nothing, the file of another owner, or something else is at
    /// the path.
    ///
    /// - Throws: If it is unknown whether there is one.
    static func ifReadable(_ path: String) throws(StoreError) -> File? {
        do throws(StoreError) {
            return try File(path, O_RDONLY)
        } catch  where error.isOfAbsence || error.isOfOtherKind || error.code == .notWritable {
            return nil
        }
    }

    deinit {
        unlock()
        close(descriptor)
    }

    /// Ends the file's lock, if it has one. Closing is not enough: a child process that has just been forked shares the open file until it
    /// runs its program.
    func unlock() { flock(descriptor, LOCK_UN) }

    var status: FileStatus? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? FileStatus(status) : nil
    }

    /// Writes all bytes at `offset`.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(StoreError) {
        var done = 0
        while done < bytes.count {
            let count = pwrite(
                descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, off_t(offset) + off_t(done))
            if count < 0 {
                if errno == EINTR { continue }
                throw .system("cannot write", path: path)
            }
            done += count
        }
    }

    /// Reads until the buffer is full or the file ends; returns the number of bytes.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StoreError) -> Int {
        guard let count = readBytes(of: descriptor, into: buffer, at: offset) else {
            throw .system("cannot read", path: path)
        }
        return count
    }

    /// Tries `flock` without waiting. The lock belongs to this open file, and the kernel releases it when the holder
    /// dies.
    func tryLock(exclusive: Bool) -> Bool {
        flock(descriptor, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0
    }
}

/// Reads with `pread` until the buffer is full or the file ends. Returns the number of bytes; `nil` after a failure, with `errno` set.
package func readBytes(of descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
    var done = 0
    while done < buffer.count {
        let count = pread(
            descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done, off_t(offset) + off_t(done))
        if count < 0 {
            if errno == EINTR { continue }
            return nil
        }
        if count == 0 { break }
        done += count
    }
    return done
}

/// A time of a file, since 1970.
struct FileTime: Equatable {
    let seconds: Int64
    let nanoseconds: Int64

    init(_ time: timespec) {
        seconds = Int64(time.tv_sec)
        nanoseconds = Int64(time.tv_nsec)
    }

    /// The present time by the clock that file systems use.
    static var now: FileTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return FileTime(time)
    }

    /// Returns true if the time is earlier than another one by at least the given number of seconds.
    func isEarlier(than other: FileTime, by seconds: Int64) -> Bool {
        (self.seconds + seconds, nanoseconds) < (other.seconds, other.nanoseconds)
    }
}

/// The properties of `stat` that the store uses.
struct FileStatus: Equatable {
    /// The identity of a file, independent of its names.
    struct Identity: Equatable {
        let device: UInt64
        let inode: UInt64
    }

    let identity: Identity
    let size: Int64
    /// The space that it occupies on disk, as counted by `du`.
    let allocated: Int64
    /// The space that counts towards the capacity: at least a page.
    var counted: Int64 { max(allocated, Budget.page) }
    let links: Int
    let isFolder: Bool
    let isRegular: Bool
    /// The time of the last change of its content.
    let modified: FileTime
    /// The time of the last change of its content, its names or its state.
    let changed: FileTime

    init(_ status: stat) {
        identity = Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
        size = Int64(status.st_size)
        allocated = Int64(status.st_blocks) * 512
        links = Int(status.st_nlink)
        isFolder = status.st_mode & S_IFMT == S_IFDIR
        isRegular = status.st_mode & S_IFMT == S_IFREG
        modified = FileTime(status.st_mtim)
        changed = FileTime(status.st_ctim)
    }

    /// Reads the status of the name itself, not of the target of a symbolic link.
    init?(at path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// The status of a name; `nil` only if nothing is at the path.
    ///
    /// - Throws: If it is unknown whether something is there.
    static func ifPresent(_ path: String) throws(StoreError) -> FileStatus? {
        if let status = FileStatus(at: path) { return status }
        if StoreError.isOfAbsence(errno) { return nil }
        throw .system("cannot look at the file", path: path)
    }
}

extension StoreError {
    /// True if a file could not be opened because something else is at its path: a folder, FIFO, socket, device or symbolic link.
    var isOfOtherKind: Bool { errno.map { [EISDIR, ENXIO, ELOOP, ENODEV].contains($0) } ?? false }

    /// True if nothing is at the path.
    var isOfAbsence: Bool { errno.map(Self.isOfAbsence) ?? false }

    static func isOfAbsence(_ number: Int32) -> Bool { number == ENOENT || number == ENOTDIR }
}

/// Removes a name in the store's folders, whatever kind of file it is. A folder is removed only if it is empty.
///
/// - Returns: True if nothing is at the path afterwards.
@discardableResult
func removeName(_ path: String) -> Bool {
    unlink(path) == 0 || errno == ENOENT || (errno == EISDIR || errno == EPERM) && rmdir(path) == 0
}

/// Calls `body` with each name in a folder. A missing folder has none, nor has a file in its place.
///
/// - Throws: If the folder cannot be read to its end, so that it does not count as an empty one.
func forEachName(in folder: String, _ body: (String) throws(StoreError) -> Void) throws(StoreError) {
    guard let stream = opendir(folder) else {
        if StoreError.isOfAbsence(errno) { return }
        throw .system("cannot list the folder", path: folder)
    }
    defer { closedir(stream) }
    while let name = clinux_next_name(UnsafeMutableRawPointer(stream)) {
        try body(String(cString: name))
    }
    if errno != 0 { throw .system("cannot list the folder", path: folder) }
}

/// The number of bytes available to an unprivileged user on the file system of `path`.
package func freeSpace(at path: String) -> Int64? {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { return nil }
    let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
    return overflow ? Int64.max / 2 : min(Int64(clamping: bytes), Int64.max / 2)
}

extension FileStatus {
    /// Returns true if the file system of `path` is read-only.
    static func isReadOnly(at path: String) -> Bool {
        var status = statvfs()
        return statvfs(path, &status) == 0 && status.f_flag & UInt(ST_RDONLY) != 0
    }
}
