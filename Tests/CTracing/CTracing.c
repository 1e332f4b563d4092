#define _GNU_SOURCE
#include "CTracing.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <sys/user.h>

#define MOST_THREADS 256

/// The action when a thread's call returns.
typedef struct {
    pid_t thread;
    ctracing_call call;
    ctracing_verdict verdict;
    int error;
    uint64_t count;
} thread_state;

static volatile sig_atomic_t time_is_up;
static void alarm_rings(int signal) {
    (void)signal;
    time_is_up = 1;
}

static void start_alarm(int seconds) {
    // Without SA_RESTART: it ends a waitpid. It rings on, lest it be missed between two.
    struct sigaction action = {.sa_handler = alarm_rings};
    struct itimerval timer = {.it_value = {.tv_sec = seconds}, .it_interval = {.tv_usec = 100000}};
    time_is_up = 0;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void stop_alarm(void) {
    struct itimerval timer = {.it_value = {.tv_sec = 0}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static thread_state *state_of(thread_state *states, pid_t thread) {
    thread_state *free_place = NULL;
    for (int i = 0; i < MOST_THREADS; i++) {
        if (states[i].thread == thread) return &states[i];
        if (free_place == NULL && states[i].thread == 0) free_place = &states[i];
    }
    if (free_place == NULL) return NULL;
    memset(free_place, 0, sizeof *free_place);
    free_place->thread = thread;
    return free_place;
}

static void set_register(pid_t thread, size_t offset, uint64_t value) {
    ptrace(PTRACE_POKEUSER, thread, offset, value);
}

static bool call_begins(thread_state *state, const struct __ptrace_syscall_info *info, const ctracing_observer *observer) {
    ctracing_call *call = &state->call;
    call->thread = state->thread;
    call->number = (long)info->entry.nr;
    for (int i = 0; i < 6; i++) call->arguments[i] = info->entry.args[i];
    state->error = EIO;
    state->verdict = observer->entry(observer->context, call, &state->error);
    switch (state->verdict) {
    case CTRACING_GO: break;
    case CTRACING_KILL: return false;
    case CTRACING_FAIL: set_register(state->thread, offsetof(struct user_regs_struct, orig_rax), (uint64_t)-1); break;
    case CTRACING_SHORTEN:
        // The kernel keeps this register over the call, and so must we.
        state->count = call->arguments[2];
        set_register(state->thread, offsetof(struct user_regs_struct, rdx), state->count - state->count / 2);
        break;
    }
    return true;
}

static void call_ends(thread_state *state, const struct __ptrace_syscall_info *info, const ctracing_observer *observer) {
    switch (state->verdict) {
    case CTRACING_FAIL:
        set_register(state->thread, offsetof(struct user_regs_struct, rax), (uint64_t)(int64_t)-state->error);
        break;
    case CTRACING_SHORTEN: set_register(state->thread, offsetof(struct user_regs_struct, rdx), state->count); break;
    default: break;
    }
    if (state->verdict != CTRACING_FAIL && observer->exit != NULL) {
        state->call.result = info->exit.rval;
        observer->exit(observer->context, &state->call);
    }
    state->verdict = CTRACING_GO;
}

/// Follows a child that has stopped itself, and all of its threads and children, to their end.
static int follow(pid_t child, const ctracing_observer *observer, ctracing_ending *ending) {
    thread_state *states = calloc(MOST_THREADS, sizeof *states);
    if (states == NULL) return ENOMEM;
    int status;
    while (waitpid(child, &status, __WALL) < 0 && errno == EINTR) {}
    long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
        PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;
    ptrace(PTRACE_SETOPTIONS, child, 0, options);
    start_alarm(observer->seconds);
    ptrace(PTRACE_SYSCALL, child, 0, 0);
    bool is_over = false;
    while (true) {
        pid_t thread = waitpid(-1, &status, __WALL | __WNOTHREAD);
        if (thread < 0) {
            if (errno != EINTR) break;
            if (time_is_up && !is_over) {
                ending->is_late = true;
                kill(child, SIGKILL);
            }
            continue;
        }
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            for (int i = 0; i < MOST_THREADS; i++) {
                if (states[i].thread == thread) states[i].thread = 0;
            }
            if (thread == child) {
                ending->status = status;
                is_over = true;
            }
            continue;
        }
        if (!WIFSTOPPED(status)) continue;
        int signal = WSTOPSIG(status);
        if (signal == (SIGTRAP | 0x80)) {
            signal = 0;
            struct __ptrace_syscall_info info;
            thread_state *state = state_of(states, thread);
            if (state != NULL && ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) > 0) {
                if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
                    call_ends(state, &info, observer);
                } else if (info.op == PTRACE_SYSCALL_INFO_ENTRY && !call_begins(state, &info, observer)) {
                    // A call at whose entry the process is killed does not happen.
                    kill(child, SIGKILL);
                    continue;
                }
            }
        } else if (status >> 16 != 0 || signal == SIGSTOP || signal == SIGTRAP) {
            signal = 0;  // Events of ptrace, and the stop in which a new thread begins.
        }
        ptrace(PTRACE_SYSCALL, thread, 0, signal);
    }
    stop_alarm();
    free(states);
    return 0;
}

