/*
 * Eight writers, and a daemon that is killed under them.
 *
 *	killtest [--cycles N] [--seed N] [--option O] CELLFS STORE MOUNTPOINT
 *
 * A cycle starts the daemon, lets each writer work in rows of its own, kills
 * the daemon with SIGKILL at a random moment, mounts the store anew and reads
 * back what the writers did in this and all earlier cycles:
 *
 *	acknowledged put	there, with its value, in its listing
 *	acknowledged removal	gone
 *	the one under way	there whole, or not at all
 *
 * Every second cycle leaves the dead mount to the next daemon to heal. A cycle
 * that proves nothing fails: each writer must have had something acknowledged,
 * and one must have been inside a call when the signal was sent. The seed
 * decides what is written, but not when the signal falls.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WRITERS 8
#define OPS_MAX 100000
#define VALUE_MAX (200 * 1024)
#define COLUMNS 5
#define TS_BASE 1000000
#define WAIT_MS 30000

enum op_kind {
	OP_VERSION, /* a new version by its timestamp */
	OP_LATEST,  /* a new version by `latest` */
	OP_ROW,	    /* a new row by F:Q */
	OP_REPLACE, /* the same version again */
	OP_MOVE,    /* a scratch file renamed to a timestamp */
	OP_REMOVE,  /* the OP_VERSION that came five operations before */
	OP_KINDS,
};

enum op_state {
	OP_NONE,
	OP_BEGUN,
	OP_ACKED
};

/* Shared with the parent. The writer alone stores; the parent reads. */
struct writer {
	uint32_t n; /* operations begun; what each is follows from its number
		     */
	int error;  /* errno of the call that ended it */
	bool early; /* and that was before the kill */
	uint8_t state[OPS_MAX];
};

static struct writer *writers;
static bool *killing; /* shared: the signal is about to be sent */
static uint64_t seed;
static const char *cellfs, *store, *point, *mount_option;
static unsigned cycle;
static pid_t daemon_pid; /* while it runs */
static bool mounted;	 /* a mount may be there, dead or alive */
static uint8_t value[VALUE_MAX], got[VALUE_MAX + 1];

static void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int detach(void);

static void fail(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr,
		"killtest: seed %llu, cycle %u: ", (unsigned long long)seed,
		cycle);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	if (daemon_pid) {
		kill(daemon_pid, SIGKILL);
		waitpid(daemon_pid, NULL, 0);
	}
	if (mounted)
		detach();
	exit(1);
}

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static void sleep_us(unsigned us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000L};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

static uint64_t value_id(unsigned w, uint32_t i)
{
	return (uint64_t)w << 32 | i;
}

/* Begins with its id; a few are long enough for several writes. */
static size_t make_value(uint64_t id, uint8_t *out)
{
	uint64_t x = mix(seed ^ id * 7);
	size_t len = 16 + x % 300;

	if (x >> 32 & 1 && x % 64 == 0)
		len = 20000 + x % (VALUE_MAX - 20000);
	memcpy(out, &id, 8);
	for (size_t at = 8; at < len; at += 8) {
		x = mix(x);
		memcpy(out + at, &x, len - at < 8 ? len - at : 8);
	}
	return len;
}

static enum op_kind op_kind(uint32_t i)
{
	return (enum op_kind)(i % OP_KINDS);
}

static void op_path(unsigned w, uint32_t i, char *path, size_t size)
{
	uint32_t col = i / OP_KINDS % COLUMNS;

	switch (op_kind(i)) {
	case OP_VERSION:
	case OP_MOVE:
		snprintf(path, size, "%s/T/w%u/v/q%u/%u", point, w, col,
			 TS_BASE + i);
		break;
	case OP_LATEST:
		snprintf(path, size, "%s/T/w%u/l/q%u/latest", point, w, col);
		break;
	case OP_ROW:
		snprintf(path, size, "%s/T/w%u.%u/v:q", point, w, i);
		break;
	case OP_REPLACE:
		snprintf(path, size, "%s/T/w%u/o/q%u/5", point, w, col);
		break;
	default:
		op_path(w, i - OP_REMOVE + OP_VERSION, path, size);
	}
}

