#include "fs/change/cellfile.h"

#include <errno.h>
#include <stdlib.h>

#include "fs/change/changed.h"
#include "fs/change/moved.h"
#include "store/value/array.h"

/* The most that a move of a whole column may hold in memory: its versions. */
#define MOVE_BYTES_MAX (320u << 20)
#define MOVE_VERSIONS_MAX 10000

int cellfile_writable(struct fs *fs, const struct place *p, size_t *len_max)
{
	struct family_attrs attrs;
	int r = table_writable(fstable_table(p->table));

	if (r < 0)
		return r;
	if (store_is_read_only(fs->store))
		return why(-EROFS, "the store is open for reading only");
	r = fstable_family(p->table, p->family, &attrs);
	if (r == 0) {
		r = fstable_fixed(p->table);
		if (r > 0)
			return why(
				-EPERM,
				"the table's families are fixed and \"%.*s\" "
				"is not among them: add it to .schema",
				(int)p->family.len,
				(const char *)p->family.data);
		if (r == 0)
			r = table_add_family(fstable_table(p->table),
					     p->family);
		if (r == 0 || r == -EEXIST)
			r = fstable_family(p->table, p->family, &attrs);
	}
	if (r <= 0)
		return r ? r : -ENOENT;
	if (len_max)
		*len_max = attrs.max_value;
	return 0;
}

/* A scan of what the row has of the column, with @raw of all that is stored. */
static int open_column(struct table *t, struct bytes row,
		       const struct column_name *column, bool keys_only,
		       bool raw, struct scan **out)
{
	struct scan_spec spec = {
		.granularity = SCAN_CELLS,
		.keys_only = keys_only,
		.raw = raw,
		.row_start = row,
		.row_stop = row,
		.row_stop_inclusive = true,
		.columns = column,
		.ncolumns = 1,
	};

	return scan_open(t, &spec, out);
}

int cellfile_versions(struct table *t, struct bytes row, struct bytes family,
		      struct bytes qualifier, bool keys_only, struct scan **out)
{
	struct column_name column = {.family = family, .qualifier = qualifier};

	return open_column(t, row, &column, keys_only, false, out);
}

static struct change change_of(const struct place *p, uint8_t op, int64_t ts)
{
	return (struct change){
		.op = op,
		.family = p->family,
		.qualifier = p->qualifier,
		.ts = ts,
	};
}

static struct check check_of(const struct place *p, uint8_t op, int64_t ts)
{
	return (struct check){
		.op = op,
		.family = p->family,
		.qualifier = p->qualifier,
		.ts = ts,
	};
}

int cellfile_takes_put(const struct place *p)
{
	struct change c = change_of(p, CHANGE_PUT,
				    p->kind == NODE_VERSION ? p->ts : TS_AUTO);
	struct mutation m = {.row = p->row, .changes = &c, .nchanges = 1};
	int r = table_mutate_try(fstable_table(p->table), &m);

	return r < 0 ? r : 0;
}

/* Builds a check that the file is absent, or with @present that it exists. */
static struct check check_file(const struct place *p, bool present)
{
	if (p->kind == NODE_VERSION)
		return check_of(p,
				present ? CHECK_VERSION_PRESENT
					: CHECK_VERSION_ABSENT,
				p->ts);
	return check_of(p, present ? CHECK_PRESENT : CHECK_ABSENT, 0);
}

/* Makes one change under at most one check; returns as table_mutate(). */
static int mutate_one(struct fs *fs, const struct place *p, struct change *c,
		      const struct check *check, unsigned flags)
{
	struct mutation m = {
		.row = p->row,
		.changes = c,
		.nchanges = 1,
		.checks = check,
		.nchecks = check ? 1 : 0,
	};

	/* With -o sync the store syncs every mutation, whatever @flags say. */
	return changed_mutate(
		fs, p, &m,
		MUTATE_ADMITTED | (flags & CELLFILE_SYNC ? MUTATE_SYNC : 0));
}

/* The timestamp for a put of @p. */
static int64_t put_ts(const struct place *p, int64_t ts)
{
	if (ts >= 0)
		return ts;
	return p->kind == NODE_VERSION ? p->ts : TS_AUTO;
}

