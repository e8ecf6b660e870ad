/*
 * What an operation costs in a column, or row, of which much is stored or
 * deleted: a table of microseconds of CPU time, the medians of 64, at the
 * store's functions; `made` is the mean of the changes that made it.
 *
 *	deep store DIR [N...]	sizes; without: 1000 10000 100000 1000000
 *	deep mount DIR PID N	through a mount: DIR is a table of it, empty; of
 *				the daemon PID
 *
 * For the first each store is made anew in DIR. DEEP_SHAPES=name,name chooses.
 * A line of the table is a shape of history:
 *
 *	kept	N versions, none deleted, `versions` as many
 *	down	N versions, deleted from the newest on
 *	up	... from the oldest on
 *	again	... all of them, and half of them written again
 *	same	one version, deleted and written again N times
 *	column	a column, deleted and written again N times
 *	row	N columns, deleted one by one
 *
 * and where it lies: in memory, in files, or half of it in each.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/store.h"
#include "store/value/schema.h"

#define OPS 64
#define NAMES 16

struct bench {
	struct store *store;
	struct table *table;
	uint64_t n;
	uint32_t versions;
	char path[512];
};

static void must(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "deep: %s: %s\n", what, store_why());
	exit(1);
}

static double cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static struct bytes column_name(char name[NAMES], uint64_t i)
{
	int len = snprintf(name, NAMES, "q%08llu", (unsigned long long)i);

	return bytes_of(name, (size_t)len);
}

static int change(struct bench *b, uint8_t op, struct bytes qualifier,
		  int64_t ts, int check)
{
	struct bytes f = bytes_str("f");
	struct change c = {.op = op,
			   .family = f,
			   .qualifier = qualifier,
			   .ts = ts,
			   .value = bytes_str(op == CHANGE_PUT ? "v" : "")};
	struct check k = {.op = (uint8_t)check,
			  .family = f,
			  .qualifier = qualifier,
			  .ts = ts};
	struct mutation m = {.row = bytes_str("r"),
			     .changes = &c,
			     .nchanges = 1,
			     .checks = &k,
			     .nchecks = check >= 0};
	int r = table_mutate(b->table, &m, 0);

	must(r, "change");
	return r;
}

static int64_t ts_of(uint64_t i)
{
	return 1000 + (int64_t)i * 10;
}

static int look(struct bench *b, int64_t ts, bool exact)
{
	struct bytes r = bytes_str("r"), f = bytes_str("f");
	struct cell cell;
	int found;

	found = exact ? table_get_version(b->table, r, f, bytes_str("q"), ts,
					  NULL, &cell, NULL)
		      : table_get(b->table, r, f, bytes_str("q"), ts, NULL,
				  &cell, NULL);
	must(found, "get");
	return found;
}

/* All of the row, or its first cells. How many there were. */
static uint64_t list(struct bench *b, uint64_t max)
{
	struct scan_spec spec = {
		.granularity = SCAN_CELLS,
		.keys_only = true,
		.row_start = bytes_str("r"),
		.row_stop = bytes_str("r"),
		.row_stop_inclusive = true,
	};
	struct cell cells[64];
	struct scan *sc;
	uint64_t n = 0;
	int r = 1;

	must(scan_open(b->table, &spec, &sc), "scan");
	while (n < max && r > 0) {
		r = scan_next_many(sc, cells, max - n < 64 ? max - n : 64);
		must(r, "scan");
		n += (uint64_t)r;
	}
	scan_close(sc);
	return n;
}

static void half(struct bench *b, bool mixed)
{
	if (mixed)
		must(store_flush(b->store, NULL), "flush");
}

static void put_versions(struct bench *b)
{
	for (uint64_t i = 0; i < b->n; i++)
		change(b, CHANGE_PUT, bytes_str("q"), ts_of(i), -1);
}

static void shape_kept(struct bench *b, bool mixed)
{
	put_versions(b);
	half(b, mixed);
}

static void shape_down(struct bench *b, bool mixed)
{
	put_versions(b);
	half(b, mixed);
	for (uint64_t i = b->n; i-- > 0;)
		change(b, CHANGE_DELETE, bytes_str("q"), ts_of(i), -1);
}

static void shape_up(struct bench *b, bool mixed)
{
	put_versions(b);
	half(b, mixed);
	for (uint64_t i = 0; i < b->n; i++)
		change(b, CHANGE_DELETE, bytes_str("q"), ts_of(i), -1);
}

