#ifndef CTRACING_H
#define CTRACING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Runs a process under ptrace(2) and shows each of its system calls, before it happens and after, to an observer that may
// kill the process there or make the call fail. Linux on x86-64.

/// One system call of a traced process.
typedef struct {
    pid_t thread;
    long number;
    uint64_t arguments[6];
    /// After the call: what it returned, or the negative error number.
    int64_t result;
} ctracing_call;

/// The fate of a system call, decided by the observer.
typedef enum {
    CTRACING_GO,
    /// The process is killed before the call happens.
    CTRACING_KILL,
    /// The call does not happen and returns the error.
    CTRACING_FAIL,
    /// The call's third argument, a number of bytes, is halved.
    CTRACING_SHORTEN,
} ctracing_verdict;

typedef struct {
    void *context;
    ctracing_verdict (*entry)(void *context, const ctracing_call *call, int *error);
    /// May be NULL. Called after calls that succeeded or failed by themselves.
    void (*exit)(void *context, const ctracing_call *call);
    /// The process is killed when it runs for longer.
    int seconds;
} ctracing_observer;

typedef struct {
    /// As of waitpid(2).
    int status;
    bool is_late;
} ctracing_ending;

/// The reason why tracing is impossible here, or NULL.
const char *ctracing_unavailable(void);

/// Runs `body` in a forked child, under the observer unless that is NULL. The caller must have one thread only. 0, or an
/// error number.
int ctracing_fork(
    void (*body)(void *), void *body_context, const ctracing_observer *observer, int seconds, ctracing_ending *ending);

/// Runs a program under the observer; it inherits standard input, output and error. 0, or an error number.
int ctracing_exec(char *const *arguments, const ctracing_observer *observer, ctracing_ending *ending);

/// Reads a traced process's memory; the number of bytes.
size_t ctracing_read(pid_t thread, uint64_t address, void *buffer, size_t count);

/// Memory that a child shares with its parent; NULL if there is none.
void *ctracing_shared(size_t count);

/// Writes `count` bytes that follow from the seed and their offset.
void ctracing_fill(void *buffer, uint64_t offset, size_t count, uint64_t seed);

#endif
