import CLinux
import Glibc

/// The file of a body that is written at once: unnamed until it is complete, so that a kill leaves nothing.
///
/// On file systems without O_TMPFILE it has a name among the partials, which the sweep recognises as unowned.
final class SmallBodyFile {
    let file: File
    private let isNamed: Bool

    init(in paths: Paths) throws(StoreError) {
        let unnamed = clinux_open_unnamed(paths.bodies, 0o400)
        if unnamed >= 0 {
            file = File(descriptor: unnamed, path: paths.bodies)
            isNamed = false
            return
        }
        switch errno {
        case EOPNOTSUPP, EISDIR, EINVAL, ENOSYS:
            let name = "\(paths.partials)/\(Paths.hex(Index.newClaim())).small"
            file = try File(name, O_RDWR | O_CREAT | O_EXCL, mode: 0o400)
            // Locked at once: a sweep deletes unlocked files as leftovers.
            _ = file.tryLock(exclusive: false)
            isNamed = true
        default: throw .system("cannot make a file", path: paths.bodies)
        }
    }

    deinit {
        if isNamed { unlink(file.path) }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        _ = file.tryLock(exclusive: false)
        try file.write(bytes, at: 0)
    }

    var allocated: Int64 { file.status?.allocated ?? 0 }

    /// Gives the file its final name, which must be unused.
    func install(_ path: String) throws(StoreError) {
        let result = isNamed ? link(file.path, path) : clinux_link_unnamed(file.descriptor, path)
        if result != 0 { throw .system("cannot move the body to its place", path: path) }
    }
}