static struct check check_same(const struct place *p, struct bytes value)
{
	struct check c = check_of(p, CHECK_VERSION_EQUAL, p->ts);

	c.value = value;
	return c;
}

/*
 * With CELLFILE_ABSENT, the check that the file is not there. A version that
 * is hidden is there for the store only, as long as nobody writes it anew.
 */
static bool check_absent(struct fs *fs, const struct place *p, unsigned flags,
			 struct buf *hold, struct check *out)
{
	struct bytes value;

	if (!(flags & CELLFILE_ABSENT))
		return false;
	*out = check_file(p, false);
	if (p->kind == NODE_VERSION && moved_value(fs, p, hold, &value) > 0)
		*out = check_same(p, value);
	return true;
}

static int exists(void)
{
	return why(-EEXIST, "another writer was first");
}

/*
 * Replaces the version at c->ts by the change; where nobody sees that any more,
 * what is put in its place would not be seen either, and goes behind the newest.
 */
static int mutate_again(struct fs *fs, const struct place *p, struct change *c,
			unsigned flags)
{
	struct check seen = check_of(p, CHECK_VERSION_PRESENT, c->ts);
	int r = mutate_one(fs, p, c, &seen, flags);

	if (r)
		return r;
	c->ts = TS_AUTO;
	return mutate_one(fs, p, c, NULL, flags);
}

/* Makes the put, whose file may have to be absent: what cellfile_put() gives. */
static int put_change(struct fs *fs, const struct place *p, struct change *c,
		      bool again, unsigned flags)
{
	struct buf hold = {0};
	struct check absent;
	bool check = check_absent(fs, p, flags, &hold, &absent);
	int r = again && !check
			? mutate_again(fs, p, c, flags)
			: mutate_one(fs, p, c, check ? &absent : NULL, flags);

	buf_free(&hold);
	if (r <= 0)
		return r ? r : exists();
	return 0;
}

int cellfile_put(struct fs *fs, const struct place *p, struct bytes value,
		 struct piece *piece, int64_t ts, unsigned flags,
		 int64_t *ts_given)
{
	struct change c = change_of(p, CHANGE_PUT, put_ts(p, ts));
	int r;

	c.value = value;
	c.piece = piece;
	r = put_change(fs, p, &c, ts >= 0 && p->kind != NODE_VERSION, flags);
	if (r == 0)
		*ts_given = c.ts_given;
	return r;
}

/* The put of @p that has the value of @was, and ends when that does. */
static struct change copy_of(struct fs *fs, const struct place *p,
			     const struct cell *was, int64_t ts)
{
	struct change c = change_of(p, CHANGE_PUT, ts);

	c.value = was->value;
	c.ttl_ms = cellfile_ttl_left(fs, was, ts);
	return c;
}

int cellfile_copy(struct fs *fs, const struct place *p, const struct cell *was,
		  unsigned flags)
{
	struct change c = copy_of(fs, p, was, put_ts(p, -1));
	int r = cellfile_copyable(was);

	return r ? r : put_change(fs, p, &c, false, flags);
}

static bool same_column(const struct place *a, const struct place *b)
{
	return bytes_eq(a->family, b->family) &&
	       bytes_eq(a->qualifier, b->qualifier);
}

/* What is told of each cell of a column: 0 = go on, else that is the result. */
typedef int see_cell(void *arg, const struct cell *c);

/*
 * Tells of the keys of the column, with @raw of all that is stored of it, with
 * @head of the markers of its family instead.
 */
static int each_key(const struct place *p, bool raw, bool head, see_cell *see,
		    void *arg)
{
	struct column_name column = {.family = p->family,
				     .qualifier = p->qualifier,
				     .whole_family = head};
	struct scan *sc;
	struct cell cell;
	int r = open_column(fstable_table(p->table), p->row, &column, true, raw,
			    &sc);
	int seen = 0;

	if (r < 0)
		return r;
	while (!seen && (r = scan_next(sc, &cell)) > 0) {
		/* Markers of the family come before all columns. */
		if (head && !kind_is_family_marker(cell.kind))
			break;
		seen = see(arg, &cell);
	}
	scan_close(sc);
	return r < 0 ? r : seen;
}

