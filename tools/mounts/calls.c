/*
 * Does one system call, or a few, on each file of a shape, and times them.
 *
 * usage: mount-calls DIR SHAPE COUNT WORKLOAD [CLIENTS]
 *
 * A shape says where file I lies below DIR:
 *	rows	R/f:q, a row of one cell
 *	flat	r/f/q/T, versions of one column
 *	tree	R/{a,b}/{x,y}/{1,2}, rows of two families, columns and versions
 *	wide	R, files of 10 MiB in one row: r/f:q0, r/f:q1
 *	same	DIR itself, each time
 * Files are met in an order that jumps about. CLIENTS processes share them.
 * Standard output has one line of JSON: calls, seconds from the first call to
 * the last, and microseconds of one call by percentile.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
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

enum {
	CLIENTS_MAX = 64,
	WIDE_BYTES = 10 << 20,
	PIECE = 1 << 20,	/* of a value of 10 MiB */
	READ_PIECE = 128 << 10, /* as cat(1) */
	FIRST_VERSION = 1000000,
	STRIDE = 1000003, /* a prime, so that each file is met once */
};

struct job {
	const char *dir;
	const struct shape *shape;
	const struct workload *work;
	uint64_t count; /* what is done: files, or listings */
	unsigned clients;
	uint32_t *ns; /* by client and call; shared */
};

struct shape {
	const char *name;
	/* The file's path, and how much of it is its directory's. */
	void (*path)(const char *dir, uint64_t i, char *out);
};

struct workload {
	const char *name;
	/* 0 and what was seen, in entries or bytes; -errno. */
	int64_t (*run)(const char *path);
	bool once; /* of DIR as a whole, not of each file */
	bool ordered;
};

static void rows_path(const char *dir, uint64_t i, char *out)
{
	snprintf(out, PATH_MAX, "%s/r%07" PRIu64 "/f:q", dir, i);
}

static void flat_path(const char *dir, uint64_t i, char *out)
{
	snprintf(out, PATH_MAX, "%s/r/f/q/%" PRIu64, dir, FIRST_VERSION + i);
}

static void tree_path(const char *dir, uint64_t i, char *out)
{
	snprintf(out, PATH_MAX, "%s/r%07" PRIu64 "/%c/%c/%" PRIu64, dir, i / 8,
		 "ab"[i / 4 % 2], "xy"[i / 2 % 2], 1 + i % 2);
}

static void wide_path(const char *dir, uint64_t i, char *out)
{
	snprintf(out, PATH_MAX, "%s/r/f:q%" PRIu64, dir, i);
}

static void same_path(const char *dir, uint64_t i, char *out)
{
	snprintf(out, PATH_MAX, "%s", dir);
}

static const struct shape shapes[] = {
	{"rows", rows_path}, {"flat", flat_path}, {"tree", tree_path},
	{"wide", wide_path}, {"same", same_path},
};

static int64_t write_file(const char *path, int flags)
{
	int fd = open(path, O_WRONLY | flags, 0644), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, path, 8) != 8)
		err = errno ? errno : EIO;
	if (close(fd) && !err)
		err = errno;
	return err ? -err : 8;
}

/* The directories on the way to a file. */
static int64_t do_mkdirs(const char *path)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s", path);
	for (char *at = dir + 1; (at = strchr(at, '/')); at++) {
		*at = 0;
		if (mkdir(dir, 0755) && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	return 0;
}

static int64_t do_create(const char *path)
{
	return write_file(path, O_CREAT | O_EXCL);
}

static int64_t do_overwrite(const char *path)
{
	return write_file(path, O_TRUNC);
}

/* As editors and rsync do it. */
static int64_t do_replace(const char *path)
{
	char tmp[PATH_MAX];
	const char *name = strrchr(path, '/') + 1;
	int64_t n;

	snprintf(tmp, sizeof(tmp), "%.*s.%s.t", (int)(name - path), path, name);
	n = write_file(tmp, O_CREAT | O_EXCL);
	if (n >= 0 && rename(tmp, path))
		return -errno;
	return n;
}

static int64_t do_stat(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -errno : st.st_size;
}

static int64_t do_absent(const char *path)
{
	char other[PATH_MAX];
	struct stat st;

	snprintf(other, sizeof(other), "%s9", path);
	if (stat(other, &st) == 0)
		return -EEXIST;
	return errno == ENOENT ? 0 : -errno;
}

static int64_t do_read(const char *path)
{
	static char piece[READ_PIECE];
	int fd = open(path, O_RDONLY);
	int64_t total = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, piece, sizeof(piece))) > 0)
		total += n;
	if (n < 0)
		total = -errno;
	close(fd);
	return total;
}

static int64_t do_unlink(const char *path)
{
	return unlink(path) ? -errno : 0;
}

static int64_t do_write_wide(const char *path)
{
	static char piece[PIECE];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644), err = 0;

	if (fd < 0)
		return -errno;
	for (int i = 0; i < WIDE_BYTES / PIECE && !err; i++) {
		memset(piece, 'a' + i, sizeof(piece));
		if (write(fd, piece, sizeof(piece)) != sizeof(piece))
			err = errno ? errno : EIO;
	}
	if (close(fd) && !err)
		err = errno;
	return err ? -err : WIDE_BYTES;
}

