/*
 * What can still be read of a table file, block by block.
 *
 * Each block has its own checksum, which file and offset go into, and says
 * itself which rows it holds. So where footer and index are whole they name the
 * blocks; else the blocks are looked for: one begins where the last ended, and
 * behind damage wherever the checksum of a trailer says so.
 *
 *	block | block | ///damage/// | block | index | filter | footer
 *	  a..c    c..f	   (f..m)	m..z
 *
 * The cursor passes over what is damaged, from the first row to the last, and
 * only forwards. What it passed is told with offset and rows: those behind which
 * and before which whole blocks end and begin. A file that is missing or has no
 * whole block has no rows, and is lost as a whole.
 *
 * An error of the disk (-EIO) is taken for damage. Memory: a block, and while a
 * file without an index is opened all of it.
 */
#ifndef CELLFS_STORE_LSM_TABLE_SST_SALVAGE_H
#define CELLFS_STORE_LSM_TABLE_SST_SALVAGE_H

#include "store/lsm/table/sstable.h"

/* A part of a file that cannot be read. */
struct sst_loss {
	uint64_t number, offset, bytes;
	/* What it may hold is in these rows, both included; empty: no bound. */
	struct bytes from, to;
	const char *reason;
};

struct sst_salvage;

/*
 * @known is what the catalog says of the file, or NULL. @lost is called for each
 * loss, at the opening and while the cursor moves. 0, or an error that is no
 * damage.
 */
int sst_salvage_open(struct os_dir *dir, uint64_t number,
		     const struct sst_info *known,
		     void (*lost)(void *arg, const struct sst_loss *loss),
		     void *arg, struct sst_salvage **out);
void sst_salvage_close(struct sst_salvage *s); /* @s may be NULL */
/*
 * The file's cursor: seek_row() of the empty row, then next() and next_row().
 * Its close does nothing.
 */
struct cursor *sst_salvage_cursor(struct sst_salvage *s);
/* The tree that the file names, 0 if that cannot be read. */
uint32_t sst_salvage_tree(const struct sst_salvage *s);

#endif