/* All that is stored of the column, and the markers of its family. */
static int each_stored(const struct place *p, see_cell *see, void *arg)
{
	int r = each_key(p, true, false, see, arg);

	return r ? r : each_key(p, true, true, see, arg);
}

static bool marker_hides(const struct cell *c, int64_t ts)
{
	switch (c->kind) {
	case CELL_DELETE:
	case CELL_DELETE_FAMILY_VERSION:
		return c->ts == ts;
	case CELL_DELETE_COLUMN:
	case CELL_DELETE_FAMILY:
		return c->ts >= ts;
	}
	return false;
}

static int is_above(void *arg, const struct cell *c)
{
	const int64_t *ts = arg;

	return marker_hides(c, *ts);
}

/*
 * Versions of a column that are newer than @than, without that at @but, and without
 * those that @with puts too.
 */
struct newer {
	int64_t than, but;
	int64_t last, deleted; /* of those that were seen */
	size_t count;
	const struct mutation *with; /* may be NULL */
	const struct place *column;
};

/* How many versions of the column of @p @m puts with a timestamp from @min to @max. */
static size_t puts_of(const struct mutation *m, const struct place *p,
		      int64_t min, int64_t max)
{
	size_t n = 0;

	for (size_t i = 0; m && i < m->nchanges; i++) {
		const struct change *c = &m->changes[i];
		int64_t ts = c->ts == TS_AUTO ? INT64_MAX : c->ts;

		n += ts >= min && ts <= max && bytes_eq(c->family, p->family) &&
		     bytes_eq(c->qualifier, p->qualifier);
	}
	return n;
}

static int count_newer(void *arg, const struct cell *c)
{
	struct newer *n = arg;

	if (c->ts <= n->than)
		return 1;
	if (c->kind == CELL_DELETE) {
		n->count -= c->ts == n->last;
		n->deleted = c->ts;
	} else if (c->kind == CELL_PUT && c->ts != n->but && c->ts != n->last &&
		   c->ts != n->deleted &&
		   !puts_of(n->with, n->column, c->ts, c->ts)) {
		n->count++;
		n->last = c->ts;
	}
	return 0;
}

static int beneath_marker(void)
{
	return why(-EPERM,
		   "a version would be lost: what its column has of that time "
		   "was deleted, which hides what is put later too "
		   "(new_version_behavior no) until a compaction");
}

/* In the classic order a put beneath a delete marker is not seen. */
static int check_markers(const struct family_attrs *attrs,
			 const struct place *to)
{
	int64_t ts = to->ts;
	int r = attrs->new_version_behavior ? 0
					    : each_stored(to, is_above, &ts);

	return r <= 0 ? r : beneath_marker();
}

/*
 * Does a version of @from make room for @to as it goes? In HBase all changes of a
 * row are of one moment, at which it still counts.
 */
static bool makes_room(struct fs *fs, const struct family_attrs *attrs,
		       const struct place *from, const struct place *to)
{
	return same_column(from, to) &&
	       !(store_is_shared(fs->store) && attrs->new_version_behavior);
}

/* Does the family show a version at @ts of a column that has @newer ones? */
static int check_kept(struct fs *fs, const struct family_attrs *attrs,
		      size_t newer, int64_t ts)
{
	int64_t end;

	if (newer >= attrs->versions)
		return why(-EPERM,
			   "a version would be lost: the column has %zu newer "
			   "versions and its family keeps no more (versions)",
			   newer);
	if (newer < attrs->min_versions || attrs->ttl_ms > INT64_MAX ||
	    __builtin_add_overflow(ts, (int64_t)attrs->ttl_ms, &end) ||
	    end > store_now_ms(fs->store))
		return 0;
	return why(-EPERM,
		   "a version would be lost: what its family has of that time "
		   "has expired (ttl)");
}

/*
 * Will the version @to be seen when the one of @from at @ts has gone, and what @with,
 * if any, puts is there? A move to where it is pushed out at once, or has expired,
 * would lose the value.
 */