/* 0 when every call up to close(2) has succeeded. */
static int put_file(const char *path, int flags, const uint8_t *data,
		    size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | flags, 0644), saved;

	for (size_t at = 0; fd >= 0 && at < len;) {
		ssize_t n = write(fd, data + at, len - at);

		if (n < 0) {
			saved = errno;
			close(fd);
			errno = saved;
			return -1;
		}
		at += (size_t)n;
	}
	return fd < 0 ? -1 : close(fd);
}

static int do_op(unsigned w, uint32_t i)
{
	char path[4096], tmp[4096], dir[4096];
	size_t len = make_value(value_id(w, i), value);

	op_path(w, i, path, sizeof(path));
	switch (op_kind(i)) {
	case OP_ROW:
		snprintf(dir, sizeof(dir), "%s/T/w%u.%u", point, w, i);
		if (mkdir(dir, 0755) < 0 && errno != EEXIST)
			return -1;
		return put_file(path, O_EXCL, value, len);
	case OP_MOVE:
		snprintf(tmp, sizeof(tmp), "%s/T/w%u/.moving", point, w);
		if (put_file(tmp, O_TRUNC, value, len) < 0)
			return -1;
		return rename(tmp, path);
	case OP_REMOVE:
		return unlink(path);
	default:
		return put_file(path, O_TRUNC, value, len);
	}
}

static int make_dirs(unsigned w)
{
	static const char *const families[] = {"v", "l", "o"};
	char path[4096];
	int r;

	snprintf(path, sizeof(path), "%s/T/w%u", point, w);
	r = mkdir(path, 0755);
	for (unsigned f = 0; f < 3 && (r == 0 || errno == EEXIST); f++) {
		snprintf(path, sizeof(path), "%s/T/w%u/%s", point, w,
			 families[f]);
		r = mkdir(path, 0755);
		for (unsigned c = 0; c < COLUMNS && (r == 0 || errno == EEXIST);
		     c++) {
			snprintf(path, sizeof(path), "%s/T/w%u/%s/q%u", point,
				 w, families[f], c);
			r = mkdir(path, 0755);
		}
	}
	return r < 0 && errno != EEXIST ? -1 : 0;
}

static void ends(struct writer *me)
{
	me->error = errno;
	me->early = !__atomic_load_n(killing, __ATOMIC_ACQUIRE);
}

static void write_on(unsigned w)
{
	struct writer *me = &writers[w];

	if (make_dirs(w) < 0) {
		ends(me);
		return;
	}
	while (me->n < OPS_MAX) {
		uint32_t i = me->n;

		/* What a kill cut off stays as it is. */
		__atomic_store_n(&me->n, i + 1, __ATOMIC_RELEASE);
		if (op_kind(i) == OP_REMOVE &&
		    me->state[i - OP_REMOVE + OP_VERSION] != OP_ACKED)
			continue;
		__atomic_store_n(&me->state[i], OP_BEGUN, __ATOMIC_RELEASE);
		if (do_op(w, i) < 0) {
			ends(me);
			return;
		}
		__atomic_store_n(&me->state[i], OP_ACKED, __ATOMIC_RELEASE);
	}
}

/* The length, or -1 with errno; into got[]. */
static ssize_t read_file(const char *path)
{
	int fd = open(path, O_RDONLY), saved;
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return -1;
	while ((n = read(fd, got + len, sizeof(got) - len)) > 0)
		len += (size_t)n;
	saved = errno;
	close(fd);
	errno = saved;
	return n < 0 ? -1 : (ssize_t)len;
}

static bool got_is(ssize_t len, uint64_t id)
{
	return len >= 0 && (size_t)len == make_value(id, value) &&
	       memcmp(got, value, (size_t)len) == 0;
}

/* Of the value in got[]: the operation of @w, or the run fails. */
static uint32_t whose(unsigned w, ssize_t len, const char *path)
{
	uint64_t id = 0;

	if (len >= 8)
		memcpy(&id, got, 8);
	if (len < 8 || id >> 32 != w || (uint32_t)id >= writers[w].n ||
	    !got_is(len, id))
		fail("%s holds %zd bytes that nobody wrote so", path, len);
	return (uint32_t)id;
}

