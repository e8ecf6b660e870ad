/*
 * The front of store.h: checks arguments, calls the backend, counts.
 * What is done with tables as wholes is in tables.c, snapshots in snapshot.c.
 */
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "store/front/args.h"
#include "store/front/front.h"
#include "store/front/guard.h"
#include "store/front/watch.h"

void *store_alloc(size_t bytes)
{
	const size_t align = _Alignof(struct store);
	void *p;

	bytes = (bytes + align - 1) & ~(align - 1);
	p = aligned_alloc(align, bytes);
	if (p)
		memset(p, 0, bytes);
	return p;
}

void store_init(struct store *s, const struct store_ops *ops, bool read_only)
{
	s->ops = ops;
	s->can = ops->can;
	s->read_only = read_only;
	pthread_mutex_init(&s->schema_lock, NULL);
	s->counts_elsewhere = false;
	s->is_shared = false;
	s->watch = NULL;
	s->heat = NULL;
	atomic_init(&s->heat_every, 0);
	memset(s->counts, 0, sizeof(s->counts));
}

void store_fini(struct store *s)
{
	pthread_mutex_destroy(&s->schema_lock);
	watch_free(s);
	heat_free(s->heat);
}

void table_init(struct table *t, struct store *s, uint64_t id)
{
	t->store = s;
	t->id = id;
	atomic_init(&t->refs, 1);
	atomic_init(&t->watch, NULL);
}

void table_ref(struct table *t)
{
	atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
}

void table_unref(struct table *t)
{
	if (!t || !refs_drop(&t->refs))
		return;
	watch_leave(t);
	t->store->ops->table_free(t);
}

uint64_t table_id(const struct table *t)
{
	return t->id;
}

int store_close(struct store *s)
{
	int r;

	if (!s)
		return 0;
	front_begin();
	store_fini(s);
	r = s->ops->close(s);
	if (r < 0 && !store_why()[0])
		why(r, "closing the store: %s", strerror(-r));
	return r;
}

int table_writable(struct table *t)
{
	struct store *s = t->store;

	return s->ops->writable ? s->ops->writable(t) : s->ops->health(s);
}

static int may_mutate(struct store *s, const struct mutation *m)
{
	int r = front_writable(s);

	if (r == 0)
		r = args_mutation(m);
	return r < 0 ? r : guard_rows(s, m, 1);
}

int table_mutate(struct table *t, struct mutation *m, unsigned flags)
{
	struct store *s = t->store;
	uint64_t begin = watch_begin(s);
	int r;

	front_begin();
	r = may_mutate(s, m);
	if (r == 0)
		r = s->ops->mutate(t, m, flags);
	watch_end(s, CALL_MUTATE, begin);
	if (r == 1) {
		watch_table(t, 0, 1);
		front_count(s, COUNT_MUTATIONS, 1);
		if (m->nchanges > 1)
			front_count(s, COUNT_MORE_CHANGES, m->nchanges - 1);
		front_note(s, t->id, m->row, true);
	} else if (r == 0) {
		front_count(s, COUNT_CHECKS_FAILED, 1);
	}
	return front_end(s, r);
}

static int many_check(const struct mutation *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int r = args_mutation(&m[i]);

		if (r < 0)
			return r;
		if (m[i].nchecks)
			return why(-EINVAL, "one of many mutations has a "
					    "condition: apply it alone");
	}
	return 0;
}

int table_mutate_many(struct table *t, struct mutation *m, size_t n,
		      unsigned flags, size_t *done)
{
	struct store *s = t->store;
	uint64_t begin = watch_begin(s);
	size_t changes = 0;
	int r;

	front_begin();
	*done = 0;
	r = front_writable(s);
	if (r == 0)
		r = many_check(m, n);
	if (r == 0)
		r = guard_rows(s, m, n);
	if (r == 0 && n)
		r = s->ops->mutate_many(t, m, n, flags, done);
	if (r > 0)
		r = 0;
	watch_end(s, CALL_MUTATE_MANY, begin);
	watch_table(t, 0, *done);
	for (size_t i = 0; i < *done; i++) {
		changes += m[i].nchanges;
		front_note(s, t->id, m[i].row, true);
	}
	front_count(s, COUNT_MORE_CHANGES, changes - *done);
	front_count(s, COUNT_MUTATIONS, *done);
	return front_end(s, r);
}

int table_mutate_try(struct table *t, struct mutation *m)
{
	struct store *s = t->store;
	int r;

	front_begin();
	r = may_mutate(s, m);
	if (r == 0)
		r = s->ops->mutate_try ? s->ops->mutate_try(t, m) : 1;
	return front_end(s, r);
}

int store_sync(struct store *s)
{
	uint64_t begin = watch_begin(s);
	int r;

	front_begin();
	r = s->read_only ? 0 : s->ops->sync(s);
	watch_end(s, CALL_SYNC, begin);
	front_count(s, COUNT_SYNCS, 1);
	return front_end(s, r);
}

int front_scan_open(struct table *t, const struct scan_spec *spec,
		    struct scan **out)
{
	struct scan *sc = NULL;
	int r = args_scan(spec);