static int check_seen(struct fs *fs, const struct place *from, int64_t ts,
		      const struct place *to, const struct mutation *with)
{
	struct newer newer = {.than = to->ts,
			      .but = -1,
			      .last = -1,
			      .deleted = -1,
			      .with = with,
			      .column = to};
	struct family_attrs attrs;
	bool raw;
	int r = fstable_family(to->table, to->family, &attrs);

	if (r <= 0 || to->kind != NODE_VERSION)
		return r < 0 ? r : 0;
	r = check_markers(&attrs, to);
	if (r < 0)
		return r;
	if (makes_room(fs, &attrs, from, to))
		newer.but = ts;
	/* In the classic order a version that goes may uncover older ones. */
	raw = same_column(from, to) && !attrs.new_version_behavior;
	r = each_key(to, raw, false, count_newer, &newer);
	newer.count += puts_of(with, to, to->ts + 1, INT64_MAX);
	return r < 0 ? r : check_kept(fs, &attrs, newer.count, to->ts);
}

int cellfile_seen(struct fs *fs, const struct place *to,
		  const struct mutation *with)
{
	return check_seen(fs, to, -1, to, with);
}

uint64_t cellfile_ttl_left(struct fs *fs, const struct cell *cell, int64_t ts)
{
	int64_t end;

	if (!cell->ttl_ms)
		return 0;
	if (ts == TS_AUTO)
		ts = store_now_ms(fs->store);
	if (cell->ttl_ms > INT64_MAX ||
	    __builtin_add_overflow(cell->ts, (int64_t)cell->ttl_ms, &end))
		end = INT64_MAX;
	return end > ts ? (uint64_t)end - (uint64_t)ts : 1;
}

int cellfile_copyable(const struct cell *cell)
{
	return cell->has_labels ? why(-EPERM, "the version has tags of HBase "
					      "(visibility, access) "
					      "that a copy would lack: move it "
					      "with HBase's tools")
				: 0;
}

int cellfile_put_instead(struct fs *fs, const struct place *p,
			 struct bytes value, const struct place *old,
			 const struct cell *was, unsigned flags)
{
	struct change c[2] = {change_of(old, CHANGE_DELETE, old->ts),
			      change_of(p, CHANGE_PUT, put_ts(p, -1))};
	struct check checks[2] = {check_same(old, was->value)};
	struct mutation m = {
		.row = p->row,
		.changes = c,
		.nchanges = 2,
		.checks = checks,
		.nchecks = 1,
	};
	struct buf hold = {0};
	struct cell cell;
	int r = cellfile_copyable(was);

	if (r == 0)
		r = check_seen(fs, old, old->ts, p, NULL);
	if (r < 0)
		return r;
	c[1].value = value;
	if (bytes_eq(value, was->value))
		c[1].ttl_ms = cellfile_ttl_left(fs, was, c[1].ts);
	m.nchecks += check_absent(fs, p, flags, &hold, &checks[1]);
	r = changed_mutate(fs, p, &m, 0);
	/* Nothing was done: @old has another value by now, or @p is there. */
	if (r == 0 && m.nchecks > 1 && place_get(old, &cell, &hold) > 0)
		r = bytes_eq(cell.value, was->value) ? exists() : 0;
	buf_free(&hold);
	return r;
}

/* Behind the version's value if it is there, else as a new one. */
static int append_version(struct fs *fs, const struct place *p,
			  struct bytes tail, unsigned flags)
{
	struct change c = change_of(p, CHANGE_PUT, p->ts);
	struct check check = check_file(p, false);
	struct buf hold = {0};
	struct bytes value;
	int r = moved_value(fs, p, &hold, &value);

	c.value = tail;
	if (r > 0) {
		struct check same = check_same(p, value);

		r = mutate_one(fs, p, &c, &same, flags);
	}
	buf_free(&hold);
	if (r != 0)
		return r;
	c.op = CHANGE_APPEND;
	c.ts_min = p->ts;
	c.ts_max = p->ts + 1;
	return mutate_one(fs, p, &c, flags & CELLFILE_ABSENT ? &check : NULL,
			  flags);
}

