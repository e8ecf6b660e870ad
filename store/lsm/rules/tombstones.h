/*
 * The delete markers (tombstones) in force at a point of a row.
 *
 * Cells of a row arrive in order: family markers, then column by column, newest
 * first, markers before the puts of their timestamp. Given these in order, this
 * module says which markers cover a put, and since when (s: sequence):
 *
 *	DELETE_FAMILY	      70 s5  covers every column up to 70
 *	DELETE_FAMILY_VERSION 60 s2  covers 60 in every column
 *	q DELETE_COLUMN	      65 s9  covers q up to 65
 *	q DELETE	      60 s4  covers q at 60
 *	q PUT		      60 s3
 *
 * Of wide markers (column, family), only the least and the greatest sequence of
 * those that cover the present timestamp are kept; one-version markers of the
 * present timestamp are kept in a list. Lists are searched, not walked: a
 * version that is deleted and written again has a marker for each time.
 *
 * Snapshots cut the sequences into stripes. A snapshot that shows a put of a
 * stripe shows all of that stripe and of the stripes below it:
 *
 *	stripe	     0     |	 1     |  2
 *	sequence  1 2 3 4 5 | 6 7 8 9 10 | 11 12 ...
 *			   S=5	      S=10
 */
#ifndef CELLFS_STORE_LSM_RULES_TOMBSTONES_H
#define CELLFS_STORE_LSM_RULES_TOMBSTONES_H

#include "store/lsm/base/cursor.h"
#include "store/lsm/rules/version_count.h"

struct mark {
	int64_t ts;
	uint64_t seq;
};

struct mark_list {
	struct mark *at;
	size_t n, cap;
};

struct tombstones {
	const uint64_t *snapshots; /* ascending, borrowed */
	size_t nsnapshots;
	/*
	 * In order of arrival: ts descending, then sequence descending. Of the
	 * DELETE_FAMILY only those that can have an effect: without snapshots,
	 * a marker older than another one of a greater ts has none.
	 */
	struct mark_list family;	 /* DELETE_FAMILY */
	struct mark_list family_version; /* DELETE_FAMILY_VERSION */
	struct mark_list version;	 /* DELETE of the present ts */
	size_t family_at;		 /* earlier ones are in force */
	bool wide;			 /* some wide marker is in force */
	/* Of wide markers in force, by stripe; SEQ_NEVER and 0 if none. */
	uint64_t *wide_min, *wide_max;
	uint64_t one_stripe[2]; /* where they point without snapshots */
};

/* 0 or -ENOMEM. */
int tombstones_init(struct tombstones *m, const uint64_t *snapshots,
		    size_t nsnapshots);
void tombstones_free(struct tombstones *m); /* @m may be zeroed */

/* Begins a row without markers, or a column, where family markers remain. */
void tombstones_row(struct tombstones *m);
void tombstones_unwiden(struct tombstones *m);
static inline void tombstones_column(struct tombstones *m)
{
	m->version.n = 0;
	m->family_at = 0;
	if (m->wide)
		tombstones_unwiden(m);
}
/* Adds the next marker in order. 0 or -ENOMEM. */
int tombstones_add(struct tombstones *m, const struct entry *marker);
/* Can any marker hide a cell of the present column? */
static inline bool tombstones_any(const struct tombstones *m)
{
	return m->wide || m->family.n || m->family_version.n || m->version.n;
}

/* The stripe of a sequence, and the last sequence of a stripe. */
size_t tombstones_stripe(const struct tombstones *m, uint64_t seq);
uint64_t tombstones_stripe_end(const struct tombstones *m, size_t stripe);

/* Makes @ts the present timestamp, to which the functions below refer. */
void tombstones_reach(struct tombstones *m, int64_t ts);
/* Does @stripe have a wide marker in force with a sequence after @seq? */
static inline bool tombstones_wide_after(const struct tombstones *m,
					 size_t stripe, uint64_t seq)
{
	return m->wide_max[stripe] > seq;
}
/* The first wide marker in force of the stripes above @stripe, or SEQ_NEVER. */
uint64_t tombstones_wide_above(const struct tombstones *m, size_t stripe);
/* The first one-version marker for @ts after @seq, or SEQ_NEVER. */
uint64_t tombstones_version_after(const struct tombstones *m, int64_t ts,
				  uint64_t seq);
/* The oldest marker, of any kind, that covers @ts, or SEQ_NEVER. */
uint64_t tombstones_oldest(const struct tombstones *m, int64_t ts);
/* The oldest wide marker that covers the present ts, or SEQ_NEVER. */
uint64_t tombstones_oldest_wide(const struct tombstones *m);

#endif
