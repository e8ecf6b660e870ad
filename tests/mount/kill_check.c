#include "tests/mount/killtest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NONE UINT32_MAX

static uint8_t value[VALUE_MAX], got[VALUE_MAX + 1];

/* Numbers of operations that decide what the value of a cell may be. */
struct span {
	uint32_t last_acked; /* or NONE */
	uint32_t acked, begun;
};

ssize_t read_file(const char *path, uint8_t *out, size_t size)
{
	int fd = open(path, O_RDONLY), saved;
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return -1;
	while ((n = read(fd, out + len, size - len)) > 0)
		len += (size_t)n;
	saved = errno;
	close(fd);
	errno = saved;
	return n < 0 ? -1 : (ssize_t)len;
}

/* -1 for what is absent; other failures end the test. */
static ssize_t look(const char *path)
{
	ssize_t len = read_file(path, got, sizeof(got));

	if (len < 0 && errno != ENOENT)
		fail("%s: %s", path, strerror(errno));
	run.checked++;
	return len;
}

static enum op_state state_of(unsigned w, uint32_t i)
{
	const struct writer *me = &run.judged[w];

	return i < me->n ? (enum op_state)me->state[i] : OP_NONE;
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
	if (len < 8 || id >> 32 != w || !got_is(len, id) ||
	    state_of(w, (uint32_t)id) == OP_NONE)
		fail("%s holds %zd bytes that nobody wrote so", path, len);
	return (uint32_t)id;
}

static enum op_state removal_of(unsigned w, uint32_t i)
{
	if (op_kind(w, i) != OP_VERSION)
		return OP_NONE;
	return state_of(w, i + OP_REMOVE - OP_VERSION);
}

/* OP_VERSION, OP_MOVE and OP_ROW: each has a file of its own. */
static void check_own(unsigned w, uint32_t i)
{
	enum op_state state = state_of(w, i), removed = removal_of(w, i);
	char path[4096];
	ssize_t len;

	op_path(w, i, path, sizeof(path));
	len = look(path);
	if (len >= 0 && removed == OP_ACKED)
		fail("%s is back after its removal", path);
	if (len >= 0 && !got_is(len, value_id(w, i)))
		fail("%s holds %zd bytes, not what was put", path, len);
	if (len >= 0 || removed != OP_NONE)
		return;
	if (state == OP_ACKED)
		fail("%s is lost: its put had returned", path);
	run.lost += state == OP_CLOSED;
}

/* How old an operation may be to be looked at this time. */
static uint32_t oldest(unsigned w)
{
	return run.all ? 0 : run.since[w];
}

/* A column that is written by `latest`: every acknowledged one is a version. */
static void check_latest(unsigned w, uint32_t col)
{
	char dir[4096], path[8192];
	struct dirent *e;
	uint32_t newest = NONE, i, last = NONE, n = run.judged[w].n;
	uint8_t *seen = calloc(n ? n : 1, 1);
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/T/w%u/l/q%u", run.point, w, col);
	d = opendir(dir);
	if (!seen || (!d && errno != ENOENT))
		fail("%s: %s", dir, strerror(errno));
	while (d && (last == NONE || last > oldest(w)) && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		i = whose(w, look(path), path);
		if (op_kind(w, i) != OP_LATEST || seen[i] || i >= last)
			fail("%s: version %u is out of place", path, i);
		seen[i] = 1;
		last = i;
		if (newest == NONE)
			newest = i;
	}
	if (d)
		closedir(d);
	for (i = oldest(w); i < n; i++)
		if (op_kind(w, i) == OP_LATEST && op_column(i) == col &&
		    state_of(w, i) == OP_ACKED && !seen[i])
			fail("%s: the put %u is lost", dir, i);
	free(seen);
	if (newest == NONE)
		return;
	snprintf(path, sizeof(path), "%s/latest", dir);
	if (whose(w, look(path), path) != newest)
		fail("%s is not the newest version", path);
}

