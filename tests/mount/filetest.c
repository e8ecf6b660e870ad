/*
 * One file, used at random and compared with memory after each step.
 *
 *	filetest [--seed N] [--steps N] [--unlink] [--plain] FILE
 *
 * Writes, appends behind a seek to the end, truncations, allocations, reads,
 * fsync, a close of a copy of the descriptor (a flush), closes and reopenings
 * with O_APPEND and O_TRUNC; with --unlink also what is removed while it is
 * open, and used on. Sizes are asked by fstat(2) and by a seek to the end.
 * Whoever opens the file anew sees what was published last; not so with
 * --plain, for a file of any other filesystem.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE_MAX_BYTES 100000

static struct {
	const char *path;
	uint64_t seed, state;
	unsigned long step, steps;
	bool may_unlink, plain;

	int fd;
	int flags;
	bool gone; /* unlinked while it is open */
	size_t len;
	char data[SIZE_MAX_BYTES];
	/* What others see, or -1 when there is no such file. */
	ssize_t old_len;
	char old[SIZE_MAX_BYTES];
	bool dirty; /* others see something older */
} t;

static void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void fail(const char *fmt, ...)
{
	int err = errno;
	va_list ap;

	fprintf(stderr, "filetest: --seed %llu %s, step %lu: ",
		(unsigned long long)t.seed, t.path, t.step);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, " (errno %d, length %zu, flags %o)\n", err, t.len,
		(unsigned)t.flags);
	exit(1);
}

static size_t any(size_t below)
{
	t.state = t.state * 6364136223846793005ull + 1442695040888963407ull;
	return below ? (size_t)(t.state >> 33) % below : 0;
}

/* Mostly near the end or the start, where the edges are. */
static size_t any_size(void)
{
	switch (any(4)) {
	case 0:
		return any(20);
	case 1:
		return t.len < 10 ? any(10) : t.len - any(10);
	case 2:
		return any(5000);
	default:
		return any(SIZE_MAX_BYTES);
	}
}

static void check_size(void)
{
	struct stat st;
	off_t end = lseek(t.fd, 0, SEEK_END);

	if (end != (off_t)t.len)
		fail("the end is at %lld", (long long)end);
	if (fstat(t.fd, &st) || st.st_size != (off_t)t.len)
		fail("fstat says %lld", (long long)st.st_size);
	if (st.st_nlink != !t.gone)
		fail("%d links", (int)st.st_nlink);
}

static void check_content(void)
{
	static char back[SIZE_MAX_BYTES + 1];
	size_t off = any_size(), n = any_size();
	ssize_t got = pread(t.fd, back, n, (off_t)off);
	size_t want = off >= t.len ? 0 : t.len - off < n ? t.len - off : n;

	if (got != (ssize_t)want || memcmp(back, t.data + off, want))
		fail("read %zu at %zu gave %zd", n, off, got);
}

/* A new open sees what was published, neither more nor less. */
static void check_others(void)
{
	static char back[SIZE_MAX_BYTES + 1];
	struct stat st;
	ssize_t got;
	int fd;

	if (t.old_len < 0 || t.plain)
		return;
	fd = open(t.path, O_RDONLY);
	if (fd < 0)
		fail("open to read");
	got = read(fd, back, sizeof(back));
	if (got != t.old_len || memcmp(back, t.old, (size_t)t.old_len))
		fail("others read %zd, not the %zd bytes there were", got,
		     t.old_len);
	if (!t.dirty && (fstat(fd, &st) || st.st_size != t.old_len))
		fail("others see a size of %lld", (long long)st.st_size);
	close(fd);
}

static void published(void)
{
	t.dirty = false;
	if (t.gone)
		return;
	t.old_len = (ssize_t)t.len;
	memcpy(t.old, t.data, t.len);
}

static void put(size_t off, size_t n)
{
	if (off > t.len)
		memset(t.data + t.len, 0, off - t.len);
	for (size_t i = 0; i < n; i++)
		t.data[off + i] = (char)('a' + any(26));
	if (off + n > t.len)
		t.len = off + n;
	t.dirty = true;
}