	if (r == 0 && spec->has_as_of)
		r = front_can(t->store, CAN_SHOW_PAST);
	if (r == 0)
		r = front_covers(spec->snapshot, t);
	if (r == 0)
		r = t->store->ops->scan_open(t, spec, &sc);
	if (r < 0)
		return r;
	assert(sc);
	sc->store = t->store;
	sc->table = t->id;
	sc->cells = 0;
	sc->steps = 0;
	sc->failed = 0;
	sc->reason = NULL;
	*out = sc;
	return r;
}

int scan_open(struct table *t, const struct scan_spec *spec, struct scan **out)
{
	uint64_t begin = watch_begin(t->store);
	int r;

	front_begin();
	r = front_scan_open(t, spec, out);
	watch_end(t->store, CALL_SCAN_OPEN, begin);
	if (r == 0) {
		watch_table(t, 1, 0);
		front_count(t->store, COUNT_SCANS, 1);
	}
	return front_end(t->store, r);
}

/* As ops->scan_next(), with one call in some timed. */
static int step(struct scan *sc, struct cell *out, size_t n)
{
	struct store *s = sc->store;
	uint64_t begin;
	int r;

	if (!s->watch || sc->steps++ % WATCH_STEPS)
		return s->ops->scan_next(sc, out, n);
	begin = watch_begin(s);
	r = s->ops->scan_next(sc, out, n);
	watch_end(s, CALL_SCAN_NEXT, begin);
	return r;
}

/* Keeps an error and its sentence for the calls that follow. */
static int keep_failure(struct scan *sc, int r)
{
	sc->failed = front_end(sc->store, r);
	free(sc->reason);
	sc->reason = strdup(store_why());
	return r;
}

static int repeat_failure(const struct scan *sc)
{
	return sc->reason ? why(sc->failed, "%s", sc->reason) : sc->failed;
}

int scan_next_many(struct scan *sc, struct cell *out, size_t n)
{
	int r;

	front_begin();
	if (sc->failed < 0)
		return repeat_failure(sc);
	r = step(sc, out, n);
	if (r > 0) {
		sc->cells += (unsigned)r;
		front_note(sc->store, sc->table, out[0].row, false);
	} else if (r < 0) {
		keep_failure(sc, r);
	}
	return r;
}

int scan_next(struct scan *sc, struct cell *out)
{
	return scan_next_many(sc, out, 1);
}

int scan_pass(struct scan *sc)
{
	int r = sc->failed;

	if (r == -EUCLEAN && sc->store->ops->scan_pass)
		r = sc->store->ops->scan_pass(sc);
	if (r < 0 && r != sc->failed)
		return keep_failure(sc, r);
	/* The sentence stays that of the damage that is passed. */
	if (sc->failed < 0)
		repeat_failure(sc);
	sc->failed = r;
	return r;
}

void scan_close(struct scan *sc)
{
	struct store *s;
	uint64_t cells;

	if (!sc)
		return;
	s = sc->store;
	cells = sc->cells;
	free(sc->reason);
	s->ops->scan_close(sc);
	front_count(s, COUNT_SCAN_CELLS, cells);
}

static int get(struct table *t, struct bytes row, struct bytes family,
	       struct bytes qualifier, int64_t ts, bool exact,
	       const struct snapshot *snap, struct cell *cell, struct buf *hold)
{
	struct store *s = t->store;
	struct cell found; /* set if a cell is found */
	uint64_t begin = watch_begin(s);
	int r;

	front_begin();
	r = args_column(row, family, qualifier);
	if (r == 0 && (ts < 0 || ts > TS_MAX))
		r = args_ts(ts);
	if (r == 0)
		r = front_covers(snap, t);
	if (r == 0)
		r = s->ops->get(t, row, family, qualifier, ts, exact, snap,
				&found, hold);
	watch_end(s, CALL_GET, begin);
	watch_table(t, 1, 0);
	front_count(s, r > 0 ? COUNT_GETS_FOUND : COUNT_GETS_ABSENT, 1);
	if (r >= 0)
		front_note(s, t->id, row, false);
	if (r > 0) {
		found.row = row;
		found.family = family;
		found.qualifier = qualifier;
		if (cell)
			*cell = found;
	}
	return front_end(s, r);
}

int table_get(struct table *t, struct bytes row, struct bytes family,
	      struct bytes qualifier, int64_t ts_max,
	      const struct snapshot *snap, struct cell *cell, struct buf *hold)
{
	return get(t, row, family, qualifier, ts_max, false, snap, cell, hold);
}

int table_get_version(struct table *t, struct bytes row, struct bytes family,
		      struct bytes qualifier, int64_t ts,
		      const struct snapshot *snap, struct cell *cell,
		      struct buf *hold)
{
	return get(t, row, family, qualifier, ts, true, snap, cell, hold);
}

