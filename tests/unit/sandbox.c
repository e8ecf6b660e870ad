/*
 * What a process can still do when it has given up what sandbox.h says: each
 * test does so in a child, since there is no way back. A build with a sanitizer
 * keeps most of it, and is passed over.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "fs/host/sandbox.h"
#include "store/value/why.h"
#include "tests/unit/child.h"

static char folder[64];

static int begin(void **state)
{
	snprintf(folder, sizeof(folder), "/tmp/sandbox-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state)
{
	return rmdir(folder);
}

ALL_TESTS_IN(begin, end);

/* Fails the child: cmocka's assertions are the parent's. */
#define NEED(what)                                                         \
	do {                                                               \
		if (!(what)) {                                             \
			fprintf(stderr, "%d: %s (%m)\n", __LINE__, #what); \
			_exit(1);                                          \
		}                                                          \
	} while (0)
#define REFUSED(call) NEED((call) < 0 && (errno == EPERM || errno == EACCES))

/* What @act does in a child that has given up its privileges. */
static void in_sandbox_with(struct sandbox s,
			    void (*act)(const struct sandbox *s))
{
	if (SANDBOX_IS_PARTIAL)
		skip();
	if (in_child()) {
		NEED(sandbox_enter(&s, true) == 0);
		act(&s);
		_exit(0);
	}
}

static void in_sandbox(bool network, void (*act)(const struct sandbox *s))
{
	in_sandbox_with((struct sandbox){.store = network ? NULL : folder},
			act);
}

static void use_files(const struct sandbox *s)
{
	char path[96], other[96];
	int fd;

	snprintf(path, sizeof(path), "%s/file", folder);
	snprintf(other, sizeof(other), "%s/other", folder);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	NEED(fd >= 0);
	NEED(write(fd, "x", 1) == 1 && fdatasync(fd) == 0);
	NEED(fchmod(fd, 0600) == 0 && ftruncate(fd, 10) == 0);
	NEED(fchown(fd, geteuid(), getegid()) == 0);
	NEED(rename(path, other) == 0 && unlink(other) == 0);
	NEED(open("/proc/self/statm", O_RDONLY) >= 0);
	REFUSED(open("/etc/passwd", O_RDONLY));
	REFUSED(open("/tmp/sandbox-elsewhere", O_WRONLY | O_CREAT, 0600));
	REFUSED(open("/", O_RDONLY | O_DIRECTORY));
	REFUSED(symlink("/etc/passwd", path));
	REFUSED(link("/dev/null", path));
}

TEST(only_the_store_is_open_to_it)
{
	in_sandbox(false, use_files);
}

static void read_files(const struct sandbox *s)
{
	char path[96], other[96];

	snprintf(path, sizeof(path), "%s/keytab", folder);
	snprintf(other, sizeof(other), "%s/other", folder);
	NEED(open(path, O_RDONLY) >= 0);
	NEED(open("/etc/passwd", O_RDONLY) >= 0);
	REFUSED(open(path, O_WRONLY));
	/* Landlock knows of it from its third version on. */
	if (s->landlock >= 3)
		REFUSED(open(path, O_RDONLY | O_TRUNC));
	REFUSED(open("/tmp/sandbox-elsewhere", O_WRONLY | O_CREAT, 0600));
	REFUSED(mkdir(other, 0700));
	REFUSED(rename(path, other));
	REFUSED(unlink(path));
	REFUSED(rmdir(folder));
}

TEST(of_a_cluster_it_reads_all_and_writes_nothing)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/keytab", folder);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	in_sandbox(true, read_files);
	unlink(path);
}

#define FUTEX_WAITV 449

/* For what a newer C library tries first there is another way, if that says so. */
static void call_new_ones(const struct sandbox *s)
{
	NEED(syscall(FUTEX_WAITV, NULL, 0, 1, NULL) == -1 && errno == ENOSYS);
	NEED(syscall(SYS_clone3, NULL, 0) == -1 && errno == ENOSYS);
}

