/*
 * Pins: sequences as of which the store is still read.
 *
 * A list by sequence, from which compaction takes its stripes. A reader's pin
 * lives until it is released, the pin of a named snapshot as long as the
 * catalog has its name; a reader of a named snapshot has its own pin, so that a
 * drop does not disturb it.
 *
 * A pin of one table does not affect other tables.
 */
#ifndef CELLFS_STORE_LSM_STATE_PINS_H
#define CELLFS_STORE_LSM_STATE_PINS_H

#include "store/lsm/state/lsm.h"

struct lsm_snapshot {
	struct snapshot base;
	uint64_t seq;
	bool named;			  /* of the catalog, not of a reader */
	struct lsm_snapshot *prev, *next; /* ascending; under state */
};

/*
 * Allocates a pin of a table, or of all (0), in no list. NULL and why without
 * memory.
 */
struct lsm_snapshot *pin_new(struct lsm *db, uint64_t table);
/* Adds it to the list at the present sequence. */
void pin_now(struct lsm *db, struct lsm_snapshot *snap);
/* Adds it to the list at its sequence. Under state, or while opening. */
void pin_link(struct lsm *db, struct lsm_snapshot *snap);
/* Removes it from the list. Under state. */
void pin_unlink(struct lsm *db, struct lsm_snapshot *snap);
/* Pins the catalog's snapshots, before anything may be dropped. */
int pins_load(struct lsm *db);
void pins_free(struct lsm *db);
/* The sequences of the table's snapshots, ascending; free() the list. */
int pins_collect(struct lsm *db, uint64_t table, uint64_t **out, size_t *n);
/*
 * The settings by which a reader as of @snap, or NULL, is shown the table's family:
 * of a named snapshot those of then, if they show less than the present ones. They
 * never show more, which catalog_shows_more() sees to, so that nothing of it is
 * compacted away. What others have found to be hidden holds for the present ones only
 * (alive.h): a reader by others neither uses it nor adds to it.
 */
const struct family_attrs *pin_attrs(const struct snapshot *snap,
				     uint64_t table,
				     const struct family_schema *now);
int lsm_snapshot_take(struct store *s, struct snapshot **out);
void lsm_snapshot_release(struct snapshot *snap);

#endif
