#define _GNU_SOURCE
#include "CLinuxProcesses.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

int clinux_socket_pair(int sockets[2]) {
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets);
}

typedef union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int) * clinux_most_descriptors)];
} control;

int clinux_send(
    int socket, const void *bytes, size_t count, const int *descriptors, int descriptor_count, bool waits) {
    if (descriptor_count > clinux_most_descriptors) {
        errno = EMSGSIZE;
        return -1;
    }
    struct iovec part = {(void *)bytes, count};
    struct msghdr message;
    control control;
    memset(&message, 0, sizeof message);
    memset(&control, 0, sizeof control);
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptor_count > 0) {
        size_t size = sizeof(int) * (size_t)descriptor_count;
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(size);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(header), descriptors, size);
    }
    ssize_t sent;
    do {
        sent = sendmsg(socket, &message, MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT));
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -1 : 0;
}

ssize_t clinux_receive(int socket, void *bytes, size_t room, int descriptors[clinux_most_descriptors], int *count) {
    struct iovec part = {bytes, room};
    struct msghdr message;
    control control;
    memset(&message, 0, sizeof message);
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    *count = 0;
    ssize_t received;
    do {
        received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (received < 0 && errno == EINTR);
    if (received < 0) return -1;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        size_t here = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t index = 0; index < here; index++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(header) + index * sizeof descriptor, sizeof descriptor);
            if (*count < clinux_most_descriptors) {
                descriptors[(*count)++] = descriptor;
            } else {
                close(descriptor);
            }
        }
    }
    if (!(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) return received;
    // Descriptors for which there was room, and that did not come: the process may have no more.
    bool is_short = !(message.msg_flags & MSG_TRUNC) && *count < clinux_most_descriptors;
    while (*count > 0) close(descriptors[--*count]);
    if (is_short) {
        *count = -1;
        return received;
    }
    errno = EMSGSIZE;
    return -1;
}

int clinux_wait_readable(int fd, int milliseconds) {
    struct pollfd poller = {fd, POLLIN, 0};
    int result = poll(&poller, 1, milliseconds);
    // The caller looks at its clock and waits again.
    return result < 0 && errno == EINTR ? 0 : result;
}

int clinux_memory_file(size_t size) {
    int fd = memfd_create("imgcache", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t)size) == 0) return fd;
    int reason = errno;
    close(fd);
    errno = reason;
    return -1;
}

bool clinux_seal_size(int fd) { return fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) == 0; }

int clinux_open_memory_figures(void) { return open("/proc/self/statm", O_RDONLY | O_CLOEXEC); }

int64_t clinux_resident_bytes(int figures) {
    char text[128];
    unsigned long long all, resident;
    ssize_t count = pread(figures, text, sizeof text - 1, 0);
    if (count <= 0) return -1;
    text[count] = 0;
    if (sscanf(text, "%llu %llu", &all, &resident) != 2) return -1;
    return (int64_t)(resident * (unsigned long long)sysconf(_SC_PAGESIZE));
}

int clinux_seal(int fd) {
    return fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

void *clinux_map_file(int fd, size_t size, bool is_writable) {
    void *memory = mmap(NULL, size, PROT_READ | (is_writable ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

pid_t clinux_spawn_helper(const char *path, char *const arguments[], char *const environment[], int socket) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, socket, clinux_helper_socket);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    // The runtime's last words over a broken image belong into no log.
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    // A separate session, so that signals of a terminal to the foreground program do not reach the helper.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    pid_t process;
    int result = posix_spawn(&process, path, &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return result == 0 ? process : -result;
}

static bool has_one_thread(void) {
    FILE *status = fopen("/proc/self/status", "re");
    if (!status) return false;
    char line[128];
    int threads = 0;
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "Threads: %d", &threads) == 1) break;
    fclose(status);
    return threads == 1;
}

bool clinux_begin_helper(void) {
    syscall(SYS_close_range, clinux_helper_socket + 1, ~0U, 0);
    // It ends when its socket does: a service manager that ends all processes at once must not end the decodes that a
    // service still waits for.
    static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};
    for (size_t index = 0; index < sizeof ignored / sizeof *ignored; index++) signal(ignored[index], SIG_IGN);
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return has_one_thread();
}

pid_t clinux_fork(void) { return fork(); }

int clinux_open_process(pid_t process) {
    return (int)syscall(SYS_pidfd_open, process, 0);
}

int clinux_kill_process(int process) {
    return (int)syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0);
}

int clinux_wait_for(pid_t process, int *status) {
    pid_t result;
    do {
        result = waitpid(process, status, 0);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -1 : 0;
}

int clinux_wait_for_opened(int process) {
    enum { opened = 3 }; // P_PIDFD, which older headers lack.
    siginfo_t info;
    int result;
    do {
        result = waitid((idtype_t)opened, (id_t)process, &info, WEXITED);
    } while (result < 0 && errno == EINTR);
    return result;
}

int clinux_ending_signal(int status) { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }

double clinux_cpu_seconds_of(pid_t process) {
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return -1;
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

void clinux_exit(int status) { _exit(status); }
