import Glibc
import Testing

@testable import DiskStore

@Suite struct FileSystemKindTests {
    @Test(
        arguments: [
            (0x6969, "nfs"), (0xFF53_4D42, "cifs"), (0xFE53_4D42, "cifs"), (0x00C3_6400, "ceph"),
            (0x0BD0_0BD0, "lustre"),
            (0x4750_4653, "gpfs"), (0x0102_1997, "9p"), (0x1983_0326, "beegfs"), (0x0116_1970, "gfs2"),
        ] as [(UInt32, String)])
    func `a file system of several machines is shared`(magic: UInt32, name: String) {
        #expect(FileSystemKind(magic: magic) == FileSystemKind(name: name, isShared: true))
    }

    @Test(
        arguments: [
            (0xEF53, "ext4"), (0x5846_5342, "xfs"), (0x9123_683E, "btrfs"), (0x0102_1994, "tmpfs"),
            (0x794C_7630, "overlay"), (0x2FC1_2FC1, "zfs"),
        ] as [(UInt32, String)])
    func `a file system of one kernel is not shared`(magic: UInt32, name: String) {
        #expect(FileSystemKind(magic: magic) == FileSystemKind(name: name, isShared: false))
    }

    @Test func `an unknown file system counts as shared`() {
        #expect(FileSystemKind(magic: 0x1234_5678).isShared)
    }

    @Test(
        arguments: [
            (nil, "fuse", true), ("fuse.sshfs", "fuse.sshfs", true), ("virtiofs", "virtiofs", true),
            ("fuseblk", "fuseblk", false), ("fuse.fuse-overlayfs", "fuse.fuse-overlayfs", false),
        ] as [(String?, String, Bool)])
    func `the table of mounts distinguishes the file systems of FUSE`(type: String?, name: String, isShared: Bool) {
        #expect(
            FileSystemKind(magic: 0x6573_5546, type: type) == FileSystemKind(name: name, isShared: isShared))
    }

    @Test func `the type of a mount is found by its device, behind any number of optional fields`() {
        let mounts = """
            22 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw
            30 22 0:41 / /home/a\\040b rw - fuse.sshfs host:/ rw
            31 22 0:4 / /proc rw shared:3 - proc proc rw
            """
        #expect(FileSystemKind.type(of: "254:0", in: mounts) == "ext4")
        #expect(FileSystemKind.type(of: "0:41", in: mounts) == "fuse.sshfs")
        #expect(FileSystemKind.type(of: "0:4", in: mounts) == "proc")
        #expect(FileSystemKind.type(of: "0:5", in: mounts) == nil)
        #expect(FileSystemKind.type(of: "0:4", in: "1 2 0:4 /") == nil)
    }

    @Test func `a path that does not exist yet is on the file system of its parent`() {
        #expect(FileSystemKind(at: "/proc/self/a/b") == FileSystemKind(at: "/proc"))
        #expect(FileSystemKind(at: "/does-not-exist/a") == FileSystemKind(at: "/"))
    }

    // MARK: Claims

    @Test func `a claim is in use as long as it is noted`() {
        let claim = Claim.new()
        #expect(Claim.state(of: claim) == .free)
        Claim.note(claim, isUsed: true)
        #expect(Claim.state(of: claim) == .used)
        Claim.note(claim, isUsed: false)
        #expect(Claim.state(of: claim) == .free)
        #expect(claim >= 0)
    }

    @Test func `a claim of another process is in use while that process lives`() {
        #expect(Claim.state(of: Claim.of(process: 1)) == .used)
        // Above the kernel's greatest number of a process.
        #expect(Claim.state(of: Claim.of(process: 4_194_303)) == .free)
        #expect(Claim.state(of: Claim.released()) == .free)
    }

    @Test func `a claim of another machine does not tell if its process lives`() {
        #expect(Claim.state(of: Claim.new() ^ 1 << 50) == .elsewhere)
    }

    @Test func `a run lives as long as its process`() {
        let run = Claim.newRun()
        #expect(Claim.isAlive(run: run))
        #expect(run > 0 && run < LockByte.runs)
        #expect(!Claim.isAlive(run: run ^ 1 << 35))
    }
}
