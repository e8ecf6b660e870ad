/*
 * What is in a file: holes, ends, limits, appends, and what was removed while it
 * is open.
 */
#include "posix.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_VALUE (10l << 20)
#define RECORDS 40

static bool zeros(int fd, off_t from, size_t n)
{
	char back[8192];

	memset(back, 1, sizeof(back));
	if (pread(fd, back, n, from) != (ssize_t)n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (back[i])
			return false;
	return true;
}

static void holes(void)
{
	int fd = must_open(home, O_RDWR | O_CREAT);
	struct stat st;

	WANT(pwrite(fd, "end", 3, 70000) == 3);
	WANT(zeros(fd, 0, 8192) && zeros(fd, 65000, 5000));
	WORKS(close(fd));
	WANT(stat(home, &st) == 0 && st.st_size == 70003);
	fd = must_open(home, O_RDONLY);
	WANT(zeros(fd, 0, 8192) && zeros(fd, 65000, 5000));
	WORKS(close(fd));
}

static void extended(void)
{
	int fd;

	put(home, "0123456789");
	fd = must_open(home, O_RDWR);
	WORKS(ftruncate(fd, 4));
	WORKS(ftruncate(fd, 5000));
	WANT(zeros(fd, 4, 4996));
	WANT(lseek(fd, 0, SEEK_CUR) == 0);
	WANT(lseek(fd, 0, SEEK_END) == 5000);
	WORKS(close(fd));
	fd = must_open(home, O_RDONLY);
	WANT(zeros(fd, 4, 4996));
	WORKS(close(fd));
	WORKS(truncate(home, 3));
	WANT(holds(home, "012"));
	WORKS(truncate(home, 6));
	fd = must_open(home, O_RDONLY);
	WANT(zeros(fd, 3, 3) && lseek(fd, 0, SEEK_END) == 6);
	WORKS(close(fd));
}

static void allocated(void)
{
	struct stat st;
	int fd = must_open(home, O_RDWR | O_CREAT);

	WANT(write(fd, "one", 3) == 3);
	WANT(posix_fallocate(fd, 0, 2) == 0);
	WANT(lseek(fd, 0, SEEK_END) == 3);
	WANT(posix_fallocate(fd, 2, 500) == 0);
	WANT(lseek(fd, 0, SEEK_END) == 502 && zeros(fd, 3, 499));
	FAILS(EOPNOTSUPP,
	      fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 2));
	FAILS(EOPNOTSUPP, fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, 2));
	WORKS(close(fd));
	WANT(stat(home, &st) == 0 && st.st_size == 502);
}

/* Of cells: what is scratch is bounded by another number. */
static void too_long(void)
{
	int fd = must_open("f:q", O_RDWR | O_CREAT);

	WANT(pwrite(fd, "x", 1, MAX_VALUE - 1) == 1);
	WORKS(close(fd));
	FAILS(EFBIG, truncate("f:q", MAX_VALUE + 1));
	fd = must_open("f:q", O_WRONLY | O_APPEND);
	FAILS(EFBIG, write(fd, "x", 1));
	WORKS(close(fd));
	fd = must_open("f:q", O_WRONLY);
	FAILS(EFBIG, pwrite(fd, "x", 1, MAX_VALUE));
	WORKS(close(fd));
	fd = must_open("f:q", O_WRONLY);
	FAILS(EFBIG, ftruncate(fd, MAX_VALUE + 1));
	WORKS(close(fd));
	fd = must_open("f:q", O_WRONLY);
	WANT(posix_fallocate(fd, 0, MAX_VALUE + 1) == EFBIG);
	WORKS(close(fd));
	fd = must_open("f:q", O_RDONLY);
	WANT(lseek(fd, 0, SEEK_END) == MAX_VALUE);
	WORKS(close(fd));
}

/* Was this process sent the signal? It is blocked, and pending no more then. */
static bool was_sent(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	return sigtimedwait(&set, NULL, &(struct timespec){0}) == sig;
}

static void limit_of_process(void)
{
	struct rlimit was, low;
	sigset_t set;
	int fd = must_open(home, O_RDWR | O_CREAT);

	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	WORKS(sigprocmask(SIG_BLOCK, &set, NULL));
	WORKS(getrlimit(RLIMIT_FSIZE, &was));
	low = was;
	low.rlim_cur = 100;
	WORKS(setrlimit(RLIMIT_FSIZE, &low));
	WANT(pwrite(fd, "0123456789", 10, 95) == 5);
	WANT(!was_sent(SIGXFSZ));
	FAILS(EFBIG, pwrite(fd, "x", 1, 100));
	WANT(was_sent(SIGXFSZ));
	FAILS(EFBIG, ftruncate(fd, 101));
	WANT(was_sent(SIGXFSZ));
	WORKS(setrlimit(RLIMIT_FSIZE, &was));
	WORKS(sigprocmask(SIG_UNBLOCK, &set, NULL));
	WANT(lseek(fd, 0, SEEK_END) == 100);
	WORKS(close(fd));
}