/* `ls -U`, and with @details `ls -lU`. */
static int64_t list(const char *path, bool details)
{
	DIR *d = opendir(path);
	int64_t n = 0;
	struct dirent *e;
	struct stat st;

	if (!d)
		return -errno;
	for (;;) {
		errno = 0;
		e = readdir(d);
		if (!e)
			break;
		if (details &&
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			break;
		n++;
	}
	if (errno)
		n = -errno;
	closedir(d);
	return n;
}

/* What `ls -U DIR | head -1` waits for. */
static int64_t do_first(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	int64_t n = 0;

	if (!d)
		return -errno;
	errno = 0;
	while (n < 3 && (e = readdir(d)))
		n += e->d_name[0] == '.' ? 0 : 3;
	if (errno || n < 3)
		n = errno ? -errno : -ENOENT;
	closedir(d);
	return n;
}

static int64_t do_list(const char *path)
{
	return list(path, false);
}

static int64_t do_list_stat(const char *path)
{
	return list(path, true);
}

static const struct workload workloads[] = {
	{.name = "mkdirs", .run = do_mkdirs, .ordered = true},
	{.name = "create", .run = do_create},
	{.name = "overwrite", .run = do_overwrite},
	{.name = "replace", .run = do_replace},
	{.name = "stat", .run = do_stat},
	{.name = "absent", .run = do_absent},
	{.name = "read", .run = do_read},
	{.name = "unlink", .run = do_unlink},
	{.name = "write-wide", .run = do_write_wide, .ordered = true},
	{.name = "first", .run = do_first},
	{.name = "list-each", .run = do_list},
	{.name = "list", .run = do_list, .once = true},
	{.name = "list-stat", .run = do_list_stat, .once = true},
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int fail(const char *path, const char *what, int64_t err)
{
	fprintf(stderr, "mount-calls: %s: %s: %s\n", path, what,
		strerror((int)-err));
	return 1;
}

/* What client @c does of all calls: each @clients'th. */
static int run_client(const struct job *j, unsigned c)
{
	char path[PATH_MAX];

	for (uint64_t i = c; i < j->count; i += j->clients) {
		uint64_t at = j->work->ordered ? i : i * STRIDE % j->count;
		uint64_t from;
		int64_t r;

		j->shape->path(j->dir, at, path);
		from = now_ns();
		r = j->work->run(path);
		if (r < 0)
			return fail(path, j->work->name, r);
		from = now_ns() - from;
		j->ns[i] = from > UINT32_MAX ? UINT32_MAX : (uint32_t)from;
	}
	return 0;
}

static int run_clients(const struct job *j)
{
	int failed = 0, status;

	for (unsigned c = 1; c < j->clients; c++) {
		switch (fork()) {
		case -1:
			return fail(j->dir, "fork", -errno);
		case 0:
			_exit(run_client(j, c));
		}
	}
	failed = run_client(j, 0);
	for (unsigned c = 1; c < j->clients; c++)
		failed |= wait(&status) < 0 || status != 0;
	return failed;
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static double percentile_us(const struct job *j, double part)
{
	uint64_t at = (uint64_t)(part * (double)j->count);

	return j->ns[at < j->count ? at : j->count - 1] / 1e3;
}

static void report(const struct job *j, uint64_t ns, uint64_t count)
{
	printf("{\"count\": %" PRIu64 ", \"seconds\": %.6f", count, ns / 1e9);
	if (!j->work->once) {
		assert(j->ns);
		qsort(j->ns, j->count, sizeof(*j->ns), by_size);
		printf(", \"p50\": %.2f, \"p99\": %.2f, \"p99.9\": %.2f",
		       percentile_us(j, 0.5), percentile_us(j, 0.99),
		       percentile_us(j, 0.999));
	}
	puts("}");
}

static int run(struct job *j)
{
	uint64_t from;
	int64_t seen;

	if (j->work->once) {
		from = now_ns();
		seen = j->work->run(j->dir);
		if (seen < 0)
			return fail(j->dir, j->work->name, seen);
		report(j, now_ns() - from, (uint64_t)seen);
		return 0;
	}
	j->ns = mmap(NULL, j->count * sizeof(*j->ns), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (j->ns == MAP_FAILED)
		return fail(j->dir, "mmap", -errno);
	from = now_ns();
	if (run_clients(j))
		return 1;
	report(j, now_ns() - from, j->count);
	return 0;
}

static const struct shape *shape_named(const char *name)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if (strcmp(shapes[i].name, name) == 0)
			return &shapes[i];
	return NULL;
}

static const struct workload *workload_named(const char *name)
{
	for (size_t i = 0; i < sizeof(workloads) / sizeof(*workloads); i++)
		if (strcmp(workloads[i].name, name) == 0)
			return &workloads[i];
	return NULL;
}

int main(int argc, char **argv)
{
	struct job j = {.clients = 1};

	if (argc == 5 || argc == 6) {
		j.dir = argv[1];
		j.shape = shape_named(argv[2]);
		j.count = strtoull(argv[3], NULL, 10);
		j.work = workload_named(argv[4]);
		if (argc == 6)
			j.clients = (unsigned)atoi(argv[5]);
	}
	if (!j.shape || !j.work || j.count == 0 || j.count % STRIDE == 0 ||
	    j.clients < 1 || j.clients > CLIENTS_MAX) {
		fputs("usage: mount-calls DIR SHAPE COUNT WORKLOAD [CLIENTS]\n",
		      stderr);
		return 2;
	}
	return run(&j);
}
