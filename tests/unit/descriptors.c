#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "fs/host/descriptors.h"
#include "tests/unit/child.h"

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void run(int (*test)(void))
{
	if (in_child())
		_exit(test());
}

/* The kernel as one that does not know close_range(). */
static int forbid_close_range(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return -1;
	return descriptors_close_range(900, 900) < 0 && errno == ENOSYS ? 0
									: -1;
}

/* A number each: which step failed. */
static int close_all_but(int keep)
{
	if (dup2(0, 3) < 0 || dup2(0, 4) < 0 || dup2(0, 77) < 0)
		return 1;
	descriptors_close(keep);
	for (int fd = 0; fd < 100; fd++)
		if (is_open(fd) != (fd < 3 || fd == keep))
			return 100 + fd;
	return 0;
}

static int close_with_range(void)
{
	return close_all_but(4);
}

static int keep_the_first(void)
{
	return close_all_but(3);
}

static int keep_none(void)
{
	return close_all_but(-1);
}

static int close_without_range(void)
{
	return forbid_close_range() ? 2 : close_all_but(4);
}

static int fill_two(void)
{
	char c;

	close(0);
	close(2);
	descriptors_fill();
	if (!is_open(0) || !is_open(1) || !is_open(2))
		return 1;
	if (open("/dev/null", O_RDONLY) <= 2)
		return 2;
	if (read(0, &c, 1) >= 0 || errno != EBADF)
		return 3;
	return write(2, "", 1) < 0 && errno == EBADF ? 0 : 4;
}

static int let_go_of_a_pipe(void)
{
	int fds[2];
	char c;

	if (pipe(fds) < 0 || dup2(fds[1], 1) < 0 || dup2(fds[1], 2) < 0)
		return 1;
	close(fds[1]);
	descriptors_silence();
	if (read(fds[0], &c, 1) != 0)
		return 2;
	return write(2, "", 1) == 1 && read(0, &c, 1) == 0 ? 0 : 3;
}

/* None is left out, and none is left over. */
static int let_go_of_nothing(void)
{
	/* What the tests were started with. */
	descriptors_close(-1);
	close(0);
	close(1);
	close(2);
	descriptors_silence();
	for (int fd = 0; fd < 100; fd++)
		if (is_open(fd) != (fd < 3))
			return 100 + fd;
	return 0;
}

TEST(all_but_one_are_closed)
{
	run(close_with_range);
	run(keep_the_first);
	run(keep_none);
}

TEST(they_are_closed_one_by_one_where_the_kernel_is_old)
{
	run(close_without_range);
}

TEST(what_is_closed_is_filled_and_fails_as_before)
{
	run(fill_two);
}

TEST(what_was_closed_is_let_go_too)
{
	run(let_go_of_nothing);
}

TEST(who_reads_what_was_let_go_comes_to_its_end)
{
	run(let_go_of_a_pipe);
}
