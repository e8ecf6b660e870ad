/* A cell's file gets another name in its row. */
#include "fs/change/cellfile_inside.h"

#include <errno.h>
#include <stdlib.h>

#include "fs/change/changed.h"
#include "store/value/array.h"

/* The most that a move of a whole column may hold in memory: its versions. */
#define MOVE_BYTES_MAX (320u << 20)
#define MOVE_VERSIONS_MAX 10000

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
		       ? cellfile_each_key(p, false, false, raise_ts, ts)
		       : cellfile_each_stored(p, raise_ts, ts);
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
	int r = cellfile_each_key(to, false, false, onto_add, o);

	o->nversions = o->n;
	return r < 0 || attrs->new_version_behavior
		       ? r
		       : cellfile_each_stored(to, onto_add_marker, o);
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
		if (cellfile_hides(&o->cells[i], ts))
			return cellfile_beneath();
	for (; o->next < o->nversions && o->cells[o->next].ts >= ts; o->next++)
		o->newer += o->cells[o->next].ts > ts;
	return cellfile_check_kept(fs, attrs, moved + o->newer, ts);
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
	struct change put =
		cellfile_copy_of(fs, to, cell, hidden ? TS_AUTO : cell->ts);
	int r = cellfile_copyable(cell);

	if (r == 0 && moved == 1)
		r = onto_read(o, attrs, to);
	if (r == 0)
		r = moved ? onto_check(fs, o, attrs, moved, put.ts)
			  : cellfile_check_kept(fs, attrs, 0, put.ts);
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

	return r < 0 ? r
		     : move_add(mv,
				cellfile_copy_of(fs, to, cell, put_ts(to, -1)));
}

static int is_second(void *arg, const struct cell *c)
{
	size_t *n = arg;

	(void)c;
	return ++*n > 1;
}

/*
 * F:Q is the column with all its versions, of which a file of one version would keep
 * the newest alone.
 */
static int check_alone(const struct place *from)
{
	size_t n = 0;
	int r = cellfile_each_key(from, false, false, is_second, &n);

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
	r = cellfile_check_seen(fs, from, cell->ts, to, NULL);
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
	mv->nchecks += cellfile_check_absent(fs, to, flags, &hold,
					     &mv->checks[mv->nchecks]);
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