const char *ctracing_unavailable(void) {
    pid_t child = fork();
    if (child < 0) return "cannot fork";
    if (child == 0) _exit(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0 ? 0 : 1);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NULL : "ptrace(2) is not permitted";
}

int ctracing_exec(char *const *arguments, const ctracing_observer *observer, ctracing_ending *ending) {
    memset(ending, 0, sizeof *ending);
    pid_t child = fork();
    if (child < 0) return errno;
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(126);
        raise(SIGSTOP);
        execvp(arguments[0], arguments);
        _exit(127);
    }
    return follow(child, observer, ending);
}

#else

const char *ctracing_unavailable(void) { return "system calls are traced on x86-64 only"; }

int ctracing_exec(char *const *arguments, const ctracing_observer *observer, ctracing_ending *ending) {
    (void)arguments, (void)observer, (void)ending;
    return ENOSYS;
}

#endif

int ctracing_fork(
    void (*body)(void *), void *body_context, const ctracing_observer *observer, int seconds, ctracing_ending *ending) {
    memset(ending, 0, sizeof *ending);
    pid_t child = fork();
    if (child < 0) return errno;
    if (child == 0) {
        if (observer != NULL) {
#if defined(__x86_64__)
            if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(126);
            raise(SIGSTOP);
#endif
        }
        body(body_context);
        _exit(0);
    }
#if defined(__x86_64__)
    if (observer != NULL) return follow(child, observer, ending);
    start_alarm(seconds);
    while (waitpid(child, &ending->status, 0) < 0) {
        if (errno != EINTR) return errno;
        if (!time_is_up) continue;
        ending->is_late = true;
        kill(child, SIGKILL);
    }
    stop_alarm();
    return 0;
#else
    return ENOSYS;
#endif
}

size_t ctracing_read(pid_t thread, uint64_t address, void *buffer, size_t count) {
    struct iovec local = {.iov_base = buffer, .iov_len = count};
    struct iovec remote = {.iov_base = (void *)address, .iov_len = count};
    ssize_t read = process_vm_readv(thread, &local, 1, &remote, 1, 0);
    return read < 0 ? 0 : (size_t)read;
}

void *ctracing_shared(size_t count) {
    void *memory = mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/// Eight bytes of the sequence: SplitMix64, started at their place.
static uint64_t word(uint64_t seed, uint64_t place) {
    uint64_t mixed = seed * 0xD1342543DE82EF95u + (place + 1) * 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return mixed ^ (mixed >> 31);
}

void ctracing_fill(void *buffer, uint64_t offset, size_t count, uint64_t seed) {
    uint8_t *bytes = buffer;
    size_t done = 0;
    while (done < count) {
        uint64_t value = word(seed, (offset + done) / 8);
        size_t start = (offset + done) % 8;
        size_t length = 8 - start < count - done ? 8 - start : count - done;
        memcpy(bytes + done, (uint8_t *)&value + start, length);
        done += length;
    }
}
