#include "store/lsm/write/note.h"

#include <assert.h>

#include "store/lsm/manifest/catalog_format.h"

int note_pay(struct lsm *db)
{
	struct bytes record = buf_bytes(&db->note);
	uint64_t lsn;
	int r = record.len ? wal_append(db->wal, &record, 1, &lsn) : 0;

	if (r < 0)
		return lsm_log_failed(db, r);
	/* Not before it is written: a break that is owed stays one. */
	db->note.len = 0;
	db->note_break = false;
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

void note_tables(struct lsm *db, enum note_what what)
{
	struct buf outline = {0};
	struct note note = {.time_ms = os_now_ms(db->os)};

	if (!db->keeps_log)
		return;
	db->note_break |= what == NOTE_BREAK;
	note.what = db->note_break ? NOTE_BREAK : NOTE_TABLES;
	if (catalog_outline(manifest_catalog(db->manifest), &outline) == 0)
		note.catalog = buf_bytes(&outline);
	if (!note.catalog.len || record_note(&db->note, &note) < 0) {
		/* A moment behind it cannot be had: there was memory for that. */
		note.what = NOTE_BREAK;
		note.catalog = (struct bytes){0};
		(void)record_note(&db->note, &note);
	}
	buf_free(&outline);
	(void)note_pay(db);
}
