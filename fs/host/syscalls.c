#include "fs/host/syscalls.h"

#include <assert.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#ifndef ARCH
/* A machine whose calls nobody has looked at. */
unsigned syscalls_restrict(unsigned beside)
{
	return 0;
}
#else

static const int calls[] = {
	/* files */
	SYS_read,
	SYS_write,
	SYS_readv,
	SYS_writev,
	SYS_pread64,
	SYS_pwrite64,
	SYS_preadv,
	SYS_pwritev,
	SYS_preadv2,
	SYS_pwritev2,
	SYS_openat,
	SYS_close,
	SYS_close_range,
	SYS_fstat,
	SYS_newfstatat,
	SYS_statx,
	SYS_statfs,
	SYS_fstatfs,
	SYS_lseek,
	SYS_ioctl,
	SYS_faccessat,
	SYS_faccessat2,
	SYS_dup,
	SYS_dup3,
	SYS_fcntl,
	SYS_flock,
	SYS_fsync,
	SYS_fdatasync,
	SYS_sync_file_range,
	SYS_ftruncate,
	SYS_fallocate,
	SYS_getdents64,
	SYS_getcwd,
	SYS_chdir,
	SYS_fchdir,
	SYS_renameat,
	SYS_renameat2,
	SYS_mkdirat,
	SYS_unlinkat,
	SYS_fchmod,
	SYS_fchmodat,
	SYS_fchown,
	SYS_fadvise64,
	SYS_readahead,
	SYS_readlinkat,
	SYS_umask,
	SYS_pipe2,
	SYS_splice,
	SYS_tee,
	SYS_vmsplice,
	/* memory */
	SYS_mmap,
	SYS_munmap,
	SYS_mremap,
	SYS_madvise,
	SYS_mprotect,
	SYS_brk,
	SYS_msync,
	SYS_mincore,
	SYS_membarrier,
	/* signals, time, threads */
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_rt_sigpending,
	SYS_rt_sigtimedwait,
	SYS_rt_sigsuspend,
	SYS_sigaltstack,
	SYS_restart_syscall,
	SYS_tgkill,
	SYS_tkill,
	SYS_clock_gettime,
	SYS_clock_getres,
	SYS_clock_nanosleep,
	SYS_nanosleep,
	SYS_gettimeofday,
	SYS_times,
	SYS_futex,
	SYS_set_robust_list,
	SYS_get_robust_list,
	SYS_rseq,
	SYS_set_tid_address,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_sched_setaffinity,
	SYS_sched_getparam,
	SYS_sched_getscheduler,
	SYS_sched_setscheduler,
	SYS_setpriority,
	SYS_getpriority,
	SYS_ioprio_set,
	SYS_getcpu,
	SYS_exit,
	SYS_exit_group,
	SYS_wait4,
	SYS_waitid,
	SYS_prctl,
	/* who and where it is */
	SYS_getpid,
	SYS_gettid,
	SYS_getppid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_getgroups,
	SYS_getresuid,
	SYS_getresgid,
	SYS_prlimit64,
	SYS_getrusage,
	SYS_sysinfo,
	SYS_uname,
	SYS_getrandom,
	/* sockets that are open, and waiting for them */
	SYS_accept,
	SYS_accept4,
	SYS_sendto,
	SYS_sendmsg,
	SYS_sendmmsg,
	SYS_recvfrom,
	SYS_recvmsg,
	SYS_setsockopt,
	SYS_getsockopt,
	SYS_getsockname,
	SYS_getpeername,
	SYS_shutdown,
	SYS_ppoll,
	SYS_pselect6,
	SYS_epoll_create1,
	SYS_epoll_ctl,
	SYS_epoll_pwait,
	SYS_eventfd2,
#ifdef SYS_open
	/* those that not every machine has */
	SYS_open,
	SYS_stat,
	SYS_lstat,
	SYS_poll,
	SYS_select,
	SYS_access,
	SYS_readlink,
	SYS_dup2,
	SYS_pipe,
	SYS_getdents,
	SYS_rename,
	SYS_mkdir,
	SYS_rmdir,
	SYS_unlink,
	SYS_chmod,
	SYS_time,
	SYS_epoll_wait,
	SYS_getrlimit,
	SYS_arch_prctl,
	SYS_eventfd,
#endif
};

