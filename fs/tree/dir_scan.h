/*
 * What the store has of a directory, one entry ahead.
 *
 *	ROOT	tables			store_table_next()
 *	TABLE	rows			SCAN_ROWS
 *	ROW	families of the row	SCAN_FAMILIES
 *	FAMILY	columns			SCAN_COLUMNS, keys only
 *	COLUMN	versions, newest first	SCAN_CELLS, keys only
 *
 * The scan is opened when the first entry is asked for and sees the store as of
 * then; it is closed as soon as its end was reached. Given back before, it is
 * opened again behind the position that the caller comes to.
 *
 * The listing that owns it guards it.
 */
#ifndef CELLFS_FS_TREE_DIR_SCAN_H
#define CELLFS_FS_TREE_DIR_SCAN_H

#include "fs/tree/place.h"

struct view_scan;

/* How far the caller has come: the last entry that it has taken. */
struct dir_position {
	bool begun;   /* false: none yet */
	bool overlay; /* it came from memory */
	uint8_t rank; /* enum overlay_rank */
	int64_t ts;
	uint8_t kind; /* of the cell */
	struct buf key;
};

struct dir_scan {
	struct fs *fs;
	const struct place *dir; /* borrowed */
	uint8_t level;		 /* of dir: place_level() */
	bool finished;		 /* the store has no more */
	char *damage;		 /* why entries may be missing, or NULL */
	struct view_scan *scan;
	uint64_t seen;	       /* changes.h: when it was opened */
	struct snapshot *snap; /* whose tables are listed */

	/* The next entry, fetched and not taken yet. */
	bool have;
	struct bytes key; /* in the scan's memory or in table */
	struct cell cell;
	char table[TABLE_NAME_LEN_MAX + 1];
};
_Static_assert(TABLE_NAME_LEN_MAX >= SNAPSHOT_NAME_MAX, "holds both");

/*
 * Fetches the entry after @last if none is fetched; s->have: there is one. 0 or
 * an error.
 */
int dir_scan_fetch(struct dir_scan *s, const struct dir_position *last);
/*
 * There is no entry: because there are no more (0), or because some could not be
 * read (-EUCLEAN), which is told last, so that the others can be listed.
 */
int dir_scan_damage(const struct dir_scan *s);
/* Closes the scan, which is opened again at the next fetch. */
void dir_scan_rest(struct dir_scan *s);
/* The same; the next fetch may be behind any entry. What is damaged before is told. */
void dir_scan_go(struct dir_scan *s);
/* The same; the next fetch is of the first entry. */
void dir_scan_restart(struct dir_scan *s);
void dir_scan_end(struct dir_scan *s);

#endif
