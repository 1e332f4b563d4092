#define _GNU_SOURCE
#include "CLinux.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fs.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

int clinux_lock_byte_waiting(int fd, int64_t offset) {
    return lock_byte(fd, offset, F_WRLCK, F_OFD_SETLKW);
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

const char *clinux_next_name(void *stream) {
    const struct dirent *entry;
    while ((entry = readdir(stream)) != NULL) {
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
