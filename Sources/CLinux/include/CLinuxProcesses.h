#ifndef CLINUX_PROCESSES_H
#define CLINUX_PROCESSES_H

// Worker processes: how they are started and confined, and how they are spoken to. -1 and errno on failure, unless a
// function says otherwise.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// The descriptor on which a helper finds its socket.
enum { clinux_helper_socket = 3 };

/// socketpair(2): two connected sockets of messages that arrive whole and in order (SOCK_SEQPACKET), closed by exec.
int clinux_socket_pair(int sockets[2]);

/// Sends a message with up to `clinux_most_descriptors` descriptors. A peer that is gone is EPIPE, not a signal; one that has not read what it
/// was sent is waited for, or EAGAIN.
int clinux_send(
    int socket, const void *bytes, size_t count, const int *descriptors, int descriptor_count, bool waits);

enum { clinux_most_descriptors = 4 };

/// Receives a message; 0: the peer is gone. For a message or descriptors beyond the room, the result is -1 with EMSGSIZE. If this process may
/// not have the descriptors (RLIMIT_NOFILE), the message is received without them, and `count` is -1. No descriptor stays open in either case.
ssize_t clinux_receive(int socket, void *bytes, size_t room, int descriptors[clinux_most_descriptors], int *count);

/// Waits until a descriptor can be read, or its peer is gone: 1; 0 after `milliseconds`.
int clinux_wait_readable(int fd, int milliseconds);

/// A file of `size` bytes in memory (memfd_create(2)), initially 0, that can be sealed.
int clinux_memory_file(size_t size);

/// Permanently prevents an in-memory file from growing, in all processes.
bool clinux_seal_size(int fd);

/// Opens the calling process's memory figures (proc(5), `statm`). Any process that gets the descriptor can read them.
int clinux_open_memory_figures(void);

/// The bytes of memory that the process of `clinux_open_memory_figures` has now, -1 if it is gone.
int64_t clinux_resident_bytes(int figures);

/// Permanently makes an in-memory file unchangeable, in all processes; EBUSY while it is mapped for writing.
int clinux_seal(int fd);

/// mmap(2), shared; NULL on failure.
void *clinux_map_file(int fd, size_t size, bool is_writable);

/// posix_spawn(3) of a program without the caller's descriptors, signal mask and session: only `socket`, as
/// `clinux_helper_socket`. Returns the process's number, or the negative error number.
pid_t clinux_spawn_helper(const char *path, char *const arguments[], char *const environment[], int socket);

/// Prepares a helper: closes all descriptors except its socket, disables core files, and ignores all signals that would end it except
/// those of its own faults. Returns false if the process has several threads, and thus cannot fork.
bool clinux_begin_helper(void);

/// fork(2), for a process with one thread.
pid_t clinux_fork(void);

/// pidfd_open(2).
int clinux_open_process(pid_t process);

/// Kills the process of `clinux_open_process`.
int clinux_kill_process(int process);

/// waitpid(2) without EINTR: the status.
int clinux_wait_for(pid_t process, int *status);

/// waitid(2) of the process of `clinux_open_process`, without EINTR. ECHILD if it was waited for already.
int clinux_wait_for_opened(int process);

/// The signal that ended a process, 0 if it ended by itself.
int clinux_ending_signal(int status);

/// The CPU time that a process has used so far, in seconds; negative if it is gone.
double clinux_cpu_seconds_of(pid_t process);

/// Confines the calling process for good: no more memory than it has and `memory` bytes, `seconds` of CPU time, no new privileges,
/// and no system calls but those that work on memory, on what it was sent, and on its socket (seccomp(2)). Any other call kills it.
int clinux_confine(uint64_t memory, uint64_t seconds);

/// True if `clinux_confine` knows the processor.
bool clinux_can_confine(void);

/// _exit(2).
_Noreturn void clinux_exit(int status);

#endif