static int append_newest(struct fs *fs, const struct place *p,
			 struct bytes tail, int64_t ts, unsigned flags,
			 int64_t *ts_given)
{
	struct change c = change_of(p, CHANGE_APPEND, ts);
	struct check newest = check_of(p, CHECK_NEWEST_TS, ts);
	struct check absent = check_file(p, false);
	int r = 0;

	c.value = tail;
	if (ts >= 0)
		r = mutate_one(fs, p, &c, &newest, flags);
	if (r == 0) {
		/* The first time, or another version came in between. */
		c.ts = TS_AUTO;
		r = mutate_one(fs, p, &c,
			       flags & CELLFILE_ABSENT ? &absent : NULL, flags);
	}
	*ts_given = c.ts_given;
	return r;
}

int cellfile_append(struct fs *fs, const struct place *p, struct bytes tail,
		    int64_t ts, unsigned flags, int64_t *ts_given)
{
	bool version = p->kind == NODE_VERSION;
	int64_t given = p->ts;
	int r;

	if (version)
		r = append_version(fs, p, tail, flags);
	else
		r = append_newest(fs, p, tail, ts, flags, &given);
	if (r <= 0)
		return r ? r : exists();
	*ts_given = given;
	return 0;
}

/* Deletes the newest version; retries if another one became the newest. */
static int delete_newest(struct fs *fs, const struct place *p)
{
	int r;

	do {
		struct change c;
		struct check newest;
		struct cell cell;

		r = place_get(p, &cell, NULL);
		if (r <= 0)
			return r;
		c = change_of(p, CHANGE_DELETE, cell.ts);
		newest = check_of(p, CHECK_NEWEST_TS, cell.ts);
		r = mutate_one(fs, p, &c, &newest, 0);
	} while (r == 0);
	return r;
}

/* @check is of a version or of F:Q; of the newest the store is asked first. */
static int delete_if(struct fs *fs, const struct place *p,
		     const struct check *check)
{
	bool version = p->kind == NODE_VERSION;
	struct change c = version ? change_of(p, CHANGE_DELETE, p->ts)
				  : change_of(p, CHANGE_DELETE_COLUMN, TS_AUTO);
	int r = p->kind == NODE_LATEST ? delete_newest(fs, p)
				       : mutate_one(fs, p, &c, check, 0);

	return r < 0 ? r : r == 0 ? -ENOENT : 0;
}

int cellfile_delete(struct fs *fs, const struct place *p)
{
	struct check present = check_file(p, true);

	return delete_if(fs, p, &present);
}

int cellfile_delete_same(struct fs *fs, const struct place *p,
			 struct bytes value)
{
	struct check same = check_same(p, value);

	return delete_if(fs, p, &same);
}

/*
 * Puts to make and deletes to make, of one row. The values lie in one buffer;
 * the changes point into it when all are there.
 */
struct move {
	struct change *changes;
	size_t *at; /* offset of the value of a put */
	size_t count;
	struct buf values;
	struct check *checks; /* under which they are made */
	size_t nchecks;
	bool column; /* every version, under its timestamp */
};

static void move_release(struct move *mv)
{
	free(mv->changes);
	free(mv->at);
	free(mv->checks);
	buf_free(&mv->values);
}

static int move_add(struct move *mv, struct change c)
{
	size_t n = mv->count;
	int err;

	/* Before the versions comes the delete. */
	if (n > MOVE_VERSIONS_MAX ||
	    mv->values.len + c.value.len > MOVE_BYTES_MAX)
		return why(-EFBIG,
			   "a column of more than %d versions or %u "
			   "MiB cannot be moved at once",
			   MOVE_VERSIONS_MAX, MOVE_BYTES_MAX >> 20);
	if (ARRAY_ONE_MORE(mv->changes, n) < 0 || ARRAY_ONE_MORE(mv->at, n) < 0)
		return -ENOMEM;
	mv->at[n] = mv->values.len;
	err = buf_append(&mv->values, c.value.data, c.value.len);
	if (err)
		return err;
	mv->changes[n] = c;
	mv->count++;
	return 0;
}

static int raise_ts(void *arg, const struct cell *c)
{
	int64_t *ts = arg;

	*ts = c->ts > *ts ? c->ts : *ts;
	return 0;
}

/*
 * The newest timestamp of a column, or -1. Where markers are in the classic order
 * they count: what is put beneath one is not seen.
 */
