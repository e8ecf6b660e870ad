/*
 * Changes of rows, by HBase's call Multi.
 *
 * One row with all its changes, at once or not at all and under a condition, or
 * many rows of one table, each of them atomic and under a condition of its own, to all
 * servers at once.
 */
#ifndef CELLFS_STORE_HBASE_CALLS_MULTI_H
#define CELLFS_STORE_HBASE_CALLS_MULTI_H

#include "store/hbase/calls/region_call.h"
#include "store/value/cell.h"

/* The changes of one row as Multi takes them. */
struct row_actions {
	struct bytes row;
	struct pb_action *actions;
	size_t n;
	struct buf cells; /* of all of them, in order */
	bool counts;	  /* an increment or append is among them */
	/* Of multi_rows(): what must hold of the row, or NULL; */
	const struct pb_condition *condition;
	unsigned tries; /* so often it was sent; */
	/* the greatest timestamp that a get has found, or -1, */
	int64_t newest;
	struct bytes of; /* of this column and of markers of its family. */
};

/*
 * Adds a change: those that follow each other and are of one type and ttl make
 * one action. The change's timestamp is one, or TS_CLOCK. 0 or -ENOMEM.
 */
int row_actions_add(struct row_actions *ra, const struct change *c);
/* Asks, in place of changes. What @get points to must last. 0 or -ENOMEM. */
int row_actions_get(struct row_actions *ra, const struct pb_get *get);
void row_actions_free(struct row_actions *ra);

struct row_result {
	struct attempt call;	/* to be ended: */
	struct proto_list sums; /* what they have become: of struct pb_cell */
	bool may_be_done; /* by a try that was not answered, whatever came of others */
};

/*
 * 1 = applied, 0 = the condition did not hold, or a negative errno. @condition
 * may be NULL. Increments and appends are applied once, however often they are
 * sent: HBase knows them by a nonce.
 */
int multi_row(struct cluster *c, struct bytes table, struct row_actions *ra,
	      const struct pb_condition *condition, uint32_t durability,
	      struct row_result *out);

/*
 * Applies the changes of @n rows, which differ from each other, and have no
 * increments or appends; or asks, also several times of one row. 0, or the errno of
 * the first that failed. done[i] says of each whether it was applied: with 0 it was
 * not where its condition did not hold.
 */
int multi_rows(struct cluster *c, struct bytes table, struct row_actions *ra,
	       size_t n, uint32_t durability, bool *done);

#endif
