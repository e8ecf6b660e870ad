#include "store/lsm/state/full.h"

#define FILE_BYTES ((size_t)64 << 20)
#define LEVEL1_FILES 4
#define LEAST_BYTES ((size_t)256 << 10)
/* The disk is nearly full when fewer sstables than this still fit. */
#define TIGHT_FILES 4

void full_fit(struct lsm *db)
{
	const struct store_options *o = &db->options;
	size_t file = o->table_file_bytes;
	size_t unit = o->inline_background
			      ? FILE_BYTES
			      : wal_fit(db->dir, FILE_BYTES, LEAST_BYTES);
	size_t was = o->write_buffer_bytes;

	if (!file)
		file = unit;
	if (unit < FILE_BYTES && was > unit) {
		db->options.write_buffer_bytes = unit;
		arena_keep((ptrdiff_t)unit - (ptrdiff_t)was);
	}
	db->limits.level1_bytes = LEVEL1_FILES * file;
	db->limits.file_bytes = file;
	db->limits.rest_bytes = file / 4;
}

bool full_lend(struct lsm *db, int r, unsigned *loans)
{
	if (!os_is_full(r) || db->options.inline_background || !db->wal ||
	    wal_lend(db->wal) <= 0)
		return false;
	++*loans;
	return true;
}

void full_repay(struct lsm *db, unsigned *loans)
{
	if (*loans == 0)
		return;
	wal_repay(db->wal, *loans);
	*loans = 0;
	/* A lasting error is reported by the next append or tick. */
	(void)wal_prepare(db->wal);
}

uint64_t full_space(struct lsm *db)
{
	uint64_t total, left, usable;

	if (os_dir_space(db->dir, &total, &left, &usable) < 0)
		return UINT64_MAX;
	return usable + wal_lendable(db->wal);
}

bool full_nearly(struct lsm *db)
{
	uint64_t total, left, usable;

	if (wal_low(db->wal))
		return true;
	return os_dir_space(db->dir, &total, &left, &usable) == 0 &&
	       usable < TIGHT_FILES * db->limits.file_bytes;
}

void full_tell(struct lsm *db)
{
	bool full = wal_low(db->wal);

	if (full == db->full_told)
		return;
	db->full_told = full;
	if (db->options.news)
		db->options.news(db->options.news_arg,
				 full ? STORE_NEWS_FULL : STORE_NEWS_ROOM,
				 full ? "the disk is full: only deletes are "
					"taken"
				      : "the disk has room: puts are taken "
					"again");
}
