/*
 * Notes in a log that is kept (record.h): when records were committed, and which
 * tables and snapshots there are from then on. A log that is not kept has none.
 */
#ifndef CELLFS_STORE_LSM_WRITE_NOTE_H
#define CELLFS_STORE_LSM_WRITE_NOTE_H

#include "store/lsm/state/lsm.h"
#include "store/lsm/wal/record.h"

/* 0 or -ENOMEM. */
int note_init(struct lsm *db);
/*
 * Begins db->record, with the time if the log is kept. A note that could not be
 * written is written first: it fails as wal_append() does. Under commit.
 */
int note_start(struct lsm *db, uint64_t first_seq);
/*
 * Notes the tables as the catalog has them, of which an edit has just become
 * durable. What has no space in the log now is owed. Under catalog and commit.
 */
void note_tables(struct lsm *db);
/* The same under catalog alone. */
void note_tables_now(struct lsm *db);
/*
 * Notes that the edit to come adds table files, which the log does not have. The
 * caller syncs the log before the edit: else a crash behind it would leave a log
 * that says nothing of them. 0, or as wal_append(). Under catalog and commit.
 */
int note_break(struct lsm *db);
/* Writes what is owed. 0, or as wal_append(). Under commit. */
int note_pay(struct lsm *db);

#endif
