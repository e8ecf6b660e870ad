/*
 * Blocks that come into the cache before anybody asks for them.
 *
 * A new file takes the place of memory or of files whose blocks were cached.
 * Whoever reads beside a writer would read and check each of its blocks, some
 * thousand of them a second, ten times what a get costs; the thread that made
 * the file has them at hand.
 */
#include "store/lsm/table/sst_file.h"

void sst_warm(struct sstable *t)
{
	const struct sst_index *x = &t->index;
	struct sst_cursor c;

	sst_cursor(t, &c);
	for (uint32_t i = 0; i < x->nblocks; i++) {
		/* What it takes beside its bytes is about an eighth. */
		size_t raw = x->entries[i].raw_len;

		c.near_index = i;
		if (!cache_has_room(&t->slots, raw + raw / 8) ||
		    sst_cursor_take(&c) < 0)
			break;
	}
	cursor_close(&c.base);
}