/* What is listed was put, and not removed. */
static void check_listing(unsigned w, uint32_t col)
{
	char dir[4096];
	unsigned long ts, last = ULONG_MAX;
	struct dirent *e;
	uint32_t i;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/T/w%u/v/q%u", run.point, w, col);
	d = opendir(dir);
	if (!d && errno != ENOENT)
		fail("%s: %s", dir, strerror(errno));
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		ts = strtoul(e->d_name, NULL, 10);
		i = (uint32_t)(ts - TS_BASE);
		if (ts < TS_BASE || state_of(w, i) == OP_NONE)
			fail("%s/%s: nobody put that", dir, e->d_name);
		if (removal_of(w, i) == OP_ACKED)
			fail("%s/%s is back after its removal", dir, e->d_name);
		if (ts >= last)
			fail("%s/%s is listed out of order", dir, e->d_name);
		last = ts;
	}
	if (d)
		closedir(d);
}

/* Of the operations of a kind in a column, or in a slot; @before: older ones. */
static struct span span_of(unsigned w, enum op_kind kind,
			   uint32_t (*part)(uint32_t), uint32_t want,
			   uint32_t before)
{
	struct span s = {.last_acked = NONE};

	for (uint32_t i = 0; i < before && i < run.judged[w].n; i++) {
		enum op_state state = state_of(w, i);

		if (state == OP_NONE || op_kind(w, i) != kind ||
		    (part && part(i) != want))
			continue;
		s.begun++;
		if (state != OP_ACKED)
			continue;
		s.acked++;
		s.last_acked = i;
	}
	return s;
}

/* Is operation @i one that a cell with this span may show? */
static bool is_fresh(uint32_t i, const struct span *s)
{
	return s->last_acked == NONE || i >= s->last_acked;
}

/* A version that is put again and again: the last acknowledged, or a later. */
static void check_replaced(unsigned w, uint32_t col)
{
	struct span s = span_of(w, OP_REPLACE, op_column, col, NONE);
	char path[4096];
	ssize_t len;

	snprintf(path, sizeof(path), "%s/T/w%u/o/q%u/5", run.point, w, col);
	len = look(path);
	if (len < 0 && s.last_acked != NONE)
		fail("%s is lost: put %u had returned", path, s.last_acked);
	if (len >= 0 && !is_fresh(whose(w, len, path), &s))
		fail("%s holds a value older than put %u", path, s.last_acked);
}

/* Every acknowledged append once, in their order, and nothing else. */
static void check_appended(unsigned w, uint32_t col)
{
	uint32_t n = run.judged[w].n, next = 0, id;
	char path[4096];
	ssize_t len;

	snprintf(path, sizeof(path), "%s/T/w%u/a/q%u/%s", run.point, w, col,
		 col & 1 ? "latest" : "5");
	len = look(path);
	for (ssize_t at = 0; at <= len || at == 0; at += 4) {
		id = NONE;
		if (at + 4 <= len)
			memcpy(&id, got + at, 4);
		else if (at < len)
			fail("%s ends with half an append", path);
		for (; next < n && next != id; next++)
			if (op_kind(w, next) == OP_APPEND &&
			    op_column(next) == col &&
			    state_of(w, next) == OP_ACKED)
				fail("%s: the append %u is lost", path, next);
		if (id == NONE)
			return;
		if (next == n || op_kind(w, id) != OP_APPEND ||
		    op_column(id) != col || state_of(w, id) == OP_NONE)
			fail("%s: nobody appended %u here", path, id);
		next++;
	}
}

static void check_counter(unsigned w, uint32_t col)
{
	struct span s = span_of(w, OP_COUNTER, op_column, col, NONE);
	char path[4096];
	unsigned long is;
	ssize_t len;

	snprintf(path, sizeof(path), "%s/T/w%u/c/q%u/counter", run.point, w,
		 col);
	len = look(path);
	got[len < 0 ? 0 : len] = '\0';
	is = strtoul((char *)got, NULL, 10);
	if (is < s.acked || is > s.begun)
		fail("%s is %lu after %u to %u additions", path, is, s.acked,
		     s.begun);
}

