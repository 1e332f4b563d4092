#ifndef CLINUX_H
#define CLINUX_H

// Linux system calls that Swift's Glibc module omits: variadic ones, and those behind _GNU_SOURCE. Each returns the
// call's result (-1 and errno on failure).

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "CLinuxProcesses.h"

/// open(2) with O_CLOEXEC always set.
int clinux_open(const char *path, int flags, mode_t mode);

/// open(2) with O_TMPFILE: a file without a name in `directory`, open for reading and writing.
int clinux_open_unnamed(const char *directory, mode_t mode);

/// Gives the unnamed file behind `fd` its name; fails with EEXIST when the name is taken.
int clinux_link_unnamed(int fd, const char *path);

/// openat2(2) with RESOLVE_BENEATH: opens a file below a folder for reading. Neither `..` nor a symbolic link leads out of the folder: EXDEV.
/// ENOSYS before Linux 5.6.
int clinux_open_beneath(int folder, const char *path);

/// renameat2(2) with RENAME_NOREPLACE: fails with EEXIST when `to` exists.
int clinux_rename_exclusive(const char *from, const char *to);

/// ioctl(FICLONE): makes `to` a reflink of `from`.
int clinux_clone(int from, int to);

/// copy_file_range(2) from `offset`, which leaves that file's own offset as it is, to the other file's own offset.
ssize_t clinux_copy_range(int from, int64_t offset, int to, size_t count);

/// Locks one byte of the file for this open file description (F_OFD_SETLK). 0: locked; 1: another holds it; -1: errno.
int clinux_lock_byte(int fd, int64_t offset);

/// Returns 1 if another open file description has the byte locked (F_OFD_GETLK), 0 if not; -1: errno.
int clinux_is_byte_locked(int fd, int64_t offset);

/// Gives a locked byte back: 0, or -1 if the kernel has no memory for it (ENOLCK), where it stays locked.
int clinux_unlock_byte(int fd, int64_t offset);

/// Tests the record locks (F_SETLK) of a file, which SQLite uses, on one byte. `fd` is open for writing on the file at `path`. 0: they exclude
/// others; 1: two owners got the same lock; -1: errno.
int clinux_test_record_locks(int fd, const char *path, int64_t offset);

/// statfs(2): the type of the file system at `path`.
int clinux_file_system(const char *path, uint32_t *type);

/// stat(2): the device of the file at `path`.
int clinux_device(const char *path, uint32_t *major_number, uint32_t *minor_number);

/// An open folder's next name other than "." and ".."; NULL at the end, where errno is 0, and on failure. `stream` is a DIR *.
const char *clinux_next_name(void *stream);

/// eventfd(2), at 0, non-blocking.
int clinux_eventfd(void);

/// inotify_init1(2), non-blocking.
int clinux_inotify(void);

/// inotify_add_watch(2) for writes to the file at `path`, including kernel files that report changes.
int clinux_watch_changes(int inotify, const char *path);

/// struct sock_fprog, the value of SO_ATTACH_FILTER (socket(7)).
typedef struct {
    unsigned short count;
    const void *code;
} clinux_socket_filter;

/// A filter that drops the first segment of each TCP handshake and lets everything else pass. It lives as long as the process.
clinux_socket_filter clinux_no_new_handshakes(void);

/// mmap(2) of a file's first `length` bytes, shared and for reading; NULL and errno on failure.
const uint64_t *clinux_map_shared(int fd, size_t length);

/// munmap(2) of what `clinux_map_shared` gave.
void clinux_unmap(const uint64_t *memory, size_t length);

/// An aligned number in memory that other processes and threads may be writing, read whole.
uint64_t clinux_load(const uint64_t *number);

/// Atomically writes an aligned number that other threads read by `clinux_load`.
void clinux_store(uint64_t *number, uint64_t value);

/// malloc_trim(3): gives free memory back to the system, also from the middle of the heap. Without glibc: nothing.
void clinux_trim_heap(void);

/// The commit and the compiler of the build with a space between them, or an empty text if scripts/build has not written them into the program.
const char *clinux_build_identity(void);

#endif
