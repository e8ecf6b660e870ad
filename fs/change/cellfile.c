#include "fs/change/cellfile_inside.h"

#include <errno.h>

#include "fs/change/changed.h"
#include "fs/change/moved.h"

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

int cellfile_scan(struct table *t, struct bytes row,
		  const struct column_name *column, bool keys_only, bool raw,
		  struct scan **out)
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

	return cellfile_scan(t, row, &column, keys_only, false, out);
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

static struct check check_same(const struct place *p, struct bytes value)
{
	struct check c = check_of(p, CHECK_VERSION_EQUAL, p->ts);

	c.value = value;
	return c;
}

bool cellfile_check_absent(struct fs *fs, const struct place *p, unsigned flags,
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
	bool check = cellfile_check_absent(fs, p, flags, &hold, &absent);
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

struct change cellfile_copy_of(struct fs *fs, const struct place *p,
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
	struct change c = cellfile_copy_of(fs, p, was, put_ts(p, -1));
	int r = cellfile_copyable(was);

	return r ? r : put_change(fs, p, &c, false, flags);
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
		r = cellfile_check_seen(fs, old, old->ts, p, NULL);
	if (r < 0)
		return r;
	c[1].value = value;
	if (bytes_eq(value, was->value))
		c[1].ttl_ms = cellfile_ttl_left(fs, was, c[1].ts);
	m.nchecks += cellfile_check_absent(fs, p, flags, &hold, &checks[1]);
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