static void shape_again(struct bench *b, bool mixed)
{
	shape_down(b, mixed);
	for (uint64_t i = 0; i < b->n; i += 2)
		change(b, CHANGE_PUT, bytes_str("q"), ts_of(i), -1);
}

static void shape_same(struct bench *b, bool mixed)
{
	for (uint64_t i = 0; i < b->n; i++) {
		if (i == b->n / 2)
			half(b, mixed);
		change(b, CHANGE_PUT, bytes_str("q"), ts_of(1), -1);
		change(b, CHANGE_DELETE, bytes_str("q"), ts_of(1), -1);
	}
}

static void shape_column(struct bench *b, bool mixed)
{
	for (uint64_t i = 0; i < b->n; i++) {
		if (i == b->n / 2)
			half(b, mixed);
		change(b, CHANGE_PUT, bytes_str("q"), ts_of(i), -1);
		change(b, CHANGE_DELETE_COLUMN, bytes_str("q"), ts_of(i), -1);
	}
}

static void shape_row(struct bench *b, bool mixed)
{
	char name[NAMES];

	for (uint64_t i = 0; i < b->n; i++)
		change(b, CHANGE_PUT, column_name(name, i), ts_of(i), -1);
	half(b, mixed);
	for (uint64_t i = 0; i < b->n; i++)
		change(b, CHANGE_DELETE_COLUMN, column_name(name, i), ts_of(i),
		       -1);
}

static const struct shape {
	const char *name;
	void (*make)(struct bench *b, bool mixed);
	bool columns; /* one version in each of N */
} shapes[] = {
	{"kept", shape_kept, false}, {"down", shape_down, false},
	{"up", shape_up, false},     {"again", shape_again, false},
	{"same", shape_same, false}, {"column", shape_column, false},
	{"row", shape_row, true},
};

enum figure {
	CREATE,
	OVERWRITE,
	STAT,
	LATEST,
	UNLINK,
	EXISTS,
	LIST,
	FIGURES
};
static const char *const figures[FIGURES] = {
	"create", "overwrite", "stat", "latest", "unlink", "exists", "list"};

static int less(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *of, size_t n)
{
	qsort(of, n, sizeof(*of), less);
	return of[n / 2];
}

static uint64_t place(const struct bench *b, unsigned i)
{
	return (uint64_t)i * 7919 * 104729 % b->n;
}

static void measure(struct bench *b, const struct shape *s, double out[])
{
	double at = cpu_us(), all[FIGURES][OPS];
	struct bytes q = bytes_str("q");
	char name[NAMES];
	uint64_t listed = 0;

#define TIMED(figure, what)                     \
	do {                                    \
		at = cpu_us();                  \
		what;                           \
		all[figure][i] = cpu_us() - at; \
	} while (0)
	for (unsigned i = 0; i < OPS; i++) {
		uint64_t k = place(b, i);
		int64_t ts = ts_of(k) + (s->columns ? 5 : 0);

		if (s->columns)
			q = column_name(name, k);
		TIMED(EXISTS,
		      must(table_has_row(b->table, bytes_str("r")), "has row"));
		TIMED(STAT, look(b, ts, true));
		TIMED(CREATE,
		      change(b, CHANGE_PUT, q, ts + 1, CHECK_VERSION_ABSENT));
		TIMED(OVERWRITE, change(b, CHANGE_PUT, q, ts + 1, -1);
		      look(b, ts + 1, true));
		TIMED(LATEST, look(b, TS_MAX, false));
		TIMED(UNLINK, change(b, CHANGE_DELETE, q, ts + 1,
				     CHECK_VERSION_PRESENT));
	}
	at = cpu_us();
	listed = list(b, UINT64_MAX);
	for (int i = 0; i < FIGURES; i++)
		out[i] = median(all[i], OPS);
	out[LIST] = (cpu_us() - at) / (double)(listed + 1);
}

static void open_store(struct bench *b)
{
	struct store_options o = {.create = true,
				  .write_buffer_bytes = (size_t)2 << 30};
	struct schema schema = {0};
	struct family_attrs a;
	char command[600];

	snprintf(command, sizeof(command), "rm -rf '%s'", b->path);
	if (system(command) != 0)
		exit(1);
	family_attrs_default(&a);
	a.versions = b->versions;
	must(schema_add(&schema, bytes_str("f"), &a), "schema");
	must(store_open(b->path, &o, &b->store), "open");
	must(store_table_create(b->store, bytes_str("t"), &schema), "table");
	must(table_open(b->store, bytes_str("t"), &b->table), "table");
	schema_free(&schema);
}

