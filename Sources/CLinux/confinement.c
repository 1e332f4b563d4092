#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CLinuxProcesses.h"

#if defined __x86_64__
#define THIS_PROCESSOR AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define THIS_PROCESSOR AUDIT_ARCH_AARCH64
#endif

#ifndef SECCOMP_RET_KILL_PROCESS
#define SECCOMP_RET_KILL_PROCESS 0x80000000U
#endif

bool clinux_can_confine(void) {
#ifdef THIS_PROCESSOR
    return true;
#else
    return false;
#endif
}

/// Lowers a limit; one that is lower already stays.
static int limit(int resource, uint64_t value) {
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)resource, &now) != 0) return -1;
    rlim_t most = (rlim_t)value < now.rlim_max ? (rlim_t)value : now.rlim_max;
    struct rlimit lowered = {most, most};
    return setrlimit((__rlimit_resource_t)resource, &lowered);
}

/// Bytes of address space that the process has.
static uint64_t address_space(void) {
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    if (fscanf(file, "%llu", &pages) != 1) pages = 0;
    fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

#ifdef THIS_PROCESSOR

#define FIELD(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name))
#define ARGUMENT(index) \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)(offsetof(struct seccomp_data, args) + (index) * sizeof(uint64_t)))
#define ALLOWED BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define DEADLY BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), ALLOWED

/// Memory that becomes code is not to be had: the third argument of the call without PROT_EXEC.
#define ALLOW_DATA(name) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 4), ARGUMENT(2), \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1), DEADLY, ALLOWED

static int filter(void) {
    struct sock_filter code[] = {
        FIELD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_PROCESSOR, 1, 0),
        DEADLY,
        FIELD(nr),
        // Often first. The numbers of x32 are none of these.
        ALLOW(clock_gettime),
        ALLOW(pread64),
        ALLOW(futex),
        ALLOW(brk),
        ALLOW(munmap),
        ALLOW(madvise),
        ALLOW(mremap),
        ALLOW(recvmsg),
        ALLOW(sendmsg),
        ALLOW(read),
        ALLOW(write),
        ALLOW(close),
        ALLOW(getrandom),
        ALLOW(sched_yield),
        ALLOW(sysinfo),
        ALLOW(restart_syscall),
        ALLOW(rt_sigreturn),
        ALLOW(exit),
        ALLOW(exit_group),
        // abort(3), whose signal is then the one that is reported.
        ALLOW(rt_sigprocmask),
        ALLOW(rt_sigaction),
        ALLOW(getpid),
        ALLOW(gettid),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 4),
        ARGUMENT(0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)getpid(), 0, 1),
        ALLOWED,
        DEADLY,
        ALLOW_DATA(mmap),
        ALLOW_DATA(mprotect),
        DEADLY,
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    // By prctl, which service managers that filter system calls themselves let pass more often than seccomp(2).
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
#endif

int clinux_confine(uint64_t memory, uint64_t seconds) {
#ifdef THIS_PROCESSOR
    if (limit(RLIMIT_AS, address_space() + memory) != 0 || limit(RLIMIT_FSIZE, memory) != 0 ||
        limit(RLIMIT_CPU, seconds) != 0 || limit(RLIMIT_NOFILE, 16) != 0 || limit(RLIMIT_CORE, 0) != 0)
        return -1;
    return filter();
#else
    (void)memory, (void)seconds, (void)limit, (void)address_space;
    errno = ENOSYS;
    return -1;
#endif
}
