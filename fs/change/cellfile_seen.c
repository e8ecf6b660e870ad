/* Is what is put seen? A move to where it is not would lose it. */
#include "fs/change/cellfile_inside.h"

#include <errno.h>

int cellfile_each_key(const struct place *p, bool raw, bool head, see_cell *see,
		      void *arg)
{
	struct column_name column = {.family = p->family,
				     .qualifier = p->qualifier,
				     .whole_family = head};
	struct scan *sc;
	struct cell cell;
	int r = cellfile_scan(fstable_table(p->table), p->row, &column, true,
			      raw, &sc);
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

int cellfile_each_stored(const struct place *p, see_cell *see, void *arg)
{
	int r = cellfile_each_key(p, true, false, see, arg);

	return r ? r : cellfile_each_key(p, true, true, see, arg);
}

bool cellfile_hides(const struct cell *c, int64_t ts)
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

	return cellfile_hides(c, *ts);
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

int cellfile_beneath(void)
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
	int r = attrs->new_version_behavior
			? 0
			: cellfile_each_stored(to, is_above, &ts);

	return r <= 0 ? r : cellfile_beneath();
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

int cellfile_check_kept(struct fs *fs, const struct family_attrs *attrs,
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

int cellfile_check_seen(struct fs *fs, const struct place *from, int64_t ts,
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
	r = cellfile_each_key(to, raw, false, count_newer, &newer);
	newer.count += puts_of(with, to, to->ts + 1, INT64_MAX);
	return r < 0 ? r : cellfile_check_kept(fs, &attrs, newer.count, to->ts);
}

int cellfile_seen(struct fs *fs, const struct place *to,
		  const struct mutation *with)
{
	return cellfile_check_seen(fs, to, -1, to, with);
}