static void append_goes_to_the_end(void)
{
	int fd;

	put(home, "ab");
	fd = must_open(home, O_RDWR | O_APPEND);
	WANT(lseek(fd, 0, SEEK_SET) == 0);
	WANT(write(fd, "c", 1) == 1);
	WANT(lseek(fd, 0, SEEK_CUR) == 3);
	/* Linux does so, though POSIX wants it at 0. */
	WANT(pwrite(fd, "d", 1, 0) == 1);
	WORKS(close(fd));
	WANT(holds(home, "abcd"));
}

static void append_records(char of)
{
	char record[100];

	memset(record, of, sizeof(record) - 1);
	record[sizeof(record) - 1] = '\n';
	for (int i = 0; i < RECORDS; i++) {
		int fd = open("f:q", O_WRONLY | O_APPEND);

		if (fd < 0 ||
		    write(fd, record, sizeof(record)) !=
			    (ssize_t)sizeof(record) ||
		    close(fd))
			_exit(1);
	}
	_exit(0);
}

static unsigned whole_records(const char *of, const char *text, size_t n)
{
	unsigned whole = 0;

	for (size_t at = 0; at + 100 <= n; at += 100) {
		const char *r = text + at;

		if (strchr(of, r[0]) && r[99] == '\n' &&
		    memcmp(r, r + 1, 98) == 0)
			whole++;
	}
	return whole;
}

static void append_of_four(void)
{
	static char text[4 * RECORDS * 100 + 100];
	int fd, status;

	put("f:q", "");
	WANT(truncate("f:q", 0) == 0);
	for (int i = 0; i < 4; i++)
		if (fork() == 0)
			append_records("abcd"[i]);
	for (int i = 0; i < 4; i++)
		WANT(wait(&status) > 0 && status == 0);
	fd = must_open("f:q", O_RDONLY);
	WANT(read(fd, text, sizeof(text)) == 4 * RECORDS * 100);
	WORKS(close(fd));
	WANT(whole_records("abcd", text, sizeof(text)) == 4 * RECORDS);
}

static void removed_while_open(void)
{
	struct stat st;
	char back[10];
	int fd;

	put(home, "before");
	fd = must_open(home, O_RDWR);
	WORKS(unlink(home));
	FAILS(ENOENT, stat(home, &st));
	WANT(fstat(fd, &st) == 0 && st.st_nlink == 0 && st.st_size == 6);
	WANT(pread(fd, back, 10, 0) == 6 && memcmp(back, "before", 6) == 0);
	WANT(pwrite(fd, "after", 5, 6) == 5);
	WORKS(ftruncate(fd, 9));
	WANT(pread(fd, back, 10, 6) == 3 && memcmp(back, "aft", 3) == 0);
	WORKS(fsync(fd));
	FAILS(ENOENT, stat(home, &st));
	put(home, "another");
	WANT(pread(fd, back, 6, 0) == 6 && memcmp(back, "before", 6) == 0);
	WORKS(close(fd));
	WANT(holds(home, "another"));
}

static void vectors(void)
{
	char a[3], b[5];
	char one[] = "one", two[] = "two";
	struct iovec out[] = {{one, 3}, {one, 0}, {two, 3}};
	struct iovec in[] = {{a, 3}, {b, 5}};
	int fd = must_open(home, O_RDWR | O_CREAT);

	WANT(writev(fd, out, 3) == 6);
	WANT(preadv(fd, in, 2, 0) == 6);
	WANT(memcmp(a, "one", 3) == 0 && memcmp(b, "two", 3) == 0);
	WANT(pwritev(fd, out, 1, 6) == 3);
	WANT(write(fd, "", 0) == 0);
	WANT(read(fd, a, 0) == 0);
	WORKS(close(fd));
	WANT(holds(home, "onetwoone"));
}

static void between_files(void)
{
	off_t from = 1, to = 2;
	int a, b;

	put(home, "0123456789");
	put("f:other", "abcdefghij");
	a = must_open(home, O_RDONLY);
	b = must_open("f:other", O_RDWR);
	WANT(copy_file_range(a, &from, b, &to, 3, 0) == 3);
	WANT(from == 4 && to == 5);
	from = 8;
	WANT(sendfile(b, a, &from, 5) == 2);
	WORKS(close(a));
	WORKS(close(b));
	WANT(holds("f:other", "89123fghij"));
}

static void bad_buffer(void)
{
	/* No page of a process is there. */
	char *volatile nowhere = (char *)8;
	int fd;

	put(home, "one");
	fd = must_open(home, O_RDWR);
	FAILS(EFAULT, read(fd, nowhere, 3));
	FAILS(EFAULT, write(fd, nowhere, 3));
	WORKS(close(fd));
	WANT(holds(home, "one"));
}

const struct posix_case file_cases[] = {
	{"what was not written reads as zeros", holes, true},
	{"a file is made longer with zeros", extended, true},
	{"posix_fallocate makes longer, never shorter", allocated, true},
	{"more than max_value is EFBIG", too_long, false},
	{"more than the process may is EFBIG and SIGXFSZ", limit_of_process,
	 true},
	{"O_APPEND writes at the end", append_goes_to_the_end, true},
	{"appends of four processes are whole, and all there", append_of_four,
	 false},
	{"a file that was removed is used on", removed_while_open, true},
	{"vectors are written and read in order", vectors, true},
	{"copy_file_range and sendfile copy a part", between_files, true},
	{"memory that is not there is EFAULT", bad_buffer, true},
	{0},
};