static bool removed_acked(unsigned w, uint32_t i)
{
	uint32_t r = i + OP_REMOVE - OP_VERSION;

	return op_kind(i) == OP_VERSION && r < writers[w].n &&
	       writers[w].state[r] == OP_ACKED;
}

static bool removed_maybe(unsigned w, uint32_t i)
{
	uint32_t r = i + OP_REMOVE - OP_VERSION;

	return op_kind(i) == OP_VERSION && r < writers[w].n &&
	       writers[w].state[r] == OP_BEGUN;
}

/* OP_VERSION, OP_MOVE and OP_ROW: each has a file of its own. */
static void check_own(unsigned w, uint32_t i)
{
	uint8_t state = writers[w].state[i];
	char path[4096];
	ssize_t len;

	op_path(w, i, path, sizeof(path));
	len = read_file(path);
	if (len < 0 && errno != ENOENT)
		fail("%s: %s", path, strerror(errno));
	if (removed_acked(w, i)) {
		if (len >= 0)
			fail("%s is back after its removal", path);
	} else if (len < 0) {
		if (state == OP_ACKED && !removed_maybe(w, i))
			fail("%s is lost: its put had returned", path);
	} else if (!got_is(len, value_id(w, i))) {
		fail("%s holds %zd bytes, not what was put", path, len);
	}
}

/* A column that is written by `latest`: every acknowledged one is a version. */
static void check_latest(unsigned w, uint32_t col, uint8_t *seen)
{
	char dir[4096], path[8192];
	struct dirent *e;
	uint32_t newest = UINT32_MAX, i, last = UINT32_MAX;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/T/w%u/l/q%u", point, w, col);
	d = opendir(dir);
	if (!d && errno != ENOENT)
		fail("%s: %s", dir, strerror(errno));
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		i = whose(w, read_file(path), path);
		if (op_kind(i) != OP_LATEST || seen[i] || i >= last)
			fail("%s: version %u is out of place", path, i);
		seen[i] = 1;
		last = i;
		if (newest == UINT32_MAX)
			newest = i;
	}
	if (d)
		closedir(d);
	if (newest == UINT32_MAX)
		return;
	snprintf(path, sizeof(path), "%s/latest", dir);
	if (whose(w, read_file(path), path) != newest)
		fail("%s is not the newest version", path);
}

/* A version that is put again and again: the last acknowledged, or a later. */
static void check_replaced(unsigned w, uint32_t col, uint32_t last_acked)
{
	char path[4096];
	ssize_t len;

	snprintf(path, sizeof(path), "%s/T/w%u/o/q%u/5", point, w, col);
	len = read_file(path);
	if (len < 0 && (errno != ENOENT || last_acked != UINT32_MAX))
		fail("%s: %s", path, strerror(errno));
	if (len >= 0 && whose(w, len, path) < last_acked &&
	    last_acked != UINT32_MAX)
		fail("%s holds a value older than put %u", path, last_acked);
}

/* What is listed was put, and not removed. */
static void check_listing(unsigned w, uint32_t col)
{
	char dir[4096];
	unsigned long ts, last = ULONG_MAX;
	struct dirent *e;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/T/w%u/v/q%u", point, w, col);
	d = opendir(dir);
	if (!d && errno != ENOENT)
		fail("%s: %s", dir, strerror(errno));
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		ts = strtoul(e->d_name, NULL, 10);
		if (ts < TS_BASE || ts - TS_BASE >= writers[w].n ||
		    writers[w].state[ts - TS_BASE] == OP_NONE)
			fail("%s/%s: nobody put that", dir, e->d_name);
		if (removed_acked(w, (uint32_t)(ts - TS_BASE)))
			fail("%s/%s is back after its removal", dir, e->d_name);
		if (ts >= last)
			fail("%s/%s is listed out of order", dir, e->d_name);
		last = ts;
	}
	if (d)
		closedir(d);
}

