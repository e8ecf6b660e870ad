/*
 * What a backend of store.h must do.
 *
 * A vtable of plain functions. The wrappers of store.h have checked the
 * arguments (names, lengths, timestamps, known operators) and count;
 * a backend checks only what needs its own state. A backend's struct begins
 * with the matching struct below.
 *
 * lsm/ is the engine, remote/ a store that another process serves. The naive
 * reference of the model tests keeps this interface honest.
 */
#ifndef CELLFS_STORE_FRONT_BACKEND_H
#define CELLFS_STORE_FRONT_BACKEND_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/front/snapshot_tables.h"
#include "store/os/thread.h"
#include "store/hold.h"
#include "store/store.h"

/* A bit of store_ops.can. */
#define ABILITY(a) (1u << (a))
#define ABILITIES_ALL (ABILITY(STORE_ABILITIES) - 1)

struct store_ops {
	/*
	 * What store_can() says. The wrappers refuse the rest, and what a call
	 * needs that only serves it may be NULL.
	 */
	uint32_t can;
	int (*close)(struct store *s); /* frees @s always */
	/* Gives the caller a reference. */
	int (*table_open)(struct store *s, struct bytes name,
			  struct table **out);
	void (*table_free)(struct table *t); /* no reference is left */
	int (*table_schema)(struct table *t, struct schema *out);
	uint64_t (*table_schema_version)(const struct table *t);
	int (*table_name)(struct table *t, char *name);
	int (*table_create)(struct store *s, struct bytes name,
			    const struct schema *schema);
	int (*table_drop)(struct store *s, struct bytes name,
			  bool only_if_empty);
	int (*table_truncate)(struct store *s, struct bytes name);
	int (*table_rename)(struct store *s, struct bytes from,
			    struct bytes to);
	/* NULL, both: each table is in service. */
	int (*table_enable)(struct table *t, bool on);
	int (*table_is_enabled)(struct table *t);
	/*
	 * Calls alter_check_from() under the lock that keeps other changes of
	 * the schema out, and guard_family() for each family if no_delete is
	 * supported.
	 */
	int (*table_alter)(struct table *t, const struct alter *a);
	int (*table_next)(struct store *s, struct bytes after, char *name);
	/*
	 * Acts of several steps, NULL where the wrappers take the steps under
	 * the schema lock. A backend whose store others change too, in other
	 * processes, does them whole, and judges names of tables itself.
	 */
	int (*add_family)(struct table *t, struct bytes family);
	int (*namespace_create)(struct store *s, struct bytes name);
	int (*namespace_drop)(struct store *s, struct bytes name);
	int (*namespace_next)(struct store *s, struct bytes after, char *name);
	/* Estimates without reading; the wrapper counts small tables itself. */
	int (*table_info)(struct table *t, struct table_info *out);
	int (*mutate)(struct table *t, struct mutation *m, unsigned flags);
	int (*mutate_many)(struct table *t, struct mutation *m, size_t n,
			   unsigned flags, size_t *done);
	/* Checks as mutate() but changes nothing; NULL = cannot tell. */
	int (*mutate_try)(struct table *t, struct mutation *m);
	int (*sync)(struct store *s);
	int (*scan_open)(struct table *t, const struct scan_spec *spec,
			 struct scan **out);
	/* As scan_next_many(); giving one cell a call is enough. */
	int (*scan_next)(struct scan *sc, struct cell *out, size_t n);
	/* After scan_next() gave -EUCLEAN. NULL: no scan can go on. */
	int (*scan_pass)(struct scan *sc);
	void (*scan_close)(struct scan *sc);
	/*
	 * @exact: the version with ts == @ts, else the newest with ts <= @ts.
	 * The wrappers set the row, family and qualifier of *cell.
	 */
	int (*get)(struct table *t, struct bytes row, struct bytes family,
		   struct bytes qualifier, int64_t ts, bool exact,
		   const struct snapshot *snap, struct cell *cell,
		   struct buf *hold);
	int (*snapshot_take)(struct store *s, struct snapshot **out);
	void (*snapshot_release)(struct snapshot *snap);
	/* @t NULL = the whole store. The wrapper has checked the name. */
	int (*snapshot_create)(struct store *s, struct table *t,
			       struct bytes name);
	int (*snapshot_drop)(struct store *s, struct table *t,
			     struct bytes name);
	int (*snapshot_rename)(struct store *s, struct table *t,
			       struct bytes from, struct bytes to);
	int (*snapshot_next)(struct store *s, struct table *t,
			     struct bytes after, struct snapshot_info *out);
	/* Fills in the fields of struct snapshot for a named snapshot. */
	int (*snapshot_open)(struct store *s, struct table *t,
			     struct bytes name, struct snapshot **out);
	/*
	 * A table's schema in the snapshot. NULL: tables of struct snapshot
	 * have it.
	 */
	int (*snapshot_schema)(const struct snapshot *snap,
			       const struct table *t, struct schema *out);
	/*
	 * Clone makes a table @to from table @from of the snapshot; who copies
	 * for long calls namespace_enter() again behind that. Restore puts
	 * @from itself back to the snapshot. See store.h for both.
	 */
	int (*snapshot_clone)(struct snapshot *snap,
			      const struct snapshot_table *from,
			      struct bytes to);
	int (*snapshot_restore)(struct snapshot *snap,
				const struct snapshot_table *from);
	/* As table_open(), by the table's id. */
	int (*table_open_id)(struct store *s, uint64_t id, struct table **out);
	int (*flush)(struct store *s, struct table *t);
	int (*compact)(struct store *s, struct table *t);
	/* NULL: this store checks itself, or nobody can. */
	int (*check_part)(struct store *s, struct store_checking *at,
			  uint64_t bytes,
			  void (*say)(void *arg, const char *sentence),
			  void *arg);
	/* NULL: no files. The wrapper frees what struct hold owns, then releases. */
	int (*hold)(struct store *s, struct hold **out);
	void (*hold_release)(struct hold *h);
	int (*keep_log)(struct store *s, uint64_t bytes); /* NULL: no log */
	int (*stat)(struct store *s, unsigned i, struct store_stat *out);
	/*
	 * Appends what it has of shape.h but SHAPE_NOW, tables and calls; where
	 * counts_elsewhere all of it. NULL: files are not told.
	 */
	int (*shape)(struct store *s, struct buf *out);
	int (*space)(struct store *s, struct store_space *out);
	/* The wrapper has checked the name. */
	int (*keep)(struct store *s, const char *name, struct bytes content);
	int (*health)(struct store *s);
	/* Would it take a put? NULL: health is called. */
	int (*writable)(struct table *t);
	int64_t (*now_ms)(struct store *s);
};

