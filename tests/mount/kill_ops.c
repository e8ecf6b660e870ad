#include "tests/mount/killtest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How a power cut is kept from taking what an operation did. */
enum how {
	HOW_NOT,
	HOW_FSYNC,  /* before close(2) */
	HOW_OPENED, /* fsync(2) of the file, opened anew for reading */
	HOW_O_SYNC,
	HOW_DIR, /* fsync(2) of the directory */
	HOW_CONTROL,
};

static uint8_t value[VALUE_MAX];

uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

uint64_t value_id(unsigned w, uint32_t i)
{
	return (uint64_t)w << 32 | i;
}

size_t make_value(uint64_t id, uint8_t *out)
{
	uint64_t x = mix(run.seed ^ id * 7);
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

enum op_kind op_kind(unsigned w, uint32_t i)
{
	static const enum op_kind rare[] = {
		OP_SNAPSHOT, OP_REPLACE, OP_ALTER,   OP_COMPACT,
		OP_FLUSH,    OP_REPLACE, OP_COMPACT, OP_REPLACE,
	};
	enum op_kind kind = (enum op_kind)(i % WHEEL);

	/* Each writer is somewhere else with these. */
	return kind == OP_RARE ? rare[(i / WHEEL + w) % 8] : kind;
}

uint32_t op_column(uint32_t i)
{
	return i / WHEEL % COLUMNS;
}

uint32_t op_slot(uint32_t i)
{
	return i / WHEEL % SLOTS;
}

void op_path(unsigned w, uint32_t i, char *path, size_t size)
{
	uint32_t col = op_column(i);

	switch (op_kind(w, i)) {
	case OP_VERSION:
	case OP_MOVE:
		snprintf(path, size, "%s/T/w%u/v/q%u/%u", run.point, w, col,
			 TS_BASE + i);
		break;
	case OP_LATEST:
		snprintf(path, size, "%s/T/w%u/l/q%u/latest", run.point, w,
			 col);
		break;
	case OP_ROW:
		snprintf(path, size, "%s/T/w%u.%u/v:q", run.point, w, i);
		break;
	case OP_APPEND:
		snprintf(path, size, "%s/T/w%u/a/q%u/%s", run.point, w, col,
			 col & 1 ? "latest" : "5");
		break;
	case OP_REMOVE:
		op_path(w, i - OP_REMOVE + OP_VERSION, path, size);
		break;
	default:
		snprintf(path, size, "%s/T/w%u/o/q%u/5", run.point, w, col);
	}
}

/* As close(2), after a failure too. */
static int closed(int fd, int r)
{
	int saved = errno;

	if (close(fd) < 0 && r == 0)
		return -1;
	errno = saved;
	return r;
}

static int put_how(const char *path, int flags, const void *data, size_t len,
		   enum how how)
{
	int fd = open(path,
		      O_WRONLY | O_CREAT | flags |
			      (how == HOW_O_SYNC ? O_SYNC : 0),
		      0644);

	if (fd < 0)
		return -1;
	for (size_t at = 0; at < len;) {
		ssize_t n = write(fd, (const char *)data + at, len - at);

		if (n < 0)
			return closed(fd, -1);
		at += (size_t)n;
	}
	return closed(fd, how == HOW_FSYNC ? fsync(fd) : 0);
}

int put_file(const char *path, int flags, const void *data, size_t len)
{
	return put_how(path, flags, data, len, HOW_NOT);
}

static int sync_at(const char *path)
{
	int fd = open(path, O_RDONLY);

	return fd < 0 ? -1 : closed(fd, fsync(fd));
}

static int sync_above(const char *path)
{
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s", path);
	*strrchr(dir, '/') = '\0';
	return sync_at(dir);
}

static int sync_all(void)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/.cellfs/sync", run.point);
	return put_file(path, 0, "\n", 1);
}

/* What of @how comes after the file at @path was put. */
static int sync_after(const char *path, enum how how)
{
	switch (how) {
	case HOW_OPENED:
		return sync_at(path);
	case HOW_DIR:
		return sync_above(path);
	case HOW_CONTROL:
		return sync_all();
	default:
		return 0;
	}
}

