import CLinux
import Glibc

/// The file system of a cache directory, and its guarantees for several processes.
///
/// The decision SharedFileSystems has the table with the reasons.
package struct FileSystemKind: Sendable, Equatable {
    /// The name, as `mount` shows it.
    package let name: String
    /// True if other machines may use the same files. Then locks may end at the machine, memory maps of a file may differ, and a process
    /// may read what another machine has replaced. An unknown file system counts as shared.
    package let isShared: Bool

    package init(name: String, isShared: Bool) {
        self.name = name
        self.isShared = isShared
    }

    /// - Parameters:
    ///   - magic: The type of file system in `statfs`.
    ///   - type: The type in the table of mounts, which tells the file systems of FUSE apart.
    package init(magic: UInt32, type: @autoclosure () -> String? = nil) {
        if let name = Self.local(magic) {
            self.init(name: name, isShared: false)
        } else if magic == 0x6573_5546 {
            let type = type() ?? "fuse"
            // A block device, and the layers of a container, belong to one kernel.
            self.init(name: type, isShared: type != "fuseblk" && type != "fuse.fuse-overlayfs")
        } else {
            self.init(name: Self.shared(magic) ?? "a file system of unknown type \(magic)", isShared: true)
        }
    }

    /// Reads the file system of a path, or of its nearest existing parent.
    package init(at path: String) {
        var magic: UInt32 = 0
        var folder = path
        while clinux_file_system(folder, &magic) != 0 {
            guard errno == ENOENT, let slash = folder.lastIndex(of: "/"), folder != "/" else {
                self.init(name: "a file system of unknown type", isShared: true)
                return
            }
            folder = slash == folder.startIndex ? "/" : String(folder[..<slash])
        }
        self.init(magic: magic, type: Self.mountedType(of: folder))
    }

    /// File systems that one kernel changes alone. Their locks and shared memory reach every process that uses them.
    private static func local(_ magic: UInt32) -> String? {
        switch magic {
        case 0xEF53: "ext4"
        case 0x5846_5342: "xfs"
        case 0x9123_683E: "btrfs"
        case 0x0102_1994: "tmpfs"
        case 0x794C_7630: "overlay"
        case 0x2FC1_2FC1: "zfs"
        case 0xF2F5_2010: "f2fs"
        case 0xCA45_1A4E: "bcachefs"
        case 0x8584_58F6: "ramfs"
        case 0x6175_6673: "aufs"
        case 0xF15F: "ecryptfs"
        case 0x3153_464A: "jfs"
        case 0x5265_4973: "reiserfs"
        case 0x3434: "nilfs2"
        case 0x4D44: "vfat"
        case 0x2011_BAB0: "exfat"
        case 0x7366_746E: "ntfs3"
        case 0x5346_544E: "ntfs"
        case 0x7371_7368: "squashfs"
        case 0xE0F5_E1E2: "erofs"
        case 0x9660: "iso9660"
        case 0x1501_3346: "udf"
        default: nil
        }
    }

    private static func shared(_ magic: UInt32) -> String? {
        switch magic {
        case 0x6969: "nfs"
        case 0xFF53_4D42, 0xFE53_4D42, 0x517B: "cifs"
        case 0x00C3_6400: "ceph"
        case 0x0BD0_0BD0: "lustre"
        case 0x4750_4653: "gpfs"
        case 0x1983_0326: "beegfs"
        case 0x0102_1997: "9p"
        case 0x0116_1970: "gfs2"
        case 0x7461_636F: "ocfs2"
        case 0x2003_0528: "orangefs"
        case 0xAAD7_AAEA: "panfs"
        case 0xBEEF_DEAD: "snfs"
        case 0x5346_414F, 0x6B41_4653: "afs"
        case 0x7375_7245: "coda"
        case 0x786F_4256: "vboxsf"
        case 0xBACB_ACBC: "vmhgfs"
        case 0x7C7C_6673: "prl_fs"
        case 0x5346_4846: "wslfs"
        default: nil
        }
    }

    private static func mountedType(of path: String) -> String? {
        var (major, minor): (UInt32, UInt32) = (0, 0)
        guard clinux_device(path, &major, &minor) == 0, let mounts = text(at: "/proc/self/mountinfo") else {
            return nil
        }
        return type(of: "\(major):\(minor)", in: mounts)
    }

    /// The type of the file system with a device number (`MAJOR:MINOR`) in a table of mounts (proc(5), mountinfo).
    static func type(of device: String, in mounts: String) -> String? {
        for line in mounts.utf8.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: " "))
            guard fields.count > 2, fields[2].elementsEqual(device.utf8),
                let separator = fields.firstIndex(where: { $0.elementsEqual("-".utf8) }), separator + 1 < fields.count
            else { continue }
            return String(fields[separator + 1])
        }
        return nil
    }

    /// The first MiB of a file, which has some thousand mounts. A FUSE file system that is not among them counts as shared.
    private static func text(at path: String) -> String? {
        guard let file = try? File(path, O_RDONLY) else { return nil }
        let text = [UInt8](unsafeUninitializedCapacity: 1 << 20) { buffer, count in
            count = readBytes(of: file.descriptor, into: UnsafeMutableRawBufferPointer(buffer), at: 0) ?? 0
        }
        return String(decoding: text, as: UTF8.self)
    }
}

// The use of files, by locks and, where these cannot be trusted, by the process that a name contains.
extension FileSystemKind {
    /// Locks a file without waiting. Where the file system may have no locks, or refuses an exclusive one on a file that is open for reading,
    /// only another holder counts.
    func lock(_ file: File, exclusive: Bool) -> Bool {
        file.tryLock(exclusive: exclusive) || isShared && errno != EWOULDBLOCK
    }

    /// The time in seconds in which a file of another machine counts as in use after its last change.
    private static let quiet: Int64 = 600

    /// True if a process may be writing to a file that it has claimed. Otherwise the file is locked.
    func isInUse(_ file: File, claim: @autoclosure () throws(StoreError) -> Int64, exclusive: Bool = true)
        throws(StoreError) -> Bool
    {
        guard lock(file, exclusive: exclusive) else { return true }
        guard isShared else { return false }
        switch try Claim.state(of: claim()) {
        case .used: return true
        case .free: return false
        case .elsewhere: return wasChangedLately(file)
        }
    }

    /// True if a file was changed so lately, on a shared file system, that another machine may be writing to it.
    func wasChangedLately(_ file: File) -> Bool {
        guard isShared, let status = file.status else { return false }
        return !status.changed.isEarlier(than: .now, by: Self.quiet)
    }
}