/* What the wrappers count, for the first figures of store_stat(). */
enum store_count {
	COUNT_MUTATIONS,
	COUNT_MORE_CHANGES, /* all but a mutation's first */
	COUNT_CHECKS_FAILED,
	COUNT_GETS_FOUND,
	COUNT_GETS_ABSENT,
	COUNT_SCANS,
	COUNT_SCAN_CELLS,
	COUNT_SYNCS,
	COUNT_ERRORS,
	STORE_COUNTS
};

/*
 * The first COUNT_STRIPES_OWN threads have a stripe each, which no other thread
 * writes. Later threads share the remaining stripes.
 */
#define COUNT_STRIPES 16
#define COUNT_STRIPES_OWN 8
struct count_stripe {
	_Alignas(CACHE_LINE) _Atomic uint64_t n[STORE_COUNTS];
};

struct store_watch;
struct table_watch;

struct store {
	const struct store_ops *ops;
	struct heat *heat; /* set by store_heat(), or NULL */
	_Atomic unsigned
		heat_every; /* of how many calls one is noted; 0: none */
	uint32_t can;	    /* as ops->can, or less: what is served may not */
	bool read_only;
	bool no_delete; /* guard.h */
	bool is_shared; /* others change it too: store_is_shared() */
	/* ops->stat() gives all figures; counts[] has only a part of them. */
	bool counts_elsewhere;
	/*
	 * Makes looking at a schema or the namespaces and changing them atomic.
	 * The outermost lock.
	 */
	pthread_mutex_t schema_lock;
	struct store_watch *watch; /* watch.h; NULL: nobody watches */
	struct count_stripe counts[COUNT_STRIPES];
};

/* The sum of a count over all threads. */
static inline uint64_t store_counted(const struct store *s, enum store_count c)
{
	uint64_t n = 0;

	for (int i = 0; i < COUNT_STRIPES; i++)
		n += atomic_load_explicit(&s->counts[i].n[c],
					  memory_order_relaxed);
	return n;
}

struct table {
	struct store *store;
	/*
	 * A backend that finds tables by name holds a reference itself, or
	 * locks the step from the last reference to table_free().
	 */
	_Atomic uint32_t refs;
	uint64_t id;
	_Atomic(struct table_watch *) watch; /* watch.h */
};

/*
 * The wrappers fill it after scan_open(), and count in it. It holds no
 * reference to the table, a count that all threads would share: the backend
 * keeps what the scan reads.
 */
struct scan {
	struct store *store;
	uint64_t table;
	uint64_t cells;
	uint32_t steps;
	int failed;   /* the error that every later call returns */
	char *reason; /* its sentence, or NULL */
};

/*
 * The wrappers set the store after snapshot_take() and free the tables before
 * snapshot_release(). Only a named snapshot has the other fields set.
 */
struct snapshot {
	struct store *store;
	uint64_t table; /* id of the one table it covers; 0 = all */
	int64_t taken_ms;
	struct snapshot_tables tables;
};

/*
 * Zeroed memory for a structure that begins with a struct store, which needs a
 * stricter alignment than malloc() gives. free() it. NULL: no memory.
 */
void *store_alloc(size_t bytes);
/*
 * A backend calls it first for the store that its open function gives; what
 * it sets up store_close() takes down before ops->close(), which frees. One
 * that fails to open calls store_fini() itself.
 */
void store_init(struct store *s, const struct store_ops *ops, bool read_only);
void store_fini(struct store *s);
/* Initialises a table, with one reference. */
void table_init(struct table *t, struct store *s, uint64_t id);
/* Is @a made of this version of the schema, or of any? 0, or -EAGAIN. */
int alter_check_from(const struct alter *a, uint64_t version);

#endif