static void close_store(struct bench *b)
{
	char command[600];

	table_unref(b->table);
	must(store_close(b->store), "close");
	snprintf(command, sizeof(command), "rm -rf '%s'", b->path);
	if (system(command) != 0)
		exit(1);
}

static void run(struct bench *b, const struct shape *s, const char *where)
{
	double us[FIGURES], made;

	open_store(b);
	made = cpu_us();
	s->make(b, where[0] == 'h');
	made = (cpu_us() - made) / (double)b->n;
	if (where[0] == 'f')
		must(store_flush(b->store, NULL), "flush");
	measure(b, s, us);
	printf("%-7s %-7s %8u %8llu %8.2f", s->name, where, b->versions,
	       (unsigned long long)b->n, made);
	for (int i = 0; i < FIGURES; i++)
		printf(" %9.2f", us[i]);
	printf("\n");
	fflush(stdout);
	close_store(b);
}

static void store_table(const char *dir, const char *const *sizes)
{
	static const char *const wheres[] = {"memory", "files", "half"};
	static const uint32_t versions[] = {3, 1000000};
	const char *only = getenv("DEEP_SHAPES");

	printf("%-7s %-7s %8s %8s %8s", "shape", "where", "versions", "N",
	       "made");
	for (int i = 0; i < FIGURES; i++)
		printf(" %9s", figures[i]);
	printf("\n");
	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
		if (only && !strstr(only, shapes[s].name))
			continue;
		for (int v = 0; v < 2; v++)
			for (int w = 0; w < 3; w++)
				for (const char *const *n = sizes; *n; n++) {
					struct bench b = {
						.n = strtoull(*n, NULL, 10),
						.versions = versions[v]};

					snprintf(b.path, sizeof(b.path),
						 "%s/store", dir);
					run(&b, &shapes[s], wheres[w]);
				}
	}
}

/* CPU time of all threads of a process. */
static double daemon_us(const char *pid)
{
	char name[300], text[128];
	double sum = 0;
	struct dirent *e;
	DIR *d;

	snprintf(name, sizeof(name), "/proc/%s/task", pid);
	d = opendir(name);
	while (d && (e = readdir(d))) {
		int fd;
		ssize_t n;

		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "/proc/%s/task/%s/schedstat", pid,
			 e->d_name);
		fd = open(name, O_RDONLY);
		n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		if (n > 0) {
			text[n] = '\0';
			sum += strtod(text, NULL) / 1e3;
		}
		if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
	return sum;
}

/* Lines of the table's .cells: N versions of a column, deleted if @kind. */
static void feed(const char *dir, uint64_t n, const char *kind, bool columns)
{
	char name[512];
	FILE *f;

	snprintf(name, sizeof(name), "%s/.cells", dir);
	f = fopen(name, "w");
	for (uint64_t i = 0; f && i < n; i++)
		fprintf(f, "r\tf:q%08llu\t%lld\t%s%s\n",
			(unsigned long long)(columns ? i : 0),
			(long long)ts_of(i), kind[0] ? "\t" : "v", kind);
	if (!f || fclose(f) != 0) {
		perror(name);
		exit(1);
	}
}

static int write_file(const char *name, int flags)
{
	int fd = open(name, O_WRONLY | flags, 0644), r;

	if (fd < 0)
		return -1;
	r = write(fd, "v", 1) == 1 ? 0 : -1;
	return close(fd) < 0 ? -1 : r;
}

static int read_file(const char *name)
{
	char text[16];
	int fd = open(name, O_RDONLY);

	if (fd < 0)
		return -1;
	if (read(fd, text, sizeof(text)) < 0)
		perror(name);
	return close(fd);
}

