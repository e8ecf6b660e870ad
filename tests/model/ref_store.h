/*
 * A store in memory that answers by the definition: the reference of the
 * model tests, behind the same vtable as the engine.
 *
 * A table keeps for each family its rows in an array by key, a row all changes
 * that were ever made to it (ref_row.h). A flush does nothing; a compaction
 * leaves what a major compaction must leave, unless a snapshot is alive.
 *
 * Threads: one mutex around everything when @threadsafe, else none.
 */
#ifndef CELLFS_TESTS_MODEL_REF_STORE_H
#define CELLFS_TESTS_MODEL_REF_STORE_H

#include "store/store.h"

/* @now: milliseconds since 1970; NULL = the clock of the machine. */
int ref_store_open(int64_t (*now)(void), bool threadsafe, struct store **out);

/*
 * The timestamps that another store gave to the changes of the next call of
 * table_mutate() or table_mutate_many(), in order. Where the reference may
 * choose (TS_AUTO), it takes one that is newer than all that is visible and
 * not newer than its own choice.
 */
#define REF_HINTS_MAX 64
void ref_store_hint(struct store *s, const int64_t *ts, size_t n);

/*
 * From now on a moment of the past is refused as one of a cluster of HBase is:
 * where families do not keep what was deleted, or a compaction may have taken a
 * version (store/hbase/backend/past.c).
 */
void ref_store_as_hbase(struct store *s);

/*
 * Faults that can be planted, to prove that a test sees them. Each is a bug
 * that an engine may have.
 */
enum ref_plant {
	PLANT_NONE,
	PLANT_LOST_CHANGE,     /* the third change of a mutation is lost */
	PLANT_LATE_MARKER,     /* a marker hides what is written after it */
	PLANT_VERSION_TOO_FEW, /* one version less than the family keeps */
	PLANT_VERSION_BACK,    /* what was pushed out comes back */
	PLANT_TTL_OFF_BY_ONE,  /* expired a millisecond early */
	PLANT_CHECK_IGNORED,   /* a failed check changes all the same */
	PLANT_REVERSED_BOUND,  /* a reversed scan forgets an exclusive start */
	PLANT_SNAPSHOT_MOVES,  /* a snapshot sees later changes */
	PLANT_TS_REPEATS,      /* TS_AUTO gives a taken timestamp again */
	PLANT_HALF_MUTATION,   /* a refused mutation leaves its first change */
	PLANT_COMPACT_EATS,    /* a compaction drops a live version */
	PLANT_RANGE_END,       /* the end of a time range is included */
	PLANT_FILTER_KEEPS_COUNT, /* a filter's count goes on in the next row */
	PLANT_FILTER_SKIPS_NONE,  /* SKIP leaves the row */
	PLANT_FILTER_SEES_LESS,	  /* versions are counted before the filter */
	PLANT_LIMIT_NO_OFFSET,	  /* the first ones of a family are shown */
	PLANT_FAMILY_RANGE,	  /* a family's own time range is forgotten */
	PLANT_PAST_MARKER,	  /* a later marker hides in the past */
	PLANT_KEEP_DELETED,	  /* what was deleted is not kept */
	PLANT_TRUNCATE_FAMILY,	  /* a family survives the truncation */
	PLANT_MAX
};
void ref_store_plant(struct store *s, enum ref_plant what);
const char *ref_plant_name(enum ref_plant what);

#endif
