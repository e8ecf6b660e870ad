#include "store/lsm/write/note.h"

#include <errno.h>

#include "store/lsm/manifest/catalog_format.h"

/* More than a note without a catalog has. */
#define NOTE_BYTES 64

int note_init(struct lsm *db)
{
	return buf_reserve(&db->note, NOTE_BYTES) < 0
		       ? why(-ENOMEM, "out of memory")
		       : 0;
}

int note_pay(struct lsm *db)
{
	struct bytes record = buf_bytes(&db->note);
	uint64_t lsn;
	int r = record.len ? wal_append(db->wal, &record, 1, &lsn) : 0;

	if (r < 0)
		return lsm_log_failed(db, r);
	db->note.len = 0;
	return 0;
}

int note_start(struct lsm *db, uint64_t first_seq)
{
	int r;

	if (!db->keeps_log)
		return record_start(&db->record, first_seq);
	r = note_pay(db);
	return r < 0 ? r
		     : record_start_at(&db->record, os_now_ms(db->os),
				       first_seq);
}

/* There was memory for this when the store was opened. */
static void owe_break(struct lsm *db)
{
	const struct note note = {os_now_ms(db->os), NOTE_BREAK, {0}};

	(void)record_note(&db->note, &note);
}

int note_break(struct lsm *db)
{
	int r = db->keeps_log ? note_pay(db) : 0;

	if (r < 0 || !db->keeps_log)
		return r;
	owe_break(db);
	r = note_pay(db);
	/* What it would have told of is not done. */
	db->note.len = 0;
	return r;
}

void note_tables(struct lsm *db)
{
	struct note note = {os_now_ms(db->os), NOTE_TABLES, {0}};
	struct buf outline = {0};

	if (!db->keeps_log)
		return;
	if (catalog_outline(manifest_catalog(db->manifest), &outline) == 0)
		note.catalog = buf_bytes(&outline);
	/* Without it, a moment from now on cannot be had. */
	if (!note.catalog.len || record_note(&db->note, &note) < 0)
		owe_break(db);
	buf_free(&outline);
	(void)note_pay(db);
}

void note_tables_now(struct lsm *db)
{
	pthread_mutex_lock(&db->commit);
	note_tables(db);
	pthread_mutex_unlock(&db->commit);
}
