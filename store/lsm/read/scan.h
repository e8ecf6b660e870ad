/*
 * The state of a scan, and of each family that it reads.
 *
 * A forward scan has strips in each family (strips.h). rows.c moves them to the
 * family's next row, row_cells.c hands out the cells of that row. A reversed
 * scan has a reader with cursors of its own (reader.h). The results of a scan
 * of one family come straight from rows.c; scan.c puts the rows of several
 * families together, and scan_pick.c asks a filter about each result of a row.
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
	bool short_keys;	 /* SHORT is enough for what is copied */
	bool named;		 /* the qualifiers are in lsm_scan.names */
	struct bytes family;
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

/* What a forward scan has of a family (strips.h). */
struct strips {
	struct strip *at;	      /* n of them */
	struct merge_source *sources; /* their cursors, for the reader */
	void *memory;		      /* of both; NULL: the scan's own */
	uint32_t n;
	bool ended;  /* nothing comes behind the run or the present row */
	bool chosen; /* strips are marked that have the next row */
	bool alone;  /* one has it */
	bool hard;   /* some of them are */
	bool at_end; /* some strips are at the end of their blocks */
	bool in_row; /* of which cells are left */
	bool walked; /* by the reader: the present row */
	bool first;  /* ... and its present entry is to be handed out */
	bool in_column;
	bool rests; /* some strips are: see struct strip */
	/*
	 * One file may have the row, and will: its filter is not asked first.
	 */
	bool expected;
	uint64_t row_hash;
	uint64_t dead;	     /* rows that were passed over */
	struct strip *best;  /* one of those that are marked */
	struct strip *lost;  /* one of them that is, or NULL */
	struct strip *found; /* stands on the cell to hand out next, or NULL */
	struct strip
		*part; /* all its cells before part_end are next; or NULL */
	uint32_t part_end;
	size_t name; /* the present one of the columns asked for */
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
	uint32_t at; /* its place in the schema */
	struct bytes name;
	struct visible_spec visible;
	struct family_attrs then; /* a snapshot's: it may go before the scan */
	struct reader_columns columns;
	bool restricted;     /* to these columns */
	struct bytes *names; /* of columns */
	bool walks;	     /* the reader walks each row */
	bool opened;	     /* the reader is */
	bool at_row;	     /* stands on a row with something to show, */
	bool damaged;	     /* or where what cannot be read begins */
	bool fresh;	     /* not yet positioned */
	bool ended;
	bool lost; /* scan as of a moment: nothing of its row is certain */
	struct strips strips;
	struct reader reader;
};

struct lsm_scan {
	struct scan base;
	struct lsm *db;
	struct superversion *view; /* with the names and attributes */
	uint64_t seq;
	int64_t now_ms; /* 0: who needs the time asks for it */
	uint8_t granularity;
	bool reversed, keys_only, as_of, picking;
	bool direct; /* forwards through one family, without a filter */
	bool start_exclusive, stop_inclusive, one_row;
	bool in_row;
	bool bounded;			  /* has bounds of qualifiers: */
	struct buf qual_start, qual_stop; /* owned copies */
	struct buf row_start, row_stop;	  /* empty where the row is one */
	struct buf qual_last; /* the column of a row that goes on elsewhere */
	uint64_t limit_rows, rows;
	struct family_scan *families;
	uint32_t nfamilies;
	uint32_t at;	  /* the place in the schema of who was asked last */
	uint32_t current; /* family that gives the next cell; or nfamilies */
	struct run run;
	struct buf row;		/* the present row; within a run: its keys */
	struct family_scan one; /* families, if there is only one */
	struct pick pick;	/* if picking */
	_Alignas(max_align_t) uint8_t
		memory[SCAN_MEMORY]; /* strips, or the first family's cursors */
	struct merge_source sources[STRIPS_MAX]; /* of these strips */
	struct bytes names[RUN_NAMES];		 /* of a run, by their ids */
};

/*
 * What the family's reader must know of the scan. What others have found holds for
 * the family's present attributes.
 */
static inline struct reader_spec scan_reader(const struct lsm_scan *sc,
					     const struct family_scan *f)
{
	return (struct reader_spec){
		.visible = f->visible,
		.os = sc->now_ms ? NULL : sc->db->os,
		.alive = f->visible.attrs == &f->then ? NULL : &sc->db->alive,
		.seq = sc->seq,
		.columns = f->restricted ? &f->columns : NULL,
	};
}

/* The present row's key, whose place may change with each row. */
static inline struct bytes scan_key(const struct lsm_scan *sc)
{
	return bytes_of(sc->row.data + sc->run.key_at, sc->row.len);
}

/* Leaves the present row, goes to the next one that shows something. */
int scan_next_row(struct lsm_scan *sc);
/* Moves sc->current to the next family that stands on the row: it, or NULL. */
struct family_scan *scan_current(struct lsm_scan *sc);
/* The entry that the family's reader stands on. */
void scan_fill(const struct lsm_scan *sc, const struct family_scan *f,
	       struct cell *out);
/*
 * As of a moment: a row or family is there if any column is of which that can
 * be told. The reader stands on a visible entry. 1 or negative.
 */
int scan_find_certain(const struct lsm_scan *sc, struct family_scan *f);
/* Keeps the block's qualifiers if that pays for @ncells cells. */
void scan_run_names(struct lsm_scan *sc, const struct block *b,
		    uint32_t ncells);
/* Makes @rows the run, which stands before the first of them. 0 or -ENOMEM. */
int scan_run_take(struct lsm_scan *sc, const struct family_scan *f,
		  const struct block_rows *rows);
/*
 * The block behind it lies at @behind, or did, and is likely to be wanted: how
 * it begins is fetched meanwhile.
 */
void scan_run_fetch(struct lsm_scan *sc, const void *behind);
/*
 * @n cells of the block from @cell on, of the scan's present row. Names are as
 * scan_run_names() left them.
 */
void scan_run_part(struct lsm_scan *sc, const struct family_scan *f,
		   const struct block *b, uint32_t cell, struct cell *out,
		   size_t n);
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