/* The same for a change that has no descriptor which could have synced it. */
static int sync_name(const char *path, enum how how)
{
	if (how == HOW_NOT)
		return 0;
	return how == HOW_CONTROL ? sync_all() : sync_above(path);
}

static enum how how_of(unsigned w, uint32_t i)
{
	static const enum how hows[] = {
		HOW_NOT,    HOW_NOT,	HOW_NOT, HOW_FSYNC,
		HOW_OPENED, HOW_O_SYNC, HOW_DIR, HOW_CONTROL,
	};

	/* Changes of the catalog, and upkeep, have no call that syncs. */
	if (!run.power || op_kind(w, i) >= OP_SNAPSHOT ||
	    __atomic_load_n(run.quiet, __ATOMIC_ACQUIRE))
		return HOW_NOT;
	return hows[mix(run.seed ^ value_id(w, i) * 11) % 8];
}

static int put_synced(const char *path, int flags, const void *data, size_t len,
		      enum how how)
{
	if (put_how(path, flags, data, len, how) < 0)
		return -1;
	return sync_after(path, how);
}

static int move(unsigned w, const char *path, size_t len, enum how how)
{
	char tmp[4096];

	snprintf(tmp, sizeof(tmp), "%s/T/w%u/.moving", run.point, w);
	if (put_how(tmp, O_TRUNC, value, len, how) < 0 || rename(tmp, path) < 0)
		return -1;
	return sync_name(path, how);
}

static int row(unsigned w, uint32_t i, const char *path, size_t len,
	       enum how how)
{
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s/T/w%u.%u", run.point, w, i);
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return -1;
	return put_synced(path, O_EXCL, value, len, how);
}

static int count(unsigned w, uint32_t i, enum how how)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/T/w%u/c/q%u/counter", run.point, w,
		 op_column(i));
	return put_synced(path, 0, "1\n", 2, how);
}

static int stream(unsigned w, uint32_t i, enum how how)
{
	char path[4096], lines[512], *at = lines;

	for (char q = 'a'; q <= 'c'; q++)
		at += sprintf(at, "w%u.s%u\tv:%c\t5\t%u\n", w, op_slot(i), q,
			      i);
	snprintf(path, sizeof(path), "%s/T/.cells", run.point);
	return put_synced(path, 0, lines, (size_t)(at - lines),
			  how == HOW_OPENED ? HOW_FSYNC : how);
}

static int stage(unsigned w, uint32_t i, enum how how)
{
	char from[512], to[512], path[1024], text[16];
	int n = snprintf(text, sizeof(text), "%u", i);

	snprintf(from, sizeof(from), "%s/T/.stage/w%u.g%u", run.point, w,
		 op_slot(i));
	snprintf(to, sizeof(to), "%s/T/w%u.g%u", run.point, w, op_slot(i));
	snprintf(path, sizeof(path), "%s/v", from);
	if (mkdir(from, 0755) < 0 || mkdir(path, 0755) < 0)
		return -1;
	for (char q = 'a'; q <= 'c'; q++) {
		snprintf(path, sizeof(path), "%s/v/%c", from, q);
		if (mkdir(path, 0755) < 0)
			return -1;
		snprintf(path, sizeof(path), "%s/v/%c/5", from, q);
		if (put_file(path, 0, text, (size_t)n) < 0)
			return -1;
	}
	if (rename(from, to) < 0)
		return -1;
	return sync_name(to, how);
}

static int snapshot(unsigned w, uint32_t i)
{
	const struct writer *me = &run.writers[w];
	char path[4096];
	unsigned gone = 0;

	snprintf(path, sizeof(path), "%s/T/.snapshot/w%u.%u", run.point, w, i);
	if (mkdir(path, 0755) < 0)
		return -1;
	/* A kill may have come between any of them and its end. */
	for (uint32_t old = i; old-- > 0;) {
		if (op_kind(w, old) != OP_SNAPSHOT || me->state[old] == OP_NONE)
			continue;
		gone++;
		snprintf(path, sizeof(path), "%s/T/.snapshot/w%u.%u", run.point,
			 w, old);
		/* The last one is there if its end was acknowledged. */
		if (rmdir(path) < 0 &&
		    (errno != ENOENT ||
		     (gone == 1 && me->state[old] == OP_ACKED)))
			return -1;
	}
	return 0;
}

