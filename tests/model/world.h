/*
 * A store under test with what a run holds of it: tables, snapshots.
 *
 * world_apply() takes one step and writes down, as text, everything that the
 * store answered. Two worlds that got the same steps must have written the
 * same text.
 */
#ifndef CELLFS_TESTS_MODEL_WORLD_H
#define CELLFS_TESTS_MODEL_WORLD_H

#include "tests/model/step.h"

struct world {
	struct store *store;
	struct table *tables[STEP_TABLES];
	struct snapshot *snapshots[STEP_SNAPSHOTS];
	struct scan *held;
	uint8_t held_granularity;
	bool held_keys_only;
	bool classic;
	bool narrow;   /* log segments of less than a write buffer */
	bool tiny;     /* it flushes and compacts by itself */
	bool threads;  /* in threads of its own */
	uint8_t keep;  /* keep_deleted of the first family */
	bool many;     /* no version is pushed out */
	bool pristine; /* nothing was flushed: raw scans see all */
	int64_t now;
	int result; /* of the last step, where it may be refused */
	/* Timestamps that the last mutation was given, -1 = none. */
	int64_t given[STEP_ROWS * STEP_CHANGES];
	size_t ngiven;
	/*
	 * Closes the store, or with @die only lets go of it, and opens it
	 * again. NULL = it has nothing to close.
	 */
	int (*reopen)(struct world *w, bool die);
	/* Tells the store's clock. NULL = it looks at world_now. */
	void (*set_now)(struct world *w, int64_t now);
	struct os *os;	      /* of the engine */
	struct store *behind; /* the engine, if ->store is a client of it */
	int (*reopen_behind)(struct world *w, bool die);
	struct os *disk;     /* the simulation behind it */
	const char *cluster; /* of HBase, where others have tables too */
};

/* The clock of reference stores. */
extern int64_t world_now;
int64_t world_clock(void);

#define WORLD_START_MS 1000

/* Makes the tables, on a new and empty store. 0 or a negative errno. */
int world_begin(struct world *w);
/* Makes one of them. */
int world_make_table(struct world *w, unsigned table);
/* Moves the clock of the world and of its store. */
void world_set_now(struct world *w, int64_t now);
/* Opens the handles of tables that exist under either of their names. */
int world_attach(struct world *w);
/* Gives back tables and snapshots, not the store. */
void world_detach(struct world *w);
/* Applies the step and appends the answer. */
void world_apply(struct world *w, const struct step *s, struct buf *answer);
/*
 * The first half of STEP_NAMED_CLONE: the other table goes, unless it is not
 * there or has snapshots.
 */
int world_make_room(struct world *w, const struct step *s);
/* All that the store holds: tables, schemas, cells in several ways. */
void world_dump(struct world *w, struct buf *answer);
/* Only what a crash must keep: schemas and visible cells, read once. */
void world_content(struct world *w, struct buf *answer);

#endif