static void check_writer(unsigned w)
{
	uint32_t replaced[COLUMNS], n = writers[w].n;
	uint8_t *seen = calloc(n ? n : 1, 1);

	if (!seen)
		fail("out of memory");
	for (uint32_t c = 0; c < COLUMNS; c++) {
		replaced[c] = UINT32_MAX;
		check_latest(w, c, seen);
		check_listing(w, c);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint8_t state = writers[w].state[i];

		if (state == OP_NONE)
			continue;
		if (op_kind(i) == OP_LATEST) {
			if (state == OP_ACKED && !seen[i])
				fail("T/w%u/l/q%u: the put %u is lost", w,
				     i / OP_KINDS % COLUMNS, i);
		} else if (op_kind(i) == OP_REPLACE) {
			if (state == OP_ACKED)
				replaced[i / OP_KINDS % COLUMNS] = i;
		} else if (op_kind(i) != OP_REMOVE) {
			check_own(w, i);
		}
	}
	for (uint32_t c = 0; c < COLUMNS; c++)
		check_replaced(w, c, replaced[c]);
	free(seen);
}

static pid_t run(const char *const *argv)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork: %s", strerror(errno));
	if (pid == 0) {
		execvp(argv[0], (char *const *)argv);
		fprintf(stderr, "killtest: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	return pid;
}

static int reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			fail("waitpid: %s", strerror(errno));
	return status;
}

static pid_t start_daemon(void)
{
	const char *argv[] = {
		cellfs,	      store, point, "-f", mount_option ? "-o" : NULL,
		mount_option, NULL};
	pid_t pid = run(argv);
	char path[4096];
	int status;

	daemon_pid = pid;
	mounted = true;

	snprintf(path, sizeof(path), "%s/.cellfs/version", point);
	/* What the kernel remembers of a dead mount would please access(2). */
	for (unsigned ms = 0; read_file(path) <= 0; ms += 5) {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			daemon_pid = 0;
			fail("the daemon did not start: status %#x", status);
		}
		if (ms > WAIT_MS)
			fail("the daemon has not mounted %s in %d s", point,
			     WAIT_MS / 1000);
		sleep_us(5000);
	}
	return pid;
}

static int detach(void)
{
	const char *argv[] = {"fusermount3", "-u", "-z", point, NULL};

	mounted = false;
	return reap(run(argv));
}

static void make_table(void)
{
	static const char schema[] = "families open\n"
				     "family v\n\tversions 1000000\n"
				     "family l\n\tversions 1000000\n"
				     "family o\n\tversions 3\n";
	char path[4096];

	snprintf(path, sizeof(path), "%s/T", point);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		fail("%s: %s", path, strerror(errno));
	snprintf(path, sizeof(path), "%s/T/.schema", point);
	if (put_file(path, O_TRUNC, (const uint8_t *)schema,
		     sizeof(schema) - 1) < 0)
		fail("%s: %s", path, strerror(errno));
}

static uint32_t acked_since(unsigned w, uint32_t from)
{
	uint32_t n = __atomic_load_n(&writers[w].n, __ATOMIC_ACQUIRE),
		 acked = 0;

	for (uint32_t i = from; i < n; i++)
		acked += __atomic_load_n(&writers[w].state[i],
					 __ATOMIC_ACQUIRE) == OP_ACKED;
	return acked;
}

/* How many writers are inside an operation. */
static unsigned busy(void)
{
	unsigned inside = 0;

	for (unsigned w = 0; w < WRITERS; w++) {
		uint32_t n = __atomic_load_n(&writers[w].n, __ATOMIC_ACQUIRE);

		inside += n && __atomic_load_n(&writers[w].state[n - 1],
					       __ATOMIC_ACQUIRE) == OP_BEGUN;
	}
	return inside;
}

static void wait_for_acks(const uint32_t *from)
{
	for (unsigned ms = 0;; ms++) {
		unsigned ready = 0;

		for (unsigned w = 0; w < WRITERS; w++)
			ready += acked_since(w, from[w]) > 0;
		if (ready == WRITERS)
			return;
		if (ms > WAIT_MS)
			fail("only %u of %d writers got anything done", ready,
			     WRITERS);
		sleep_us(1000);
	}
}

