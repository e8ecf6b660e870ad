/*
 * A scan's state, for scan_open.c, which makes and keeps it, strips.c and rows.c,
 * which most scans take, scan.c, which walks families with readers, and
 * scan_pick.c, which does so where a filter or limits in the families decide on
 * rows.
 */
#ifndef CELLFS_STORE_LSM_READ_SCAN_H
#define CELLFS_STORE_LSM_READ_SCAN_H

#include <stddef.h>

#include "store/filter/pick.h"
#include "store/lsm/read/reader.h"

/*
 * Rows that are taken from the block itself: from @row, the present one, up to
 * @end. Their keys are made in lsm_scan.row, one behind the other where a call
 * hands out cells of several.
 */
struct run {
	const struct block *block; /* NULL: none */
	uint32_t row, end;
	uint32_t cell, cell_end; /* of the row */
	size_t key_at;		 /* where the row's key begins */
	size_t stride;		 /* from a key to the next */
	bool part;		 /* of one row, which may go on */
	bool short_keys;	 /* SHORT is enough for what is copied */
	bool named;		 /* the qualifiers are in lsm_scan.names */
	/* Of the block that comes next, what has not been fetched yet. */
	const uint8_t *behind, *behind_end;
	/* Or rows of which no more than the keys is asked; rest 0: none. */
	struct index_rows keys;
};

/* Room for the keys that one call hands out, unless two of them need more. */
#define SCAN_KEYS_BYTES 3072

/*
 * A result of a list of rows. Field by field: a literal would be cleared by an
 * instruction that takes longer to begin than all of this.
 */
static inline void scan_put_row(struct cell *c, struct bytes row)
{
	c->row = row;
	c->family = c->qualifier = c->value = (struct bytes){0};
	c->ts = 0;
	c->seq = c->ttl_ms = 0;
	c->kind = 0;
}

/* Enough for the strips of a tree whose level 0 is full. */
#define SCAN_MEMORY 4352
#define STRIPS_MAX 12

/* So many qualifiers of a block at most are kept for a run. */
#define RUN_NAMES 64

struct strip;

/* A scan of strips (strips.h); these are in lsm_scan.memory. */
struct strips {
	bool on;
	bool one_row;
	bool ended;  /* nothing comes behind the run or the present row */
	bool opened; /* the reader of lsm_scan.one, over their cursors */
	bool walked; /* by that one: the present row */
	bool chosen; /* strips are marked that have the next row */
	bool alone;  /* one has it */
	bool hard;   /* some of them are */
	bool at_end; /* some strips are at the end of their blocks */
	bool in_row; /* of which cells are left */
	bool in_column;
	bool unsure; /* the last strip's filter has not been asked */
	/*
	 * One file may have the row, and will: its filter is not asked first.
	 */
	bool expected;
	uint32_t n;
	uint32_t family;
	uint64_t seq, row_hash;
	struct visible_spec visible;
	struct strip *best; /* one of those that are marked */
	/*
	 * The column, if in_column: so many versions of it may come behind @ts,
	 * which was handed out last.
	 */
	struct bytes qualifier;
	uint64_t head;
	int64_t ts;
	uint32_t left, steps;
};

struct family_scan {
	struct reader reader;
	struct tree *tree; /* the view's */
	uint32_t at;	   /* its place in the schema */
	const char *name;
	struct bytes name_bytes;
	struct reader_columns columns;
	bool restricted;
	struct bytes *names; /* of columns */
	bool at_row;	     /* stands on a row with something to show */
	bool fresh;	     /* not yet positioned */
	bool ended;
	bool lost; /* scan as of a moment: nothing of its row is certain */
};

struct lsm_scan {
	struct scan base;
	struct lsm *db;
	struct superversion *view; /* with the names and attributes */
	uint8_t granularity;
	bool reversed, keys_only, as_of;
	struct buf row_start, row_stop;
	bool start_exclusive, stop_inclusive, one_row;
	struct buf qual_start, qual_stop; /* owned copies of the bounds */
	struct buf qual_last; /* of the part that was handed out last */
	uint64_t limit_rows, rows;
	struct family_scan *families;
	uint32_t nfamilies;
	uint32_t current; /* family that gave the last cell; or nfamilies */
	bool in_row;
	bool may_run;  /* rows or cells of all of one family, forwards */
	bool may_part; /* ... cells, of one column perhaps */
	struct run run;
	struct strips strips;
	struct buf row;		/* the present row; within a run: its keys */
	struct family_scan one; /* families, if there is only one */
	bool picking;
	struct pick pick;
	_Alignas(max_align_t) uint8_t
		memory[SCAN_MEMORY]; /* strips, or the first family's cursors */
	struct merge_source sources[STRIPS_MAX]; /* of a reader over strips */
	struct bytes names[RUN_NAMES];		 /* of a run, by their ids */
};

static inline bool scan_of_one_row(const struct scan_spec *spec)
{
	return spec->row_start.len && !spec->row_start_exclusive &&
	       spec->row_stop_inclusive &&
	       bytes_eq(spec->row_start, spec->row_stop);
}

/* Over strips; false if that cannot be. The scan need not have been cleared. */
bool scan_strips_open(struct lsm_scan *sc, const struct scan_spec *spec,
		      uint64_t seq);

/* Leaves the present row, goes to the next one that shows something. */
int scan_next_row(struct lsm_scan *sc);
/* Does the family stand on the present row? */
bool scan_on_row(const struct lsm_scan *sc, struct family_scan *f);
/* The entry that the family stands on. */
void scan_fill(struct lsm_scan *sc, const struct family_scan *f,
	       struct cell *out);
/*
 * The reader stands on a row that is in bounds: begins a run with it if one
 * block has it and following rows alone, and all of them is visible.
 */
bool scan_run_begin(struct lsm_scan *sc, struct family_scan *f);
/* Keeps the block's qualifiers if that pays for @ncells cells. */
void scan_run_names(struct lsm_scan *sc, const struct block *b,
		    uint32_t ncells);
/*
 * The same with what one block has of the row, of one column if one is asked
 * for. 1; 0 if nothing of the row is shown, unless *known is false then.
 */
int scan_part_begin(struct lsm_scan *sc, struct family_scan *f, bool *known);
/* Up to @n results of a part, and of the next one; 0 at the row's end. */
int scan_part_next(struct lsm_scan *sc, struct cell *out, size_t n);
/* Makes @rows the run, which stands before the first of them. 0 or -ENOMEM. */
int scan_run_take(struct lsm_scan *sc, const struct block_rows *rows);
/*
 * The block behind it lies at @behind, or did, and is likely to be wanted: how
 * it begins is fetched meanwhile.
 */
void scan_run_fetch(struct lsm_scan *sc, const void *behind);
/* Cells of the present row of the run, up to @n. */
size_t scan_run_fill(struct lsm_scan *sc, struct cell *out, size_t n);
/* Up to @n results of the run; 0 and no run when it is at its end. */
int scan_run_next(struct lsm_scan *sc, struct cell *out, size_t n);
/*
 * The scan lists rows and its best strip alone stands on one: begins a run
 * behind it, before row @other unless that is NULL, if the index knows what
 * comes. scan_keys_next() is as scan_run_next().
 */
bool scan_keys_begin(struct lsm_scan *sc, const struct bytes *other);
int scan_keys_next(struct lsm_scan *sc, struct cell *out, size_t n);
/* lsm_scan_next() of a scan that picks. */
int scan_next_picked(struct lsm_scan *sc, struct cell *out);

#endif
