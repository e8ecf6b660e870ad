/* What the kernel says of a process, here of this one or its child. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "fs/control/process.h"
#include "fs/kernel/caller.h"
#include "store/os/clock.h"

static uint64_t now_ns(clockid_t which)
{
	struct timespec now;

	clock_gettime(which, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

TEST(the_start_is_before_now_and_not_long_ago)
{
	struct process_figures p;
	uint64_t up, now;

	process_figures(&p);
	up = now_ns(CLOCK_BOOTTIME);
	now = now_ns(CLOCK_REALTIME);
	/* By less than a tick it may seem to be later. */
	assert_true(p.start_ns <= now + NS_PER_S / 50);
	/* A debugger may hold the test, but not since the machine started. */
	assert_true(now - p.start_ns < up / 2 || up < 60 * NS_PER_S);
}

static uint64_t opened(void)
{
	uint64_t n = 0;

	for (int fd = 0; fd < 4096; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

TEST(each_open_file_counts)
{
	struct process_figures before, with, after;
	int fd;

	process_figures(&before);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	process_figures(&with);
	close(fd);
	process_figures(&after);
	assert_int_equal(before.open_fds, opened());
	assert_int_equal(with.open_fds, before.open_fds + 1);
	assert_int_equal(after.open_fds, before.open_fds);
}

TEST(the_limit_of_open_files_is_that_of_the_process)
{
	struct process_figures p;
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = 123;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	process_figures(&p);
	assert_int_equal(p.max_fds, 123);
}

TEST(what_the_kernel_does_not_say_is_nought)
{
	struct process_figures p;
	struct rlimit limit, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	process_figures(&p);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(p.open_fds, 0);
	assert_int_equal(p.start_ns, 0);
	assert_int_equal(p.resident_bytes, 0);
	assert_int_equal(p.virtual_bytes, 0);
}

TEST(time_and_memory_grow)
{
	const size_t more = 64 << 20;
	struct process_figures before, after;
	volatile char *piece;

	process_figures(&before);
	piece = malloc(more);
	assert_non_null((void *)piece);
	for (size_t i = 0; i < more; i += 1024)
		piece[i] = 1;
	process_figures(&after);
	assert_true(after.cpu_ns > before.cpu_ns);
	assert_true(after.cpu_ns < 1000 * NS_PER_S);
	assert_true(after.resident_bytes >=
		    before.resident_bytes + more - more / 4);
	assert_true(after.virtual_bytes >= after.resident_bytes);
	assert_true(after.resident_bytes < 64ull << 30);
	free((void *)piece);
}

/* Handles one signal, blocks another, and stops. */
static pid_t stopped_child(void)
{
	pid_t pid = fork();
	sigset_t set;

	assert_true(pid >= 0);
	if (pid == 0) {
		sigemptyset(&set);
		sigaddset(&set, SIGUSR2);
		sigprocmask(SIG_BLOCK, &set, NULL);
		signal(SIGUSR1, _exit);
		signal(SIGHUP, SIG_IGN);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	return pid;
}

/* A process that is stopped keeps its signals until it goes on. */
TEST(only_a_signal_that_ends_it_has_killed_a_caller)
{
	pid_t pid = stopped_child();
	siginfo_t info;

	kill(pid, SIGUSR2);
	kill(pid, SIGHUP);
	assert_false(caller_has_signal(pid));
	kill(pid, SIGUSR1);
	assert_true(caller_has_signal(pid));
	assert_false(caller_is_killed(pid));
	kill(pid, SIGTERM);
	assert_true(caller_is_killed(pid));
	kill(pid, SIGKILL);
	/* What it has written is put as the kernel closes its files. */
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_false(caller_is_killed(pid));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(caller_is_killed(pid));
}
