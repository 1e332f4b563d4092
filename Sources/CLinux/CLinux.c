#define _GNU_SOURCE
#include "CLinux.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

int clinux_open(const char *path, int flags, mode_t mode) {
    int fd;
    do {
        fd = open(path, flags | O_CLOEXEC, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

int clinux_open_unnamed(const char *directory, mode_t mode) {
    return open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
}

int clinux_link_unnamed(int fd, const char *path) {
    // Before Linux 6.10 this needs CAP_DAC_READ_SEARCH (it fails with ENOENT then); the path in /proc needs no privilege.
    if (linkat(fd, "", AT_FDCWD, path, AT_EMPTY_PATH) == 0) return 0;
    if (errno != ENOENT) return -1;
    char source[64];
    snprintf(source, sizeof source, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, source, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

int clinux_open_beneath(int folder, const char *path) {
    struct open_how how = {
        .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    long fd;
    // EAGAIN: a rename elsewhere in the tree may have let the path seem to leave the folder.
    int attempts = 100;
    do fd = syscall(SYS_openat2, folder, path, &how, sizeof how);
    while (fd < 0 && (errno == EINTR || (errno == EAGAIN && --attempts > 0)));
    return (int)fd;
}

int clinux_rename_exclusive(const char *from, const char *to) {
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}

int clinux_clone(int from, int to) {
    return ioctl(to, FICLONE, from);
}

ssize_t clinux_copy_range(int from, int64_t offset, int to, size_t count) {
    return copy_file_range(from, &offset, to, NULL, count, 0);
}

static int lock_byte(int fd, int64_t offset, short type, int command) {
    struct flock lock;
    memset(&lock, 0, sizeof lock);
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = offset;
    lock.l_len = 1;
    int result;
    do {
        result = fcntl(fd, command, &lock);
    } while (result < 0 && errno == EINTR);
    if (result < 0 && (errno == EAGAIN || errno == EACCES)) return 1;
    return result;
}

int clinux_lock_byte(int fd, int64_t offset) {
    return lock_byte(fd, offset, F_WRLCK, F_OFD_SETLK);
}

int clinux_is_byte_locked(int fd, int64_t offset) {
    struct flock lock;
    memset(&lock, 0, sizeof lock);
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = offset;
    lock.l_len = 1;
    if (fcntl(fd, F_OFD_GETLK, &lock) < 0) return -1;
    return lock.l_type != F_UNLCK;
}

int clinux_unlock_byte(int fd, int64_t offset) {
    return lock_byte(fd, offset, F_UNLCK, F_OFD_SETLK);
}

struct lock_test {
    const char *path;
    int64_t offset;
    int is_granted;
};

static void *lock_as_another_owner(void *argument) {
    struct lock_test *test = argument;
    // A table of descriptors owns its record locks, as another process does. The thread ends with its own one.
    if (unshare(CLONE_FILES) != 0) return NULL;
    int fd = open(test->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return NULL;
    test->is_granted = lock_byte(fd, test->offset, F_WRLCK, F_SETLK) == 0;
    close(fd);
    return NULL;
}

int clinux_test_record_locks(int fd, const char *path, int64_t offset) {
    int result = lock_byte(fd, offset, F_WRLCK, F_SETLK);
    // 1: another process tests them, and excludes this one.
    if (result != 0) return result == 1 ? 0 : -1;
    struct lock_test test = {path, offset, 0};
    pthread_t thread;
    if (pthread_create(&thread, NULL, lock_as_another_owner, &test) == 0) pthread_join(thread, NULL);
    lock_byte(fd, offset, F_UNLCK, F_SETLK);
    return test.is_granted;
}

int clinux_file_system(const char *path, uint32_t *type) {
    struct statfs status;
    if (statfs(path, &status) != 0) return -1;
    *type = (uint32_t)status.f_type;
    return 0;
}

int clinux_device(const char *path, uint32_t *major_number, uint32_t *minor_number) {
    struct stat status;
    if (stat(path, &status) != 0) return -1;
    *major_number = major(status.st_dev);
    *minor_number = minor(status.st_dev);
    return 0;
}

const char *clinux_next_name(void *stream) {
    const struct dirent *entry;
    while (errno = 0, (entry = readdir(stream)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) return name;
    }
    return NULL;
}

int clinux_eventfd(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

int clinux_inotify(void) {
    return inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
}

int clinux_watch_changes(int inotify, const char *path) {
    return inotify_add_watch(inotify, path, IN_MODIFY);
}

clinux_socket_filter clinux_no_new_handshakes(void) {
    // The 14th byte of a TCP header holds the flags; a listening socket's filter sees segments from that header on.
    static const struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x02, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, 0xFFFFFFFF),
    };
    return (clinux_socket_filter){sizeof code / sizeof code[0], code};
}

const uint64_t *clinux_map_shared(int fd, size_t length) {
    void *memory = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void clinux_unmap(const uint64_t *memory, size_t length) {
    munmap((void *)memory, length);
}

uint64_t clinux_load(const uint64_t *number) {
    return __atomic_load_n(number, __ATOMIC_ACQUIRE);
}

void clinux_store(uint64_t *number, uint64_t value) {
    __atomic_store_n(number, value, __ATOMIC_RELEASE);
}

void clinux_trim_heap(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

// scripts/build finds the mark in the finished program, and writes the identity behind it: a new commit compiles nothing.
#define BUILD_MARK "imgcache-build:"
__attribute__((used)) static const char build_identity[sizeof BUILD_MARK + 112] = BUILD_MARK;

const char *clinux_build_identity(void) {
    const char *text = build_identity;
    // The compiler must not know the text.
    __asm__("" : "+r"(text));
    return text + sizeof BUILD_MARK - 1;
}