/* Is there anything in one row, of one family if that is not NULL? */
static int has_any(struct table *t, struct bytes row,
		   const struct bytes *family)
{
	struct column_name column = {.whole_family = true};
	struct scan_spec spec = {
		.granularity = SCAN_ROWS,
		.keys_only = true,
		.row_start = row,
		.row_stop = row,
		.row_stop_inclusive = true,
		.versions = 1,
		.limit_rows = 1,
	};
	struct scan *sc = NULL;
	struct cell cell;
	int r;

	front_begin();
	r = args_row(row);
	if (r == 0 && family) {
		column.family = *family;
		spec.columns = &column;
		spec.ncolumns = 1;
	}
	if (r < 0)
		return front_end(t->store, r);
	r = scan_open(t, &spec, &sc);
	if (r < 0)
		return r;
	r = scan_next(sc, &cell);
	scan_close(sc);
	return r;
}

int table_has_row(struct table *t, struct bytes row)
{
	return has_any(t, row, NULL);
}

int table_has_family(struct table *t, struct bytes row, struct bytes family)
{
	return has_any(t, row, &family);
}

/* A call that changes files, and no cell: of one table, or with NULL of all. */
static int care(struct store *s, struct table *t, enum store_call call,
		int (*op)(struct store *s, struct table *t))
{
	uint64_t begin = watch_begin(s);
	int r = front_begin_write(s);

	if (r == 0)
		r = front_owns(s, t);
	if (r == 0)
		r = op(s, t);
	watch_end(s, call, begin);
	return front_end(s, r);
}

int store_flush(struct store *s, struct table *t)
{
	return care(s, t, CALL_FLUSH, s->ops->flush);
}

int store_compact(struct store *s, struct table *t)
{
	return care(s, t, CALL_COMPACT, s->ops->compact);
}

int store_check_part(struct store *s, struct store_checking *at, uint64_t bytes,
		     void (*say)(void *arg, const char *sentence), void *arg)
{
	why_clear();
	if (!s->ops->check_part)
		return why(-EOPNOTSUPP, "this store has no files that could be "
					"checked from here");
	return s->ops->check_part(s, at, bytes, say, arg);
}

int store_stat(struct store *s, unsigned i, struct store_stat *out)
{
	/* Each figure is the sum of two counts, or one if both are the same. */
	static const struct {
		const char *name, *help;
		enum store_count a, b;
	} own[] = {
		{"mutations_total", "Mutations applied", COUNT_MUTATIONS,
		 COUNT_MUTATIONS},
		{"changes_total", "Changes in applied mutations",
		 COUNT_MUTATIONS, COUNT_MORE_CHANGES},
		{"checks_failed_total", "Mutations whose condition failed",
		 COUNT_CHECKS_FAILED, COUNT_CHECKS_FAILED},
		{"gets_total", "Single versions asked for", COUNT_GETS_FOUND,
		 COUNT_GETS_ABSENT},
		{"gets_found_total", "Single versions found", COUNT_GETS_FOUND,
		 COUNT_GETS_FOUND},
		{"scans_total", "Scans opened", COUNT_SCANS, COUNT_SCANS},
		{"scan_cells_total", "Results of closed scans",
		 COUNT_SCAN_CELLS, COUNT_SCAN_CELLS},
		{"syncs_total", "Syncs of the store asked for", COUNT_SYNCS,
		 COUNT_SYNCS},
		{"errors_total", "Calls that failed", COUNT_ERRORS,
		 COUNT_ERRORS},
	};
	const unsigned n = sizeof(own) / sizeof(own[0]);

	if (s->counts_elsewhere)
		return s->ops->stat(s, i, out);
	if (i >= n)
		return s->ops->stat(s, i - n, out);
	out->name = own[i].name;
	out->help = own[i].help;
	out->counter = true;
	out->value = store_counted(s, own[i].a);
	if (own[i].b != own[i].a)
		out->value += store_counted(s, own[i].b);
	return 1;
}

int store_space(struct store *s, struct store_space *out)
{
	int r;

	front_begin();
	r = front_can(s, CAN_TELL_SPACE);
	return front_end(s, r < 0 ? r : s->ops->space(s, out));
}

int store_keep(struct store *s, struct bytes name, struct bytes content)
{
	char text[NAME_MAX + 1];
	int r;

	front_begin();
	if (s->read_only)
		return front_end(s, why(-EROFS, "the store is open for reading "
						"only"));
	if (!name.len || name.len > NAME_MAX || name.data[0] == '.' ||
	    memchr(name.data, '/', name.len) ||
	    memchr(name.data, '\0', name.len))
		return front_end(s, why(-EINVAL, "no name for a file"));
	r = front_can(s, CAN_KEEP);
	if (r < 0)
		return front_end(s, r);
	memcpy(text, name.data, name.len);
	text[name.len] = '\0';
	return front_end(s, s->ops->keep(s, text, content));
}

int store_health(struct store *s)
{
	return s->ops->health(s);
}

bool store_is_shared(const struct store *s)
{
	return s->is_shared;
}

bool store_is_read_only(const struct store *s)
{
	return s->read_only;
}

int64_t store_now_ms(struct store *s)
{
	return s->ops->now_ms(s);
}