/* A row of three columns that is put whole: never two values in it. */
static void check_whole(unsigned w, uint32_t slot, enum op_kind kind)
{
	struct span s = span_of(w, kind, op_slot, slot, NONE);
	char path[4096];
	uint32_t first = NONE, i;
	ssize_t len;

	for (char q = 'a'; q <= 'c'; q++) {
		snprintf(path, sizeof(path), "%s/T/w%u.%c%u/v/%c/5", run.point,
			 w, kind == OP_STREAM ? 's' : 'g', slot, q);
		len = look(path);
		got[len < 0 ? 0 : len] = '\0';
		i = len < 0 ? NONE : (uint32_t)strtoul((char *)got, NULL, 10);
		if (q > 'a' && i != first)
			fail("%s: half of row put %u is there", path,
			     first == NONE ? i : first);
		first = i;
	}
	if (first == NONE && s.last_acked != NONE)
		fail("%s is lost: put %u had returned", path, s.last_acked);
	if (first == NONE)
		return;
	if (!is_fresh(first, &s) || op_kind(w, first) != kind ||
	    op_slot(first) != slot || state_of(w, first) == OP_NONE)
		fail("%s shows row put %u, not %u", path, first, s.last_acked);
}

/* What a snapshot shows of a column is what its writer had put by then. */
static void check_in_snapshot(unsigned w, uint32_t taken)
{
	char path[4096];
	ssize_t len;

	for (uint32_t col = 0; col < COLUMNS; col++) {
		struct span s = span_of(w, OP_REPLACE, op_column, col, taken);

		snprintf(path, sizeof(path),
			 "%s/T/.snapshot/w%u.%u/w%u/o/q%u/5", run.point, w,
			 taken, w, col);
		len = look(path);
		if (len < 0 && s.last_acked != NONE)
			fail("%s is lost: the snapshot was later", path);
		if (len >= 0 && (!is_fresh(whose(w, len, path), &s) ||
				 whose(w, len, path) > taken))
			fail("%s is not of the snapshot's moment", path);
	}
}

static void check_snapshots(unsigned w)
{
	uint32_t last = span_of(w, OP_SNAPSHOT, NULL, 0, NONE).last_acked;
	char path[4096];

	for (uint32_t i = 0; i < run.judged[w].n; i++) {
		if (op_kind(w, i) != OP_SNAPSHOT || state_of(w, i) == OP_NONE)
			continue;
		snprintf(path, sizeof(path), "%s/T/.snapshot/w%u.%u", run.point,
			 w, i);
		if (access(path, F_OK) == 0 && last != NONE && i < last)
			fail("%s is back after its removal", path);
	}
	if (last == NONE)
		return;
	snprintf(path, sizeof(path), "%s/T/.snapshot/w%u.%u", run.point, w,
		 last);
	if (access(path, F_OK) == 0)
		check_in_snapshot(w, last);
	else if (span_of(w, OP_SNAPSHOT, NULL, 0, NONE).begun ==
		 span_of(w, OP_SNAPSHOT, NULL, 0, last + 1).begun)
		fail("%s is lost: its mkdir had returned", path);
}

static void check_schema(unsigned w)
{
	struct span s = span_of(w, OP_ALTER, NULL, 0, NONE);
	char path[4096], *at;
	unsigned long versions = 0;
	ssize_t len;

	snprintf(path, sizeof(path), "%s/A%u/.schema", run.point, w);
	len = look(path);
	got[len < 0 ? 0 : len] = '\0';
	at = strstr((char *)got, "versions ");
	if (at)
		versions = strtoul(at + 9, NULL, 10);
	if (s.last_acked != NONE && versions < s.last_acked + 1ul)
		fail("%s says %lu versions after alter %u", path, versions,
		     s.last_acked);
	if (versions > run.judged[w].n)
		fail("%s says %lu versions: nobody wrote that", path, versions);
}

void check_writer(unsigned w)
{
	for (uint32_t col = 0; col < COLUMNS; col++) {
		check_latest(w, col);
		check_listing(w, col);
		check_replaced(w, col);
		check_appended(w, col);
		check_counter(w, col);
	}
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		check_whole(w, slot, OP_STREAM);
		check_whole(w, slot, OP_STAGE);
	}
	check_snapshots(w);
	check_schema(w);
	for (uint32_t i = 0; i < run.judged[w].n; i++) {
		enum op_kind kind = op_kind(w, i);

		if (i < oldest(w) && (i + run.turn) % 16)
			continue;
		if (state_of(w, i) != OP_NONE &&
		    (kind == OP_VERSION || kind == OP_MOVE || kind == OP_ROW))
			check_own(w, i);
	}
}
