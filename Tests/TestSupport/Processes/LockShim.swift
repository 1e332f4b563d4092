import Foundation

/// A library for `LD_PRELOAD` that makes a process see its files on another file system, with other locks.
public final class LockShim: Sendable {
    /// The locks of the file system.
    public enum Locks: String, Sendable, CaseIterable {
        /// As they are.
        case real
        /// Each call succeeds, and excludes nobody.
        case succeed
        /// Each call fails with ENOLCK.
        case fail
    }

    private let directory: TestDirectory

    /// Compiles it with the toolchain's compiler.
    public init() async throws {
        directory = try TestDirectory()
        let source = try directory.write(Self.source, to: "shim.c")
        let process = try ChildProcess(
            "clang", ["-shared", "-fPIC", "-O1", "-o", directory.path("shim.so"), source, "-ldl"],
            environment: ProcessInfo.processInfo.environment)
        guard await process.end() == .exited(0) else { throw TestSetupFailure("clang: \(process.errorOutput)") }
    }

    /// The variables for a process on that file system.
    ///
    /// - Parameters:
    ///   - locks: `flock`, and the locks of open files (F_OFD_SETLK).
    ///   - recordLocks: The record locks (F_SETLK), which SQLite uses.
    ///   - magic: The type of file system that `statfs` reports; NFS by default.
    public func environment(locks: Locks = .real, recordLocks: Locks = .real, magic: Int = 0x6969) -> [String: String] {
        [
            "LD_PRELOAD": directory.path("shim.so"), "SHIM_LOCKS": locks.rawValue,
            "SHIM_RECORD_LOCKS": recordLocks.rawValue, "SHIM_MAGIC": "\(magic)",
        ]
    }

    /// Like NFS, the file system has neither unnamed files nor renames that replace nothing.
    private static let source = #"""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <fcntl.h>
        #include <stdarg.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/file.h>
        #include <sys/vfs.h>

        static int mode(const char *name) {
            const char *value = getenv(name);
            return value && !strcmp(value, "succeed") ? 1 : value && !strcmp(value, "fail") ? 2 : 0;
        }

        static int refuse(int number) {
            errno = number;
            return -1;
        }

        int flock(int fd, int operation) {
            static int (*next)(int, int);
            int locks = mode("SHIM_LOCKS");
            if (locks == 1) return 0;
            if (locks == 2) return refuse(ENOLCK);
            if (!next) next = dlsym(RTLD_NEXT, "flock");
            return next(fd, operation);
        }

        static int lock(const char *name, int command, struct flock *lock, int *result) {
            int locks = mode(name);
            if (!locks) return 0;
            *result = locks == 1 ? 0 : refuse(ENOLCK);
            if (locks == 1 && (command == F_OFD_GETLK || command == F_GETLK)) lock->l_type = F_UNLCK;
            return 1;
        }

        static int control(int (*next)(int, int, ...), int fd, int command, void *argument) {
            int result;
            switch (command) {
            case F_OFD_GETLK: case F_OFD_SETLK: case F_OFD_SETLKW:
                if (lock("SHIM_LOCKS", command, argument, &result)) return result;
                break;
            case F_GETLK: case F_SETLK: case F_SETLKW:
                if (lock("SHIM_RECORD_LOCKS", command, argument, &result)) return result;
                break;
            }
            return next(fd, command, argument);
        }

        #define CONTROL(name)                                               \
            int name(int fd, int command, ...) {                            \
                static int (*next)(int, int, ...);                          \
                va_list list;                                               \
                va_start(list, command);                                    \
                void *argument = va_arg(list, void *);                      \
                va_end(list);                                               \
                if (!next) next = dlsym(RTLD_NEXT, #name);                  \
                if (!next) next = dlsym(RTLD_NEXT, "fcntl");                \
                return control(next, fd, command, argument);                \
            }

        CONTROL(fcntl)
        CONTROL(fcntl64)

        int statfs(const char *path, struct statfs *status) {
            static int (*next)(const char *, struct statfs *);
            if (!next) next = dlsym(RTLD_NEXT, "statfs");
            int result = next(path, status);
            const char *magic = getenv("SHIM_MAGIC");
            if (result == 0 && magic) status->f_type = strtol(magic, NULL, 10);
            return result;
        }

        int statfs64(const char *path, struct statfs64 *status) {
            return statfs(path, (struct statfs *)status);
        }

        static int is_unnamed(int flags) { return (flags & O_TMPFILE) == O_TMPFILE; }

        #define OPEN(name)                                                  \
            int name(const char *path, int flags, ...) {                    \
                static int (*next)(const char *, int, ...);                 \
                va_list list;                                               \
                va_start(list, flags);                                      \
                mode_t permissions = va_arg(list, mode_t);                  \
                va_end(list);                                               \
                if (is_unnamed(flags)) return refuse(EOPNOTSUPP);           \
                if (!next) next = dlsym(RTLD_NEXT, #name);                  \
                return next(path, flags, permissions);                      \
            }

        OPEN(open)
        OPEN(open64)

        int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
            static int (*next)(int, const char *, int, const char *, unsigned);
            if (flags) return refuse(EINVAL);
            if (!next) next = dlsym(RTLD_NEXT, "renameat2");
            return next(from_folder, from, to_folder, to, flags);
        }
        """#
}
