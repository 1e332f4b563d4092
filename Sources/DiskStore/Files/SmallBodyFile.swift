import CLinux
import Glibc

/// The file of a small body, which is written in one step. It is unnamed until it is complete, so that a kill leaves nothing behind.
///
/// On file systems without O_TMPFILE it has a name among the partials, which the sweep recognises as unowned.
final class SmallBodyFile {
    let file: File
    private let paths: Paths
    /// Its name among the partials, if it has one.
    private var name: String?
    /// The claim in that name.
    private var claim: Int64?

    init(in paths: Paths) throws(StoreError) {
        self.paths = paths
        let unnamed = clinux_open_unnamed(paths.bodies, 0o400)
        if unnamed >= 0 {
            file = File(descriptor: unnamed, path: paths.bodies)
            return
        }
        switch errno {
        case EOPNOTSUPP, EISDIR, EINVAL, ENOSYS:
            let claim = Claim.used()
            let name = Self.name(claim, in: paths)
            self.claim = claim
            file = try File(name, O_RDWR | O_CREAT | O_EXCL, mode: 0o400)
            // Locked immediately, because a sweep deletes unlocked files as leftovers.
            _ = file.tryLock(exclusive: false)
            self.name = name
        default: throw .system("cannot make a file", path: paths.bodies)
        }
    }

    deinit {
        if let name { unlink(name) }
        if let claim { Claim.note(claim, isUsed: false) }
    }

    private static func name(_ claim: Int64, in paths: Paths) -> String {
        "\(paths.partials)/\(Paths.hex(claim)).small"
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        _ = file.tryLock(exclusive: false)
        try file.write(bytes, at: 0)
    }

    var allocated: Int64 { file.status?.allocated ?? 0 }

    /// Gives the file its final name, which must be unused.
    func install(_ path: String) throws(StoreError) {
        let result = name.map { link($0, path) } ?? clinux_link_unnamed(file.descriptor, path)
        if result != 0 { throw .system("cannot move the body to its place", path: path) }
    }

    /// Takes the final name away, so that the file can get another one.
    func uninstall(_ path: String) {
        // A file that has lost its name cannot get a new one.
        let claim = claim ?? Claim.used()
        self.claim = claim
        let other = Self.name(claim, in: paths)
        if name == nil, rename(path, other) == 0 { name = other } else { unlink(path) }
    }
}
