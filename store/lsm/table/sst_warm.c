/*
 * Caches the blocks of a new file before anybody reads them. A new file
 * replaces a memtable, or files whose blocks were cached. Threads that read
 * beside a writer would have to read and check each of its blocks, some
 * thousand a second, at ten times the cost of a get; the thread that made the
 * file does it for them.
 */
#include "store/lsm/table/sst_file.h"

/*
 * A larger block costs whoever reads it first its copying and little more, and
 * here that is paid for each write of it, whether anybody reads it or not.
 */
#define WARM_MAX (1u << 20)

void sst_warm(struct sstable *t)
{
	const struct sst_index *x = &t->index;
	struct sst_cursor c;

	sst_cursor(t, &c);
	c.warms = true;
	for (uint32_t i = 0; i < x->nblocks; i++) {
		/*
		 * The memory of a block is about an eighth more than its bytes.
		 */
		size_t raw = x->entries[i].raw_len;

		if (raw > WARM_MAX)
			continue;
		c.near_index = i;
		if (!cache_has_room(&t->slots, raw + raw / 8) ||
		    sst_cursor_take(&c) < 0)
			break;
	}
	cursor_close(&c.base);
}