static void step_write(bool at_end)
{
	size_t off = at_end || t.flags & O_APPEND ? t.len : any_size();
	size_t n = any(8) ? any(100) : any(20000);

	n = n ? n : 1;
	if (off + n > SIZE_MAX_BYTES)
		return;
	put(off, n);
	if (lseek(t.fd, at_end ? 0 : (off_t)off, at_end ? SEEK_END : SEEK_SET) <
		    0 ||
	    write(t.fd, t.data + off, n) != (ssize_t)n)
		fail("write %zu at %zu", n, off);
}

static void step_truncate(void)
{
	size_t len = any(3) ? any_size() : 0;

	if (ftruncate(t.fd, (off_t)len))
		fail("truncate to %zu", len);
	if (len == t.len && len)
		return;
	if (len > t.len)
		memset(t.data + t.len, 0, len - t.len);
	t.len = len;
	t.dirty = true;
}

static void step_allocate(void)
{
	size_t len = any_size() + 1;

	if (len > SIZE_MAX_BYTES)
		return;
	if (posix_fallocate(t.fd, 0, (off_t)len))
		fail("allocate %zu", len);
	if (len <= t.len)
		return;
	memset(t.data + t.len, 0, len - t.len);
	t.len = len;
	t.dirty = true;
}

/* FLUSH publishes what was written, but not an empty value. */
static void step_flush(void)
{
	if (close(dup(t.fd)))
		fail("close of a copy");
	if (t.len)
		published();
}

static void step_sync(void)
{
	if (any(2) ? fsync(t.fd) : fdatasync(t.fd))
		fail("sync");
	published();
}

static void open_file(int flags)
{
	t.flags = O_RDWR | flags;
	t.fd = open(t.path, t.flags, 0644);
	if (t.fd < 0)
		fail("open");
	if (flags & O_TRUNC && t.len) {
		t.len = 0;
		t.dirty = true;
	}
}

static void close_file(void)
{
	struct stat st;

	/* What release publishes nobody waits for. */
	if (!t.len && fsync(t.fd))
		fail("sync before close");
	if (close(t.fd))
		fail("close");
	if (t.gone) {
		if (!stat(t.path, &st))
			fail("what was removed is there again");
		t.gone = false;
		t.len = 0;
		t.old_len = -1;
		open_file(O_CREAT | (any(2) ? O_EXCL : 0));
		t.dirty = true;
		return;
	}
	published();
	check_others();
	if (stat(t.path, &st) || st.st_size != (off_t)t.len)
		fail("stat says %lld", (long long)st.st_size);
	open_file(any(3) ? any(2) ? 0 : O_APPEND : O_TRUNC);
}

static void step_unlink(void)
{
	if (!t.may_unlink || t.gone || t.old_len < 0)
		return;
	if (unlink(t.path))
		fail("unlink");
	t.gone = true;
	t.old_len = -1;
}

static void step(void)
{
	switch (any(16)) {
	case 0:
	case 1:
	case 2:
		step_write(false);
		break;
	case 3:
	case 4:
	case 5:
		step_write(true);
		break;
	case 6:
	case 7:
		step_truncate();
		break;
	case 8:
		step_allocate();
		break;
	case 9:
		step_flush();
		break;
	case 10:
		if (!any(4))
			step_sync();
		break;
	case 11:
	case 12:
		close_file();
		break;
	case 13:
		if (!any(3))
			step_unlink();
		break;
	default:
		break;
	}
	check_content();
	check_size();
	if (!t.gone && !any(4))
		check_others();
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"seed", required_argument, NULL, 's'},
		{"steps", required_argument, NULL, 'n'},
		{"unlink", no_argument, NULL, 'u'},
		{"plain", no_argument, NULL, 'p'},
		{0}};
	int c;

	t.seed = 1;
	t.steps = 1000;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 's')
			t.seed = strtoull(optarg, NULL, 0);
		else if (c == 'n')
			t.steps = strtoul(optarg, NULL, 0);
		else if (c == 'u')
			t.may_unlink = true;
		else if (c == 'p')
			t.plain = true;
		else
			return 2;
	}
	if (optind + 1 != argc)
		return 2;
	t.path = argv[optind];
	t.state = t.seed;
	t.old_len = -1;
	open_file(O_CREAT | O_TRUNC);
	t.dirty = true;
	for (t.step = 0; t.step < t.steps; t.step++)
		step();
	close_file();
	return 0;
}
