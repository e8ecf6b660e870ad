/*
 * Alive: which versions are left in columns and rows of which much is hidden.
 *
 * What is deleted, replaced or pushed out stays in its file until a merge drops
 * it, and whether a version is visible depends on what was written above it in
 * its column (visibility.h). A reader that had to walk over many entries to
 * find that out keeps the result here for later readers:
 *
 *	a column	the set of timestamps that are alive
 *	a row		runs of columns, from one up to another, of which none
 *			has anything to show
 *
 *	row r   │ a · b · c · d · e · f PUT │ g · h · i PUT │ j ·
 *	runs	  └──────────────┘	      └──┘	      └──┘
 *
 * Each is as of a sequence. Writers keep it up to date (alive_change()): a put
 * or a marker changes the set as visibility.h says, and a put cuts a run in
 * two. The last few changes are kept. For a reader of an earlier sequence,
 * later changes are undone; a reader of a sequence before all kept changes gets
 * no answer, and walks. A run holds for every later reader: hidden cells do not
 * become visible by themselves.
 *
 * A set is kept only where markers hide what was written before them
 * (new_version_behavior). Sets and runs are kept where no reader sees deleted
 * cells (keep_deleted no), and until the schema changes. A single put with a
 * ttl of its own leaves its column without a set.
 *
 * Memory is bounded; the least recently used row is dropped first. One lock
 * guards everything; a reader takes it only after it has walked over some
 * hidden entries, or a few of a row that may be watched. Nothing here is stored on disk.
 *
 * A writer and a reader that begins to watch a row do not wait for each other:
 *
 *	writer				watcher
 *	committing = true		filter[row]++
 *	filter[row]? then take note	committing? then not now
 *	publish its sequence		seq = what is published
 *	committing = false
 *
 * One of the two sees the other: a change that the writer does not note here is
 * published before the watcher reads seq.
 */
#ifndef CELLFS_STORE_LSM_RULES_ALIVE_H
#define CELLFS_STORE_LSM_RULES_ALIVE_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/lsm/base/cursor.h"
#include "store/lsm/base/ts_set.h"
#include "store/lsm/rules/visibility.h"

#define ALIVE_SLOTS 1024u
/* Enough for some hundred thousand versions in a store with a small cache. */
#define ALIVE_BYTES_MIN ((size_t)16 << 20)

struct alive_row;

struct alive {
	const _Atomic uint64_t *seq; /* the published sequence */
	size_t bytes_max;
	uint64_t patience;	 /* entries a reader walks before asking */
	_Atomic uint64_t walked; /* hidden entries that readers walked over */
	_Atomic bool committing;
	_Atomic uint32_t nrows;
	_Atomic uint32_t filter[ALIVE_SLOTS]; /* rows of each slot */
	pthread_mutex_t lock;
	/* Under lock: */
	struct alive_row *slots[ALIVE_SLOTS];
	struct alive_row *newest, *oldest; /* by last use */
	size_t bytes;
	uint64_t tokens; /* tokens given to readers that learn */
};

/* @seq must outlive @a. @patience 0 = PATIENCE. 0 or an error. */
int alive_init(struct alive *a, const _Atomic uint64_t *seq, size_t bytes_max,
	       unsigned patience);
void alive_free(struct alive *a); /* @a may be zeroed */

/* A row of a tree, as of a version of the table's schema. */
struct alive_place {
	uint32_t tree;
	uint64_t schema;
	struct bytes row;
};

/* May anything of the row be known? Takes no lock. */
bool alive_may_know(const struct alive *a, uint32_t tree, struct bytes row);

/* A writer calls these before it inserts entries, and after publishing them. */
static inline void alive_begin(struct alive *a)
{
	atomic_store(&a->committing, true);
}
static inline void alive_end(struct alive *a)
{
	atomic_store_explicit(&a->committing, false, memory_order_release);
}
/*
 * Is any row watched? A writer calls it after alive_begin(); to a reader it is what held
 * a moment ago.
 */
static inline bool alive_watches(const struct alive *a)
{
	return atomic_load(&a->nrows);
}
/* Notes that @e is written. A row's changes are noted in sequence order. */
void alive_change(struct alive *a, const struct alive_place *p,
		  const struct entry *e);

/*
 * As of @seq: writes up to @n alive timestamps of a column, from @ts downwards,
 * to @out. Returns how many, fewer than @n only at the column's end; -1 if not
 * known. *above, unless NULL, is the number of those above @ts.
 */
int alive_versions(struct alive *a, const struct alive_place *p,
		   struct bytes qualifier, uint64_t seq, int64_t ts,
		   int64_t *out, size_t n, uint64_t *above);
/*
 * As of @seq: is the column in a run of columns that show nothing? 1: *to is
 * the first column after the run; 0: the run extends to the row's end; -1: not
 * known.
 */
int alive_hidden(struct alive *a, const struct alive_place *p,
		 struct bytes qualifier, uint64_t seq, struct buf *to);
/*
 * A reader that walked over @walked entries reports that, as of @seq, the
 * columns from @from up to @to (not included; NULL: all) show nothing.
 */
void alive_found_hidden(struct alive *a, const struct alive_place *p,
			struct bytes from, const struct bytes *to, uint64_t seq,
			uint64_t walked);

/* The three above as visibility asks for them, about one tree as of @seq. */
struct alive_guide {
	struct visible_guide base;
	struct alive *alive;
	uint32_t tree;
	uint64_t schema, seq;
};

/* @alive may be NULL; then the guide must not be asked. */
void alive_guide(struct alive_guide *g, struct alive *alive, uint32_t tree,
		 uint64_t schema, uint64_t seq);

/*
 * Notes that a read walked over @walked hidden entries of the column. True if
 * the column is now worth a walk over all of it: the caller then walks as of
 * *seq over at most *max entries, and passes *token to alive_learnt().
 */
bool alive_learn(struct alive *a, const struct alive_place *p,
		 struct bytes qualifier, uint64_t walked, uint64_t *token,
		 uint64_t *seq, uint64_t *max);
/*
 * Reports the walk's result after @walked entries: @n descending timestamps, of
 * a family that keeps @versions. Without @known the walk was not finished.
 */
void alive_learnt(struct alive *a, const struct alive_place *p,
		  struct bytes qualifier, uint64_t token, uint32_t versions,
		  const int64_t *descending, size_t n, bool known,
		  uint64_t walked);

#endif
