/*
 * Masking: the delete markers that are in force at a point of a row.
 *
 * Cells of a row arrive in order: family markers, then column by column, newest
 * first, markers before the puts of their timestamp. Fed with them, this says
 * of a put which markers cover it and when (s: sequence):
 *
 *	DELETE_FAMILY	      70 s5  covers every column up to 70
 *	DELETE_FAMILY_VERSION 60 s2  covers 60 in every column
 *	q DELETE_COLUMN	      65 s9  covers q up to 65
 *	q DELETE	      60 s4  covers q at 60
 *	q PUT		      60 s3
 *
 * Wide markers (column, family) are known by the least and the greatest
 * sequence of those that reach down to the present timestamp; of one-version
 * markers those of the present timestamp are listed. What is listed is searched
 * and not walked: a version that is deleted and written again has a marker for
 * each time.
 *
 * Snapshots cut the sequences into stripes. Whoever sees a put of a stripe
 * through a snapshot sees all of the stripe and all of the stripes below it:
 *
 *	stripe	     0     |	 1     |  2
 *	sequence  1 2 3 4 5 | 6 7 8 9 10 | 11 12 ...
 *			   S=5	      S=10
 */
#ifndef CELLFS_STORE_LSM_RULES_MASKING_H
#define CELLFS_STORE_LSM_RULES_MASKING_H

#include "store/lsm/base/cursor.h"
#include "store/lsm/rules/timeline.h"

struct mark {
	int64_t ts;
	uint64_t seq;
};

struct mark_list {
	struct mark *at;
	size_t n, cap;
};

struct masking {
	const uint64_t *snapshots; /* ascending, borrowed */
	size_t nsnapshots;
	/*
	 * As they come: ts descending, then sequence descending. Of
	 * DELETE_FAMILY those that say something: without snapshots one that
	 * is older than another with a greater ts does not.
	 */
	struct mark_list family;	 /* DELETE_FAMILY */
	struct mark_list family_version; /* DELETE_FAMILY_VERSION */
	struct mark_list version;	 /* DELETE of the present ts */
	size_t family_at;		 /* those before it are in force */
	bool wide;			 /* some wide marker is in force */
	/* Of wide markers in force, by stripe; none: SEQ_NEVER and 0. */
	uint64_t *wide_min, *wide_max;
	uint64_t one_stripe[2]; /* their memory without snapshots */
};

/* 0 or -ENOMEM. */
int masking_init(struct masking *m, const uint64_t *snapshots,
		 size_t nsnapshots);
void masking_free(struct masking *m); /* safe on a zeroed one */

/* A new row: nothing is in force. A new column: family markers only. */
void masking_row(struct masking *m);
void masking_unwiden(struct masking *m);
static inline void masking_column(struct masking *m)
{
	m->version.n = 0;
	m->family_at = 0;
	if (m->wide)
		masking_unwiden(m);
}
/* The next marker in order. 0 or -ENOMEM. */
int masking_add(struct masking *m, const struct entry *marker);
/* Can any marker hide a cell of the present column? */
static inline bool masking_any(const struct masking *m)
{
	return m->wide || m->family.n || m->family_version.n || m->version.n;
}

/* The stripe of a sequence, and the last sequence that belongs to it. */
size_t masking_stripe(const struct masking *m, uint64_t seq);
uint64_t masking_stripe_end(const struct masking *m, size_t stripe);

/* Makes @ts the present timestamp, which the functions below refer to. */
void masking_reach(struct masking *m, int64_t ts);
/* Does a wide marker of @stripe come after sequence @seq? */
static inline bool masking_wide_after(const struct masking *m, size_t stripe,
				      uint64_t seq)
{
	return m->wide_max[stripe] > seq;
}
/* The first wide marker of the stripes above @stripe, or SEQ_NEVER. */
uint64_t masking_wide_above(const struct masking *m, size_t stripe);
/* The first one-version marker for @ts after @seq, or SEQ_NEVER. */
uint64_t masking_version_after(const struct masking *m, int64_t ts,
			       uint64_t seq);
/* The oldest marker, of any kind, that covers @ts, or SEQ_NEVER. */
uint64_t masking_oldest(const struct masking *m, int64_t ts);
/* The oldest wide marker that covers the present ts, or SEQ_NEVER. */
uint64_t masking_oldest_wide(const struct masking *m);

#endif