TEST(calls_that_are_newer_are_not_there)
{
	in_sandbox(false, call_new_ones);
}

static void *nothing(void *arg)
{
	return arg;
}

static void start_things(const struct sandbox *s)
{
	/* Which the child would end as. */
	char name[] = "false", *argv[] = {name, NULL};
	pthread_t thread;

	NEED(pthread_create(&thread, NULL, nothing, NULL) == 0);
	NEED(pthread_join(thread, NULL) == 0);
	REFUSED(fork());
	REFUSED(execv("/bin/false", argv));
	REFUSED(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	REFUSED(unshare(CLONE_NEWUSER));
	NEED(unshare(CLONE_FILES) == 0);
	/* It may look whether a process is there. */
	NEED(kill(getpid(), 0) == 0);
	REFUSED(kill(getpid(), SIGCONT));
}

TEST(it_starts_threads_and_nothing_else)
{
	in_sandbox(false, start_things);
	in_sandbox(true, start_things);
}

/* Calls that no mount has a use for, with arguments that they would find bad. */
static const int of_no_use[] = {
	SYS_acct,
	SYS_add_key,
	SYS_bpf,
	SYS_chroot,
	SYS_execveat,
	SYS_fanotify_init,
	SYS_fchownat,
	SYS_fsopen,
	SYS_inotify_init1,
	SYS_kcmp,
	SYS_keyctl,
	SYS_linkat,
	SYS_listen,
	SYS_memfd_create,
	SYS_mknodat,
	SYS_move_mount,
	SYS_name_to_handle_at,
	SYS_open_by_handle_at,
	SYS_open_tree,
	SYS_perf_event_open,
	SYS_personality,
	SYS_pidfd_getfd,
	SYS_pidfd_open,
	SYS_pivot_root,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_request_key,
	SYS_rt_sigqueueinfo,
	SYS_setgid,
	SYS_setns,
	SYS_setresuid,
	SYS_setuid,
	SYS_setxattr,
	SYS_shmget,
	SYS_socketpair,
	SYS_symlinkat,
	SYS_truncate,
	SYS_userfaultfd,
#ifdef SYS_fork
	SYS_fork,
	SYS_symlink,
	SYS_link,
#endif
};

static void ask_for_more(const struct sandbox *s)
{
	size_t n = sizeof(of_no_use) / sizeof(*of_no_use);

	for (size_t i = 0; i < n; i++) {
		errno = 0;
		if (syscall(of_no_use[i], -1, -1, -1, -1, -1) == -1 &&
		    (errno == EPERM || errno == ENOSYS))
			continue;
		fprintf(stderr, "the call %d is made (%m)\n", of_no_use[i]);
		_exit(1);
	}
}

TEST(no_other_call_is_made)
{
	in_sandbox(false, ask_for_more);
	in_sandbox(true, ask_for_more);
	in_sandbox_with((struct sandbox){.store = folder, .ring = true},
			ask_for_more);
}

static void use_sockets(const struct sandbox *s)
{
	const struct sockaddr at = {.sa_family = AF_UNSPEC};
	bool cluster = !s->store;
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (cluster || s->syslog)
		NEED(fd >= 0 && connect(fd, &at, sizeof(at)) == 0);
	else
		NEED(fd < 0 && errno == EPERM &&
		     connect(0, &at, sizeof(at)) < 0 && errno == EPERM);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	NEED(cluster ? fd >= 0 : fd < 0 && errno == EPERM);
	NEED(bind(0, &at, sizeof(at)) < 0 && (errno != EPERM) == cluster);
}

TEST(sockets_are_for_a_cluster_and_of_the_machine_for_syslog)
{
	in_sandbox(false, use_sockets);
	in_sandbox_with((struct sandbox){.store = folder, .syslog = true},
			use_sockets);
	in_sandbox(true, use_sockets);
}

static void use_rings(const struct sandbox *s)
{
	/* One without entries cannot be made. */
	long r = syscall(SYS_io_uring_setup, 0, NULL);

	NEED(r < 0 && (errno == EPERM) == !s->ring);
}

TEST(rings_are_for_who_is_served_by_them)
{
	in_sandbox(false, use_rings);
	in_sandbox_with((struct sandbox){.store = folder, .ring = true},
			use_rings);
}

static void look(const struct sandbox *s)
{
	struct buf text = {0};

	REFUSED(mount("none", folder, "tmpfs", 0, NULL));
	REFUSED(umount2(folder, MNT_DETACH));
	NEED(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	NEED(prctl(PR_GET_DUMPABLE) == 0);
	NEED(sandbox_format(s, &text) == 0);
	NEED(buf_append(&text, "", 1) == 0);
	NEED(strstr((char *)text.data, "no_new_privs yes\n"));
	NEED(strstr((char *)text.data, "capabilities dropped\n"));
	NEED(strstr((char *)text.data, "core none\n"));
	NEED(strstr((char *)text.data, "landlock yes"));
	NEED(strstr((char *)text.data, "seccomp yes"));
	buf_free(&text);
}

TEST(it_mounts_nothing_and_says_what_is_on)
{
	in_sandbox(false, look);
}

/* From now on the kernel lacks a call. */
static void lack(int nr)
{
	struct sock_filter code[] = {
		{BPF_LD | BPF_W | BPF_ABS, 0, 0,
		 offsetof(struct seccomp_data, nr)},
		{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)nr},
		{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS},
		{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
	};
	struct sock_fprog prog = {sizeof(code) / sizeof(*code), code};

	NEED(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	NEED(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == 0);
}

/* What a process is told that wants all and lacks @nr, and one that does not. */
static void try_without(int nr, bool required, const char *words)
{
	struct sandbox s = {.store = folder};
	struct buf text = {0};
	int r;

	lack(nr);
	r = sandbox_enter(&s, required);
	if (required) {
		NEED(r == -EOPNOTSUPP && strstr(store_why(), words));
		return;
	}
	NEED(r == 0 && sandbox_format(&s, &text) == 0);
	NEED(buf_append(&text, "", 1) == 0);
	NEED(strstr((char *)text.data, words));
	buf_free(&text);
}

static void without(int nr, bool required, const char *words)
{
	if (SANDBOX_IS_PARTIAL)
		skip();
	if (in_child()) {
		try_without(nr, required, words);
		_exit(0);
	}
}

TEST(what_the_kernel_lacks_is_refused_where_it_is_required)
{
	without(SYS_landlock_create_ruleset, true, "the kernel lacks Landlock");
	without(SYS_landlock_restrict_self, true, "the kernel lacks Landlock");
	without(SYS_seccomp, true, "the kernel lacks seccomp filters");
}

TEST(what_the_kernel_lacks_is_said_to_be_off)
{
	without(SYS_landlock_create_ruleset, false, "landlock no\nseccomp yes");
	without(SYS_seccomp, false, "seccomp no\n");
}

static void assert_said(const char *words)
{
	const struct sandbox none = {.store = folder};
	struct buf text = {0};

	assert_int_equal(sandbox_format(&none, &text), 0);
	assert_int_equal(buf_append(&text, "", 1), 0);
	assert_non_null(strstr((char *)text.data, words));
	buf_free(&text);
}

/* As one that hides the keys of a cluster. */
TEST(a_core_that_something_else_forbids_is_said_to_be_none)
{
	int was = prctl(PR_GET_DUMPABLE);

	assert_int_equal(prctl(PR_SET_DUMPABLE, 1), 0);
	assert_said("core as the system has it\n");
	assert_int_equal(prctl(PR_SET_DUMPABLE, 0), 0);
	assert_said("core none\n");
	assert_int_equal(prctl(PR_SET_DUMPABLE, was == 1), 0);
}

TEST(who_does_not_exist_is_nobody_to_become)
{
	assert_int_equal(sandbox_become("no-such-user-here", false), -EINVAL);
}