static uint64_t list_dir(const char *name)
{
	DIR *d = opendir(name);
	uint64_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

enum call {
	M_STAT,
	M_CREATE,
	M_OVERWRITE,
	M_READ,
	M_OLDEST,
	M_LATEST,
	M_UNLINK,
	M_PUT,
	M_RM,
	M_PUT_AGAIN,
	M_LIST,
	CALLS
};
static const char *const calls[CALLS] = {
	"stat",	  "create",  "overwrite", "read",      "oldest", "latest",
	"unlink", "put F:Q", "rm F:Q",	  "put again", "list"};

static void mount_line(const char *dir, const char *pid, uint64_t n,
		       const char *shape)
{
	double all[CALLS][OPS], at;
	struct bench b = {.n = n};
	char name[CALLS][512];
	char column[400], oldest[512];
	struct stat st;
	uint64_t listed, failed = 0;
	bool stored = !strcmp(shape, "kept") || !strcmp(shape, "again");

	/* Deletes leave it where there is memory for that. */
	snprintf(column, sizeof(column), "%s/r/f/q00000000", dir);
	if (mkdir(column, 0755) != 0 && errno != EEXIST)
		perror(column);
	snprintf(oldest, sizeof(oldest), "%s/%lld", column,
		 (long long)ts_of(0));

#define CALL(which, what, wanted)                    \
	do {                                         \
		at = daemon_us(pid);                 \
		failed += ((what) == 0) != (wanted); \
		all[which][i] = daemon_us(pid) - at; \
	} while (0)
	for (unsigned i = 0; i < OPS; i++) {
		long long ts = (long long)ts_of(place(&b, i));

		snprintf(name[0], sizeof(name[0]), "%s/%lld", column, ts + 1);
		snprintf(name[1], sizeof(name[1]), "%s/latest", column);
		snprintf(name[2], sizeof(name[2]), "%s/r/f:other", dir);
		CALL(M_STAT, stat(name[0], &st), false);
		CALL(M_CREATE, write_file(name[0], O_CREAT | O_EXCL), true);
		CALL(M_OVERWRITE, write_file(name[0], O_CREAT | O_TRUNC), true);
		CALL(M_READ, read_file(name[0]), true);
		CALL(M_OLDEST, read_file(oldest), stored);
		CALL(M_LATEST, read_file(name[1]), true);
		CALL(M_UNLINK, unlink(name[0]), true);
		CALL(M_PUT, write_file(name[2], O_CREAT), true);
		CALL(M_RM, unlink(name[2]), true);
		CALL(M_PUT_AGAIN, write_file(name[2], O_CREAT), true);
	}
#undef CALL
	at = daemon_us(pid);
	listed = list_dir(column);
	at = daemon_us(pid) - at;
	printf("%-8s %8llu", shape, (unsigned long long)n);
	for (int i = 0; i < M_LIST; i++)
		printf(" %9.1f", median(all[i], OPS));
	printf(" %9.2f", at / (double)(listed + 1));
	if (failed)
		printf("  %llu went wrong", (unsigned long long)failed);
	printf("\n");
	fflush(stdout);
}

/* Each version (or column) of the row is removed or made, one by one. */
static void one_by_one(const char *dir, const char *pid, uint64_t n, bool make,
		       bool columns)
{
	double at = daemon_us(pid);
	uint64_t failed = 0;
	char name[512];

	for (uint64_t i = n; i-- > 0;) {
		if (columns)
			snprintf(name, sizeof(name), "%s/r/f:q%08llu", dir,
				 (unsigned long long)i);
		else
			snprintf(name, sizeof(name), "%s/r/f/q00000000/%lld",
				 dir, (long long)ts_of(i));
		failed += (make ? write_file(name, O_CREAT) : unlink(name)) < 0;
	}
	printf("%8llu %s %s one by one: %.1f us each, %llu refused\n",
	       (unsigned long long)n, columns ? "columns" : "versions",
	       make ? "made again" : "removed",
	       (daemon_us(pid) - at) / (double)n, (unsigned long long)failed);
	fflush(stdout);
}

static void mount_table(const char *dir, const char *pid, uint64_t n)
{
	printf("%-8s %8s", "shape", "N");
	for (int i = 0; i < CALLS; i++)
		printf(" %9s", calls[i]);
	printf("\n");
	feed(dir, n, "", false);
	mount_line(dir, pid, n, "kept");
	one_by_one(dir, pid, n, false, false);
	mount_line(dir, pid, n, "removed");
	one_by_one(dir, pid, n, true, false);
	mount_line(dir, pid, n, "again");
	feed(dir, n, "", true);
	one_by_one(dir, pid, n, false, true);
	mount_line(dir, pid, n, "row");
	one_by_one(dir, pid, n, true, true);
}

int main(int argc, char **argv)
{
	static const char *const usual[] = {"1000", "10000", "100000",
					    "1000000", NULL};

	if (argc == 5 && !strcmp(argv[1], "mount")) {
		mount_table(argv[2], argv[3], strtoull(argv[4], NULL, 10));
		return 0;
	}
	if (argc < 3 || strcmp(argv[1], "store") != 0) {
		fprintf(stderr, "usage: deep store DIR [N...]\n"
				"       deep mount DIR PID N\n");
		return 2;
	}
	store_table(argv[2], argc > 3 ? (const char *const *)argv + 3 : usual);
	return 0;
}
