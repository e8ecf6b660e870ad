/*
 * What alive.c, which watches rows, alive_column.c, which has the sets, and
 * alive_run.c, which has the runs, share. Nobody else includes it. All of it is
 * under alive.lock.
 */
#ifndef CELLFS_STORE_LSM_RULES_ALIVE_INSIDE_H
#define CELLFS_STORE_LSM_RULES_ALIVE_INSIDE_H

#include "store/lsm/rules/alive.h"

/* A change of a set that is undone for those who read as of before. */
struct alive_undo {
	uint64_t seq;
	int64_t ts;
	bool was; /* there, before */
};

/* A change that comes while somebody learns. */
struct alive_logged {
	uint64_t seq;
	int64_t ts;
	uint8_t kind;
};

struct alive_column {
	struct buf qualifier;
	bool known;	 /* the set is */
	uint64_t token;	 /* of who learns; 0: nobody does */
	uint64_t walked; /* in vain, while it is not known */
	uint64_t walked_min;
	uint64_t since; /* readers of before are told nothing */
	uint32_t versions;
	struct ts_set set;
	struct alive_undo *undo; /* a ring: change i at i % undo_max */
	uint64_t nundo, undo_max;
	struct alive_logged *log;
	size_t nlog, log_cap;
};

/* Columns from @from on, before @to, or to the row's end. */
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
	struct alive_column **columns; /* by qualifier */
	size_t ncolumns, columns_cap;
	struct alive_run **runs; /* by from; they do not overlap */
	size_t nruns, runs_cap;
	bool settled;	  /* put_seq is known */
	uint64_t put_seq; /* no put is later */
	size_t bytes;
};

/* The row, used now, if it is of the same schema; NULL = it is not watched. */
struct alive_row *alive_row_find(struct alive *a, const struct alive_place *p);
/* The same, watched from now on; NULL = out of memory. */
struct alive_row *alive_row_watch(struct alive *a, const struct alive_place *p);
/* What the row takes has changed from @was bytes to @is. */
void alive_row_weigh(struct alive *a, struct alive_row *r, size_t was,
		     size_t is);
/* Lets rows go until the rest fits. */
void alive_trim(struct alive *a);

void alive_column_free(struct alive_column *c);
/* The row has changed by @e. */
void alive_columns_change(struct alive *a, struct alive_row *r,
			  const struct entry *e);

/* All of the row's. */
void alive_runs_forget(struct alive *a, struct alive_row *r);
/* Something was put to the column. */
void alive_runs_cut(struct alive *a, struct alive_row *r,
		    struct bytes qualifier);

/* Room for one more pointer in a growing array. 0 or -ENOMEM. */
int alive_reserve(void ***array, size_t *cap, size_t n);

#endif
