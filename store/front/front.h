/*
 * What the wrappers of store.h share.
 *
 * Every fallible call begins with front_begin(), which forgets the last
 * sentence, and ends with front_end(), so that an error never leaves without a
 * sentence of its own and is counted, and a success leaves with none. Calls
 * that clean up (close, unref, release) do neither: they must not wipe the
 * sentence of the failure that led to them.
 */
#ifndef CELLFS_STORE_FRONT_FRONT_H
#define CELLFS_STORE_FRONT_FRONT_H

#include <errno.h>

#include "store/front/backend.h"
#include "store/front/heat.h"
#include "store/os/patience.h"

/* The calling thread's stripe: of its own below COUNT_STRIPES_OWN. */
static inline unsigned front_stripe(void)
{
	unsigned thread = thread_number();

	if (thread < COUNT_STRIPES_OWN)
		return thread;
	return COUNT_STRIPES_OWN + thread % (COUNT_STRIPES - COUNT_STRIPES_OWN);
}

/* Adds to a count in the stripe @stripe, the calling thread's. */
static inline void front_add(_Atomic uint64_t *at, unsigned stripe, uint64_t n)
{
	if (stripe < COUNT_STRIPES_OWN) {
		n += atomic_load_explicit(at, memory_order_relaxed);
		atomic_store_explicit(at, n, memory_order_relaxed);
		return;
	}
	atomic_fetch_add_explicit(at, n, memory_order_relaxed);
}

static inline void front_count(struct store *s, enum store_count c, uint64_t n)
{
	unsigned stripe = front_stripe();

	front_add(&s->counts[stripe].n[c], stripe, n);
}

/* Notes, if the store is watched, that a row is read or written. */
static inline void front_note(struct store *s, uint64_t table, struct bytes row,
			      bool write)
{
	unsigned every =
		atomic_load_explicit(&s->heat_every, memory_order_relaxed);

	if (every && (every == 1 || heat_left-- <= 1))
		heat_take(s, table, row, write);
}

static inline void front_begin(void)
{
	why_clear();
	patience_begin_call();
}

static inline int front_end(struct store *s, int r)
{
	if (r >= 0) {
		/* What failed on the way and was dealt with is no failure. */
		why_clear();
		return r;
	}
	front_count(s, COUNT_ERRORS, 1);
	if (!store_why()[0])
		why(r, "%s", strerror(-r));
	return r;
}

static inline int front_writable(const struct store *s)
{
	if (s->read_only)
		return why(-EPERM, "the store is open read-only: open it for "
				   "writing to change it");
	return 0;
}

/* front_begin(), and whether the store takes changes. */
static inline int front_begin_write(const struct store *s)
{
	front_begin();
	return front_writable(s);
}

/* front_begin(), and whether the store takes changes that hide cells. */
static inline int front_begin_delete(const struct store *s)
{
	int r = front_begin_write(s);

	return r < 0 ? r : store_may_delete(s);
}

/*
 * scan_open() of the front itself, which counts nowhere; the steps are those of
 * the backend.
 */
int front_scan_open(struct table *t, const struct scan_spec *spec,
		    struct scan **out);

/* Can the store do it? 0, or -EOPNOTSUPP with the words. */
static inline int front_can(const struct store *s, enum store_ability a)
{
	return store_can(s, a) ? 0
			       : why(-EOPNOTSUPP, "this store cannot %s",
				     store_ability(a));
}

/* May the table be read through the snapshot (NULL = now)? */
static inline int front_covers(const struct snapshot *snap,
			       const struct table *t)
{
	if (snap && snap->store != t->store)
		return why(-EINVAL, "the snapshot is of another store");
	if (snap && snap->table && snap->table != t->id)
		return why(-EINVAL, "the snapshot is of another table");
	return 0;
}

/* Is @t, which may be NULL, of @s? */
static inline int front_owns(const struct store *s, const struct table *t)
{
	if (t && t->store != s)
		return why(-EINVAL, "the table is of another store");
	return 0;
}

#endif