static int newest_of(const struct place *p, int64_t *ts)
{
	struct family_attrs attrs;
	int r = fstable_family(p->table, p->family, &attrs);

	*ts = -1;
	if (r <= 0)
		return r;
	return attrs.new_version_behavior
		       ? each_key(p, false, false, raise_ts, ts)
		       : each_stored(p, raise_ts, ts);
}

/* What a column has to which another one is moved. */
struct onto {
	struct cell *cells; /* keys: its versions, the newest first; markers */
	size_t n, cap, nversions;
	size_t next;  /* version that was not looked at */
	size_t newer; /* versions that stay above the one that is put */
};

static int onto_add(void *arg, const struct cell *c)
{
	struct onto *o = arg;

	if (ARRAY_RESERVE(o->cells, o->cap, o->n + 1) < 0)
		return why(-ENOMEM,
			   "out of memory for the versions of a column");
	o->cells[o->n++] = (struct cell){.kind = c->kind, .ts = c->ts};
	return 0;
}

static int onto_add_marker(void *arg, const struct cell *c)
{
	return c->kind == CELL_PUT ? 0 : onto_add(arg, c);
}

static int onto_read(struct onto *o, const struct family_attrs *attrs,
		     const struct place *to)
{
	int r = each_key(to, false, false, onto_add, o);

	o->nversions = o->n;
	return r < 0 || attrs->new_version_behavior
		       ? r
		       : each_stored(to, onto_add_marker, o);
}

/*
 * Will a version at @ts be seen there, behind @moved newer ones that are put?
 * One of the same time it replaces. Called of each in turn, the newest first.
 */
static int onto_check(struct fs *fs, struct onto *o,
		      const struct family_attrs *attrs, size_t moved,
		      int64_t ts)
{
	for (size_t i = o->nversions; i < o->n; i++)
		if (marker_hides(&o->cells[i], ts))
			return beneath_marker();
	for (; o->next < o->nversions && o->cells[o->next].ts >= ts; o->next++)
		o->newer += o->cells[o->next].ts > ts;
	return check_kept(fs, attrs, moved + o->newer, ts);
}

/*
 * Adds the put of a version, with its old timestamp; but @to is to show the
 * newest, whatever it has itself, up to @newest.
 */
static int add_version(struct fs *fs, struct move *mv, struct onto *o,
		       const struct family_attrs *attrs,
		       const struct cell *cell, const struct place *to,
		       int64_t newest)
{
	/* The delete is the first change. */
	size_t moved = mv->count - 1;
	bool hidden = moved == 0 && newest >= cell->ts;
	struct change put = copy_of(fs, to, cell, hidden ? TS_AUTO : cell->ts);
	int r = cellfile_copyable(cell);

	if (r == 0 && moved == 1)
		r = onto_read(o, attrs, to);
	if (r == 0)
		r = moved ? onto_check(fs, o, attrs, moved, put.ts)
			  : check_kept(fs, attrs, 0, put.ts);
	return r < 0 ? r : move_add(mv, put);
}

/* Adds puts of all versions of a column, each of which is to be seen. */
static int add_column(struct fs *fs, struct move *mv, const struct place *from,
		      const struct place *to)
{
	struct family_attrs attrs = {.versions = UINT32_MAX};
	struct onto onto = {0};
	struct scan *sc = NULL;
	struct cell cell;
	int64_t newest;
	int r = fstable_family(to->table, to->family, &attrs);

	if (r >= 0)
		r = newest_of(to, &newest);
	if (r == 0)
		r = cellfile_versions(fstable_table(from->table), from->row,
				      from->family, from->qualifier, false,
				      &sc);
	if (r < 0)
		return r;
	while ((r = scan_next(sc, &cell)) > 0) {
		r = add_version(fs, mv, &onto, &attrs, &cell, to, newest);
		if (r < 0)
			break;
	}
	scan_close(sc);
	free(onto.cells);
	return r;
}

/* Adds a put of the one value that the file shows. */
static int add_value(struct fs *fs, struct move *mv, const struct cell *cell,
		     const struct place *to)
{
	int r = cellfile_copyable(cell);

	return r < 0 ? r : move_add(mv, copy_of(fs, to, cell, put_ts(to, -1)));
}

