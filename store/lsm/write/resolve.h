/*
 * Resolving: determines what a mutation will write, before anything is written.
 *
 * Checks are read, increments and appends computed, and each change gets its
 * sequence and timestamp: it becomes a pending entry of db->pending. Nothing
 * is changed yet, so a refused mutation leaves no trace.
 *
 * Under the commit lock; reads see what is published.
 */
#ifndef CELLFS_STORE_LSM_WRITE_RESOLVE_H
#define CELLFS_STORE_LSM_WRITE_RESOLVE_H

#include "store/lsm/state/trees.h"
#include "store/lsm/wal/record.h"
#include "store/value/given.h"

/* The most that is kept from one commit to the next. */
#define ENTRIES_KEPT_MAX (1u << 16)
#define RECORD_KEPT_BYTES_MAX (16u << 20)

/* A record that is being made. */
struct commit {
	struct lsm *db;
	struct lsm_table *table;
	struct table_state *st;
	int64_t now_ms;	 /* 0: not read yet */
	int64_t checked; /* the greatest timestamp whose value was checked */
	uint64_t seq;	 /* of the next change */
	size_t npending; /* of the whole record */
	bool at_row;	 /* its first row is the memtable's last */
	uint64_t near;	 /* otherwise its memtable_token() */
	struct bytes family; /* last family looked up, and its index */
	int family_at;
	struct buf *held; /* values that increments and appends made */
	size_t nheld;
	struct given given; /* of the mutation that is being resolved */
};

/* 1 = resolved and added to the pending entries, 0 = a check failed. */
int resolve_mutation(struct commit *c, struct mutation *m);
/* Frees the values that increments and appends made. */
void commit_release(struct commit *c);

#endif
