/*
 * Pins: sequences up to which somebody still looks.
 *
 * A list by sequence, from which compaction takes its stripes. A reader's pin
 * lives until it is released, the pin of a named snapshot as long as the name
 * stands in the catalog; so a reader of a named one has a pin of its own, and a
 * drop does not disturb it.
 *
 * A pin of one table holds back nothing of others.
 */
#ifndef CELLFS_STORE_LSM_STATE_PINS_H
#define CELLFS_STORE_LSM_STATE_PINS_H

#include "store/lsm/state/lsm.h"

struct lsm_snapshot {
	struct snapshot base;
	uint64_t seq;
	bool named;			  /* the catalog's, not a reader's */
	struct lsm_snapshot *prev, *next; /* ascending; under state */
};

/* Of a table, or of all (0); in no list yet. NULL, in words: no memory. */
struct lsm_snapshot *pin_new(struct lsm *db, uint64_t table);
/* Lists it at the present. */
void pin_now(struct lsm *db, struct lsm_snapshot *snap);
/* Lists it at its sequence. Under state, or while opening. */
void pin_link(struct lsm *db, struct lsm_snapshot *snap);
/* Takes it out of the list. Under state. */
void pin_unlink(struct lsm *db, struct lsm_snapshot *snap);
/* Pins what the catalog names; before anything may be dropped. */
int pins_load(struct lsm *db);
void pins_free(struct lsm *db);
/* Sequences that the table's snapshots see, ascending; free() it. */
int pins_collect(struct lsm *db, uint64_t table, uint64_t **out, size_t *n);
int lsm_snapshot_take(struct store *s, struct snapshot **out);
void lsm_snapshot_release(struct snapshot *snap);

#endif