/* Sends the signal while a writer waits for the daemon. */
static unsigned kill_busy(pid_t daemon)
{
	unsigned inside = 0;

	for (unsigned tries = 0; tries < 1000000 && inside == 0; tries++)
		inside = busy();
	__atomic_store_n(killing, true, __ATOMIC_RELEASE);
	if (kill(daemon, SIGKILL) < 0)
		fail("kill: %s", strerror(errno));
	if (inside == 0)
		fail("no writer was at work when the daemon was killed");
	return inside;
}

static void end_writers(const pid_t *pids)
{
	for (unsigned w = 0; w < WRITERS; w++) {
		int status = reap(pids[w]), error = writers[w].error;

		if (status != 0)
			fail("writer %u ended with status %#x", w, status);
		if (error == 0)
			fail("writer %u ran out of work: lower --cycles", w);
		/* EIO is that of a request that was being copied. */
		if (writers[w].early || (error != ENOTCONN &&
					 error != ECONNABORTED && error != EIO))
			fail("writer %u: %s at operation %u", w,
			     strerror(error), writers[w].n - 1);
	}
}

static void run_cycle(bool heal)
{
	pid_t daemon = start_daemon(), pids[WRITERS];
	uint32_t from[WRITERS], total = 0;
	unsigned inside, status;

	if (cycle == 0)
		make_table();
	for (unsigned w = 0; w < WRITERS; w++)
		check_writer(w);
	*killing = false;
	for (unsigned w = 0; w < WRITERS; w++) {
		from[w] = writers[w].n;
		writers[w].error = 0;
		pids[w] = fork();
		if (pids[w] < 0)
			fail("fork: %s", strerror(errno));
		if (pids[w] == 0) {
			write_on(w);
			_exit(0);
		}
	}
	wait_for_acks(from);
	sleep_us((unsigned)(mix(seed + cycle) % 400000));
	inside = kill_busy(daemon);
	status = (unsigned)reap(daemon);
	daemon_pid = 0;
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		fail("the daemon ended before the kill: status %#x", status);
	end_writers(pids);
	if (!heal && detach() != 0)
		fail("%s cannot be unmounted", point);
	for (unsigned w = 0; w < WRITERS; w++)
		total += acked_since(w, from[w]);
	printf("cycle %u: %u acknowledged, %u writers inside a call%s\n", cycle,
	       total, inside, heal ? ", dead mount left to heal" : "");
	fflush(stdout);
}

static void finish(void)
{
	pid_t daemon = start_daemon();
	uint32_t total = 0;
	int status;

	for (unsigned w = 0; w < WRITERS; w++) {
		check_writer(w);
		total += acked_since(w, 0);
	}
	kill(daemon, SIGTERM);
	status = reap(daemon);
	daemon_pid = 0;
	if (status != 0)
		fail("after SIGTERM the daemon ended with status %#x", status);
	printf("%u cycles: all of %u acknowledged changes are there\n", cycle,
	       total);
}

static void *shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fail("mmap: %s", strerror(errno));
	return p;
}

static void usage(void)
{
	fputs("usage: killtest [--cycles N] [--seed N] [--option O] "
	      "CELLFS STORE MOUNTPOINT\n",
	      stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"cycles", required_argument, NULL, 'c'},
		{"seed", required_argument, NULL, 's'},
		{"option", required_argument, NULL, 'o'},
		{0},
	};
	unsigned cycles = 8;
	int c;

	seed = (uint64_t)time(NULL) << 16 ^ (uint64_t)getpid();
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		if (c == 'c')
			cycles = (unsigned)strtoul(optarg, NULL, 0);
		else if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 'o')
			mount_option = optarg;
		else
			usage();
	if (argc - optind != 3)
		usage();
	cellfs = argv[optind];
	store = argv[optind + 1];
	point = argv[optind + 2];
	writers = shared(WRITERS * sizeof(*writers));
	killing = shared(sizeof(*killing));
	printf("seed %llu\n", (unsigned long long)seed);
	for (cycle = 0; cycle < cycles; cycle++)
		run_cycle(cycle % 2 == 1);
	finish();
	return 0;
}