static int alter(unsigned w, uint32_t i)
{
	char path[4096], text[64];
	int n = snprintf(text, sizeof(text), "family f\n\tversions %u\n",
			 i + 1);

	snprintf(path, sizeof(path), "%s/A%u/.schema", run.point, w);
	return put_file(path, O_TRUNC, text, (size_t)n);
}

static int control(const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/.cellfs/%s", run.point, name);
	return put_file(path, 0, "T\n", 2);
}

static int do_op(unsigned w, uint32_t i, enum how how)
{
	char path[4096];
	size_t len = make_value(value_id(w, i), value);

	op_path(w, i, path, sizeof(path));
	switch (op_kind(w, i)) {
	case OP_ROW:
		return row(w, i, path, len, how);
	case OP_MOVE:
		return move(w, path, len, how);
	case OP_REMOVE:
		return unlink(path) < 0 && (!run.power || errno != ENOENT)
			       ? -1
			       : sync_name(path, how);
	case OP_APPEND:
		return put_synced(path, O_APPEND, &i, sizeof(i), how);
	case OP_COUNTER:
		return count(w, i, how);
	case OP_STREAM:
		return stream(w, i, how);
	case OP_STAGE:
		return stage(w, i, how);
	case OP_SNAPSHOT:
		return snapshot(w, i);
	case OP_ALTER:
		return alter(w, i);
	case OP_FLUSH:
		return control("flush");
	case OP_COMPACT:
		return control("compact");
	default:
		return put_synced(path, O_TRUNC, value, len, how);
	}
}

static int may_exist(int r)
{
	return r < 0 && errno != EEXIST ? -1 : 0;
}

static int make_dirs(unsigned w)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/A%u", run.point, w);
	if (may_exist(mkdir(path, 0755)) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/T/w%u", run.point, w);
	if (may_exist(mkdir(path, 0755)) < 0)
		return -1;
	for (const char *f = "vloac"; *f; f++) {
		snprintf(path, sizeof(path), "%s/T/w%u/%c", run.point, w, *f);
		if (may_exist(mkdir(path, 0755)) < 0)
			return -1;
		for (unsigned c = 0; c < COLUMNS; c++) {
			snprintf(path, sizeof(path), "%s/T/w%u/%c/q%u",
				 run.point, w, *f, c);
			if (may_exist(mkdir(path, 0755)) < 0)
				return -1;
		}
	}
	return 0;
}

static void ends(struct writer *me)
{
	me->error = errno;
	me->early = !__atomic_load_n(run.killing, __ATOMIC_ACQUIRE);
}

/* Is the operation on disk when its calls have returned? */
static bool is_kept(unsigned w, uint32_t i, enum how how)
{
	enum op_kind kind = op_kind(w, i);

	/* Those of the catalog always are. */
	return !run.power || run.sync || how != HOW_NOT ||
	       kind == OP_SNAPSHOT || kind == OP_ALTER;
}

/* A sync is one of all that came before. */
static void returned(struct writer *me, unsigned w, uint32_t i, enum how how)
{
	bool kept = is_kept(w, i, how);

	__atomic_store_n(&me->state[i], kept ? OP_ACKED : OP_CLOSED,
			 __ATOMIC_RELEASE);
	if (how == HOW_NOT)
		return;
	for (uint32_t k = i; k-- > 0 && i - k < 1000;)
		if (me->state[k] == OP_CLOSED)
			__atomic_store_n(&me->state[k], OP_ACKED,
					 __ATOMIC_RELEASE);
}

void write_on(unsigned w)
{
	struct writer *me = &run.writers[w];

	if (make_dirs(w) < 0) {
		ends(me);
		return;
	}
	while (me->n < OPS_MAX) {
		uint32_t i = me->n;
		enum how how = how_of(w, i);

		/* What a kill cut off stays as it is. */
		__atomic_store_n(&me->n, i + 1, __ATOMIC_RELEASE);
		if (op_kind(w, i) == OP_REMOVE &&
		    me->state[i - OP_REMOVE + OP_VERSION] < OP_CLOSED)
			continue;
		__atomic_store_n(&me->state[i], OP_BEGUN, __ATOMIC_RELEASE);
		if (do_op(w, i, how) < 0) {
			ends(me);
			return;
		}
		returned(me, w, i, how);
	}
}
