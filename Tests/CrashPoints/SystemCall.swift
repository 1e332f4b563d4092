import CTracing
import Glibc

/// The known properties of a system call of Linux on x86-64.
struct SystemCall {
    let name: String
    /// Error numbers that can be injected; 0 means a short write.
    private(set) var errors: [Int32]

    /// Calls that cannot change anything outside of the process, nor fail in a way that the store sees. Between two others a
    /// kill leaves what it leaves at the second.
    private static let silent: Set<Int> = [
        7, 9, 10, 11, 12, 13, 14, 15, 23, 24, 25, 28, 35, 39, 56, 57, 60, 96, 97, 98, 99, 102, 104, 107, 108, 131,
        157, 158, 186, 202, 203, 204, 218, 228, 229, 230, 231, 232, 233, 234, 270, 271, 273, 281, 283, 286, 287, 290,
        291, 302, 318, 334, 435, 441, 449,
    ]

    private static let known: [Int: SystemCall] = {
        let (io, full, interrupted, tooMany, short) = (EIO, ENOSPC, EINTR, EMFILE, Int32(0))
        let all: [(Int, String, [Int32])] = [
            (0, "read", [io, interrupted]), (1, "write", [io, full, interrupted, short]),
            (2, "open", [io, tooMany, interrupted]), (3, "close", []), (4, "stat", [io]), (5, "fstat", [io]),
            (6, "lstat", [io]), (8, "lseek", []), (16, "ioctl", []), (17, "pread64", [io, interrupted]),
            (18, "pwrite64", [io, full, interrupted, short]), (21, "access", [io]),
            (40, "sendfile", [io, interrupted]), (72, "fcntl", [interrupted, ENOLCK]),
            (73, "flock", [interrupted, ENOLCK]), (74, "fsync", [io, interrupted]),
            (75, "fdatasync", [io, interrupted]), (76, "truncate", [io]), (77, "ftruncate", [io, full, interrupted]),
            (79, "getcwd", [io]), (82, "rename", [io, full]), (83, "mkdir", [io, full]), (84, "rmdir", [io]),
            (86, "link", [io, full]), (87, "unlink", [io]), (89, "readlink", [io]), (90, "chmod", [io]),
            (91, "fchmod", [io]), (137, "statfs", [io]), (138, "fstatfs", [io]), (217, "getdents64", [io]),
            (221, "fadvise64", []), (257, "openat", [io, full, tooMany, interrupted]), (258, "mkdirat", [io, full]),
            (262, "newfstatat", [io]), (263, "unlinkat", [io]), (264, "renameat", [io, full]),
            (265, "linkat", [io, full]),
            (268, "fchmodat", [io]), (285, "fallocate", [io, full]), (316, "renameat2", [io, full]),
            (326, "copy_file_range", [io, full, interrupted]), (332, "statx", [io]),
        ]
        return Dictionary(uniqueKeysWithValues: all.map { ($0.0, SystemCall(name: $0.1, errors: $0.2)) })
    }()

    /// nil for a call that is not a crash point.
    init?(_ call: ctracing_call) {
        if Self.silent.contains(call.number) { return nil }
        self = Self.known[call.number] ?? SystemCall(name: "system call \(call.number)", errors: [])
        if name == "fcntl", !Self.takesLock(call) { errors = [] }
    }

    /// Nothing makes an unlocking fail, nor what a descriptor's flags are asked for.
    private static func takesLock(_ call: ctracing_call) -> Bool {
        let commands = [F_SETLK, F_SETLKW, 37, 38]  // The last two: F_OFD_SETLK and F_OFD_SETLKW.
        guard commands.contains(Int32(truncatingIfNeeded: call.arguments.1)) else { return false }
        var lock = flock()
        guard ctracing_read(call.thread, call.arguments.2, &lock, MemoryLayout<flock>.size) > 0 else { return false }
        return lock.l_type != Int16(F_UNLCK)
    }

    private init(name: String, errors: [Int32]) {
        self.name = name
        self.errors = errors
    }
}