/* libfuse's, for its queues. */
static const int ring_calls[] = {
	SYS_io_uring_setup,
	SYS_io_uring_enter,
	SYS_io_uring_register,
	SYS_mbind,
};

/*
 * The numbers of newer calls are the same on all machines. A C library that is newer
 * than this table does without one that the kernel lacks.
 */
#define FIRST_UNKNOWN 440

#define COUNT(a) (sizeof(a) / sizeof(*(a)))
#define FIELD(name) offsetof(struct seccomp_data, name)
/* The lower half, on machines of either order that are known here: little. */
#define ARG(n) (FIELD(args) + 8 * (n))

struct program {
	struct sock_filter code[2 * COUNT(calls) + 2 * COUNT(ring_calls) + 64];
	unsigned short len;
	unsigned allowed; /* calls */
};

static void add(struct program *p, unsigned short code, unsigned k,
		unsigned char yes, unsigned char no)
{
	assert(p->len < COUNT(p->code));
	p->code[p->len++] = (struct sock_filter){code, yes, no, k};
}

static void load(struct program *p, size_t field)
{
	add(p, BPF_LD | BPF_W | BPF_ABS, (unsigned)field, 0, 0);
}

static void answer(struct program *p, unsigned result)
{
	add(p, BPF_RET | BPF_K, result, 0, 0);
}

static void allow_call(struct program *p, int nr)
{
	p->allowed++;
	add(p, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1);
	answer(p, SECCOMP_RET_ALLOW);
}

/* Allows it where argument @arg has the bits @value of @mask. */
static void allow_where(struct program *p, int nr, unsigned arg, unsigned mask,
			unsigned value)
{
	p->allowed++;
	add(p, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 5);
	load(p, ARG(arg));
	add(p, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
	add(p, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	answer(p, SECCOMP_RET_ALLOW);
	answer(p, SECCOMP_RET_ERRNO | EPERM);
}

/* To make sockets. What resolves names also binds one. */
static void allow_sockets(struct program *p, unsigned beside)
{
	if (beside & SYSCALLS_NETWORK) {
		allow_call(p, SYS_socket);
		allow_call(p, SYS_bind);
	} else if (beside & SYSCALLS_SYSLOG) {
		allow_where(p, SYS_socket, 0, ~0u, AF_UNIX);
	}
	if (beside & (SYSCALLS_NETWORK | SYSCALLS_SYSLOG))
		allow_call(p, SYS_connect);
}

static void make(struct program *p, unsigned beside)
{
	load(p, FIELD(arch));
	add(p, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	answer(p, SECCOMP_RET_ERRNO | EPERM);
	load(p, FIELD(nr));
	add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
	answer(p, SECCOMP_RET_ERRNO | ENOSYS);
	allow_where(p, SYS_clone, 0, CLONE_THREAD, CLONE_THREAD);
	allow_where(p, SYS_unshare, 0, ~0u, CLONE_FILES);
	/* Whether a process is there, which made what is now in the way. */
	allow_where(p, SYS_kill, 1, ~0u, 0);
	allow_sockets(p, beside);
	for (size_t i = 0; i < COUNT(calls); i++)
		allow_call(p, calls[i]);
	for (size_t i = 0; i < COUNT(ring_calls); i++)
		if (beside & SYSCALLS_RING)
			allow_call(p, ring_calls[i]);
	add(p, BPF_JMP | BPF_JGE | BPF_K, FIRST_UNKNOWN, 0, 1);
	answer(p, SECCOMP_RET_ERRNO | ENOSYS);
	answer(p, SECCOMP_RET_ERRNO | EPERM);
}

unsigned syscalls_restrict(unsigned beside)
{
	struct program p = {.len = 0};
	struct sock_fprog prog = {.filter = p.code};

	make(&p, beside);
	prog.len = p.len;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		    SECCOMP_FILTER_FLAG_TSYNC, &prog))
		return 0;
	return p.allowed;
}
#endif
