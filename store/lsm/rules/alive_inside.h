/*
 * Shared by alive.c, which watches rows, alive_column.c, which has the sets,
 * and alive_run.c, which has the runs. No other file includes it. alive.lock
 * guards all of it.
 */
#ifndef CELLFS_STORE_LSM_RULES_ALIVE_INSIDE_H
#define CELLFS_STORE_LSM_RULES_ALIVE_INSIDE_H

#include "store/lsm/rules/alive.h"

/* A change of a set, to be undone for readers of an earlier sequence. */
struct alive_undo {
	uint64_t seq;
	int64_t ts;
	bool was; /* the timestamp was in the set before */
};

/* A change made while a reader learns the set. */
struct alive_logged {
	uint64_t seq;
	int64_t ts;
	uint8_t kind;
};

struct alive_column {
	struct buf qualifier;
	bool known;	 /* the set is known */
	uint64_t token;	 /* of the reader that learns; 0: none */
	uint64_t walked; /* hidden entries, while it is not known */
	uint64_t walked_min;
	uint64_t since; /* readers of earlier sequences get no answer */
	uint32_t versions;
	struct ts_set set;
	struct alive_undo *undo; /* a ring: change i at i % undo_max */
	uint64_t nundo, undo_max;
	struct alive_logged *log;
	size_t nlog, log_cap;
};

/* Columns from @from up to @to (not included), or to the row's end. */
struct alive_run {
	struct buf from, to;
	bool open;
	uint64_t since;
};

struct alive_row {
	struct alive_row *next; /* in its slot */
	struct alive_row *newer, *older;
	uint32_t slot, tree;
	uint64_t schema;
	struct buf row;
	struct alive_column **columns; /* ordered by qualifier */
	size_t ncolumns, columns_cap;
	struct alive_run **runs; /* ordered by from; they do not overlap */
	size_t nruns, runs_cap;
	bool settled;	  /* put_seq is known */
	uint64_t put_seq; /* no put has a greater sequence */
	size_t bytes;
};

/* Finds a row of the same schema and marks it used; NULL: not watched. */
struct alive_row *alive_row_find(struct alive *a, const struct alive_place *p);
/* The same, but begins to watch the row; NULL without memory. */
struct alive_row *alive_row_watch(struct alive *a, const struct alive_place *p);
/* Notes that the row's memory changed from @was to @is bytes. */
void alive_row_weigh(struct alive *a, struct alive_row *r, size_t was,
		     size_t is);
/* Drops rows until the rest fits. */
void alive_trim(struct alive *a);

void alive_column_free(struct alive_column *c);
/* Applies change @e to the row's columns. */
void alive_columns_change(struct alive *a, struct alive_row *r,
			  const struct entry *e);

/* Drops all runs of the row. */
void alive_runs_forget(struct alive *a, struct alive_row *r);
/* Cuts the run that contains the column, since a put was written to it. */
void alive_runs_cut(struct alive *a, struct alive_row *r,
		    struct bytes qualifier);

#endif
