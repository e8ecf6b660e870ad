/*
 * Alive: what is left of columns and rows of which much is hidden.
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
 * Each is as of a sequence. Writers keep it true (alive_change()): a put or a
 * marker changes the set as visibility.h says, and a put cuts a run in two. The
 * last few changes are kept. For a reader of an earlier sequence those behind
 * it are undone; a reader from before all of them is told nothing, and walks. A
 * run holds for every later reader: what is hidden does not come back by
 * itself.
 *
 * A set is kept only where markers hide what was written before them
 * (new_version_behavior). Sets and runs are kept where no reader looks behind
 * markers (keep_deleted no), and until the schema changes. A single put with a
 * ttl of its own leaves its column without a set.
 *
 * Memory is bounded; the row that was used longest ago goes first. All of it is
 * under one lock, which a reader takes only after it has walked over some
 * entries in vain. Nothing here outlives the store's being open.
 *
 * A writer and a reader that begins to watch a row do not wait for each other:
 *
 *	writer				watcher
 *	committing = true		filter[row]++
 *	filter[row]? then take note	committing? then not now
 *	publish its sequence		seq = what is published
 *	committing = false
 *
 * One of the two sees the other: what the writer does not take note of is
 * published before the watcher looks.
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
	const _Atomic uint64_t *seq; /* what is published */
	size_t bytes_max;
	uint64_t patience; /* the readers'; the greater, the more is kept */
	_Atomic uint64_t walked; /* entries, in vain, by readers */
	_Atomic bool committing;
	_Atomic uint32_t nrows;
	_Atomic uint32_t filter[ALIVE_SLOTS]; /* rows, by their hash */
	pthread_mutex_t lock;
	/* Under lock: */
	struct alive_row *slots[ALIVE_SLOTS];
	struct alive_row *newest, *oldest; /* by use */
	size_t bytes;
	uint64_t tokens; /* given to readers that learn */
};

/* @seq lasts as long. @patience 0 = PATIENCE. 0 or an error. */
int alive_init(struct alive *a, const _Atomic uint64_t *seq, size_t bytes_max,
	       unsigned patience);
void alive_free(struct alive *a); /* safe on a zeroed one */

/* A row of a tree, as of a version of the table's schema. */
struct alive_place {
	uint32_t tree;
	uint64_t schema;
	struct bytes row;
};

/* Between the two lie the entries' way into the memtable and publication. */
static inline void alive_begin(struct alive *a)
{
	atomic_store(&a->committing, true);
}
static inline void alive_end(struct alive *a)
{
	atomic_store_explicit(&a->committing, false, memory_order_release);
}
/* Is there anybody to be told? After alive_begin(). */
static inline bool alive_watches(struct alive *a)
{
	return atomic_load(&a->nrows);
}
/* @e is written. Those of a row come in the order of their sequences. */
void alive_change(struct alive *a, const struct alive_place *p,
		  const struct entry *e);

/*
 * As of @seq: the timestamps alive of a column at @ts and below, newest first,
 * up to @n into @out. How many, fewer than @n at the end; -1: not known.
 * *above, unless it is NULL: how many there are above @ts.
 */
int alive_versions(struct alive *a, const struct alive_place *p,
		   struct bytes qualifier, uint64_t seq, int64_t ts,
		   int64_t *out, size_t n, uint64_t *above);
/*
 * As of @seq: is the column in a run of columns that show nothing? 1, and *to
 * is the first column behind the run; 0: it goes on to the row's end; -1: not
 * known.
 */
int alive_hidden(struct alive *a, const struct alive_place *p,
		 struct bytes qualifier, uint64_t seq, struct buf *to);
/*
 * A reader that walked over @walked entries found as of @seq that the columns
 * from @from on, before @to (NULL: all), show nothing.
 */
void alive_found_hidden(struct alive *a, const struct alive_place *p,
			struct bytes from, const struct bytes *to, uint64_t seq,
			uint64_t walked);

/*
 * A read has walked over @walked entries of the column in vain. Has that become
 * worth a walk over all of it? Then the caller walks as of *seq, over at most
 * *max entries, and hands *token to alive_learnt().
 */
bool alive_learn(struct alive *a, const struct alive_place *p,
		 struct bytes qualifier, uint64_t walked, uint64_t *token,
		 uint64_t *seq, uint64_t *max);
/*
 * What the walk found after @walked entries: @n timestamps that descend, of a
 * family that keeps @versions. Unless @known, it could not be finished.
 */
void alive_learnt(struct alive *a, const struct alive_place *p,
		  struct bytes qualifier, uint64_t token, uint32_t versions,
		  const int64_t *descending, size_t n, bool known,
		  uint64_t walked);

#endif