static int is_second(void *arg, const struct cell *c)
{
	size_t *n = arg;

	(void)c;
	return ++*n > 1;
}

/* F:Q goes with all its versions, and a file of one version takes but the newest. */
static int check_alone(const struct place *from)
{
	size_t n = 0;
	int r = each_key(from, false, false, is_second, &n);

	if (r <= 0)
		return r;
	return why(-EPERM, "older versions would be lost: move latest, or to "
			   "an F:Q, which takes all of them");
}

/* Fills @mv; 1, or 0 when the two are names of one version. */
static int move_plan(struct fs *fs, struct move *mv, const struct place *from,
		     const struct place *to, const struct cell *cell)
{
	bool same = same_column(from, to);
	/* In its own column F:Q is what latest is: the newest version. */
	bool column = from->kind == NODE_ALIAS && !same;
	int r;

	if (same && (to->kind == NODE_VERSION ? to->ts == cell->ts
					      : from->kind == NODE_ALIAS))
		return 0;
	r = check_seen(fs, from, cell->ts, to, NULL);
	if (r < 0)
		return r;
	mv->column = column && to->kind == NODE_ALIAS;
	if (column && !mv->column)
		r = check_alone(from);
	if (r < 0)
		return r;
	/*
	 * The delete is first: while the old version is there, a put of an
	 * older timestamp into a full column is pushed out, for good.
	 */
	r = move_add(mv, column ? change_of(from, CHANGE_DELETE_COLUMN, TS_AUTO)
				: change_of(from, CHANGE_DELETE, cell->ts));
	if (r == 0)
		r = mv->column ? add_column(fs, mv, from, to)
			       : add_value(fs, mv, cell, to);
	return r < 0 ? r : 1;
}

/*
 * That the file is as it was read: its newest version, and each value. Only
 * what is put meanwhile into a whole column, under a timestamp of its own that
 * is older than the newest, goes with the column.
 */
static int move_checks(struct move *mv, const struct place *from, int64_t ts)
{
	bool version = from->kind == NODE_VERSION;

	/* The first change is the delete. One more may be that @to is absent. */
	mv->checks = calloc(mv->count + 1, sizeof(*mv->checks));
	if (!mv->checks)
		return -ENOMEM;
	if (!version)
		mv->checks[mv->nchecks++] = check_of(from, CHECK_NEWEST_TS, ts);
	for (size_t i = 1; i < mv->count; i++) {
		struct change *c = &mv->changes[i];
		struct check *k = &mv->checks[mv->nchecks++];

		if (c->value.len)
			c->value.data = mv->values.data + mv->at[i];
		*k = check_of(from, CHECK_VERSION_EQUAL,
			      mv->column && i > 1 ? c->ts : ts);
		k->value = c->value;
	}
	return 0;
}

static int move_apply(struct fs *fs, struct move *mv, const struct place *from,
		      const struct place *to, int64_t ts, unsigned flags)
{
	struct mutation m = {.row = from->row};
	struct buf hold = {0};
	int r = move_checks(mv, from, ts);

	if (r < 0)
		return r;
	mv->nchecks +=
		check_absent(fs, to, flags, &hold, &mv->checks[mv->nchecks]);
	m.changes = mv->changes;
	m.nchanges = mv->count;
	m.checks = mv->checks;
	m.nchecks = mv->nchecks;
	r = changed_mutate(fs, to, &m, 0);
	buf_free(&hold);
	return r;
}

int cellfile_move(struct fs *fs, const struct place *from,
		  const struct place *to, bool noreplace)
{
	struct move mv = {0};
	struct buf hold = {0};
	struct cell cell;
	int r = place_get(from, &cell, &hold);

	if (r <= 0)
		return r ? r : -ENOENT;
	r = move_plan(fs, &mv, from, to, &cell);
	if (r <= 0)
		goto out;
	r = move_apply(fs, &mv, from, to, cell.ts,
		       noreplace ? CELLFILE_ABSENT : 0);
	/* Whoever changed one of the two was first. */
	if (r == 0)
		r = noreplace ? -EEXIST : -EBUSY;
	r = r < 0 ? r : 0;
out:
	move_release(&mv);
	buf_free(&hold);
	return r;
}
