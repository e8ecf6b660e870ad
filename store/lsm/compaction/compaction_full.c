/* The choice of a compaction on a full disk: pure, like compaction_pick.c. */
#include "store/lsm/compaction/compaction.h"

#include <errno.h>
#include <stdlib.h>

#include "store/value/why.h"

/* Allocates the lists for the files of all levels. */
static int start(const struct levels *l, struct compaction *c)
{
	size_t n = 1;

	for (int i = 0; i < LEVELS_MAX; i++)
		n += l->level[i].nfiles;
	for (int side = 0; side < 2; side++)
		c->inputs[side] = calloc(n, sizeof(struct sstable *));
	c->masks = calloc(n, sizeof(struct sstable *));
	return c->inputs[0] && c->inputs[1] && c->masks
		       ? 0
		       : why(-ENOMEM, "out of memory choosing a compaction");
}

static uint64_t add(struct compaction *c, int side, struct sstable *t)
{
	c->inputs[side][c->ninputs[side]++] = t;
	return sst_info(t)->file_bytes;
}

static void forget(struct compaction *c)
{
	c->ninputs[0] = c->ninputs[1] = c->nmasks = 0;
}

/*
 * Adds the files of level c->to with rows in [@min, @max]; returns their bytes.
 */
static uint64_t add_beneath(const struct levels *l, struct bytes min,
			    struct bytes max, struct compaction *c)
{
	const struct level *to = &l->level[c->to];
	uint64_t bytes = 0;

	for (uint32_t i = levels_find(to, min); i < to->nfiles; i++) {
		if (bytes_cmp(sst_row_min(to->files[i]), max) > 0)
			break;
		bytes += add(c, 1, to->files[i]);
	}
	return bytes;
}

/* All of level 0 into the first level with files. */
static bool whole_top(const struct levels *l, uint64_t space,
		      struct compaction *c)
{
	const struct level *l0 = &l->level[0];
	uint64_t bytes = 0, markers = 0;
	struct bytes min, max;

	if (l0->nfiles == 0)
		return false;
	forget(c);
	min = sst_row_min(l0->files[0]);
	max = sst_row_max(l0->files[0]);
	c->from = 0;
	c->to = 1;
	while (c->to < LEVELS_MAX - 1 && l->level[c->to].nfiles == 0)
		c->to++;
	if (l->level[c->to].nfiles == 0)
		c->to = 1;
	for (uint32_t i = 0; i < l0->nfiles; i++) {
		bytes += add(c, 0, l0->files[i]);
		markers += sst_info(l0->files[i])->markers;
		if (bytes_cmp(sst_row_min(l0->files[i]), min) < 0)
			min = sst_row_min(l0->files[i]);
		if (bytes_cmp(sst_row_max(l0->files[i]), max) > 0)
			max = sst_row_max(l0->files[i]);
	}
	bytes += add_beneath(l, min, max, c);
	return (l0->nfiles > 1 || markers) && bytes <= space;
}

/*
 * Was @t, in @level, written after all files above that have markers over it?
 */
static bool is_swept(const struct levels *l, int level, const struct sstable *t)
{
	for (int i = 0; i < level; i++)
		for (uint32_t k = 0; k < l->level[i].nfiles; k++) {
			const struct sstable *above = l->level[i].files[k];

			if (sst_info(above)->markers &&
			    sst_info(above)->number > sst_info(t)->number &&
			    sst_overlap(above, t))
				return false;
		}
	return true;
}

/* Rewrites one file in its level, without the cells that files above hide. */
static bool sweep(const struct levels *l, uint64_t space, struct compaction *c)
{
	for (int level = 1; level < LEVELS_MAX; level++)
		for (uint32_t i = 0; i < l->level[level].nfiles; i++) {
			struct sstable *t = l->level[level].files[i];

			if (sst_info(t)->file_bytes > space ||
			    is_swept(l, level, t))
				continue;
			forget(c);
			c->from = c->to = level;
			add(c, 0, t);
			for (int up = 0; up < level; up++)
				for (uint32_t k = 0; k < l->level[up].nfiles;
				     k++)
					if (sst_overlap(l->level[up].files[k],
							t))
						c->masks[c->nmasks++] =
							l->level[up].files[k];
			return true;
		}
	return false;
}

/*
 * Merges neighbours in level 0, the newest that fit: but no file that would be
 * too large for the reserve later.
 */
static bool part_of_top(const struct levels *l, uint64_t space,
			struct compaction *c)
{
	const struct level *l0 = &l->level[0];

	c->from = c->to = 0;
	for (uint32_t first = 0; first + 1 < l0->nfiles; first++) {
		uint64_t bytes = 0;

		forget(c);
		for (uint32_t i = first; i < l0->nfiles; i++) {
			bytes += sst_info(l0->files[i])->file_bytes;
			if (bytes > space)
				break;
			add(c, 0, l0->files[i]);
		}
		if (c->ninputs[0] > 1)
			return true;
	}
	return false;
}

int compaction_pick_full(const struct levels *l, uint64_t space, uint64_t part,
			 bool daring, struct compaction *out)
{
	struct compaction c = {0};
	int r = start(l, &c);

	if (part > space)
		part = space;
	if (r == 0)
		r = whole_top(l, space, &c) || sweep(l, space, &c) ||
		    part_of_top(l, part, &c);
	if (r == 0 && daring) {
		c.daring = whole_top(l, UINT64_MAX, &c) ||
			   sweep(l, UINT64_MAX, &c);
		r = c.daring;
	}
	if (r > 0)
		*out = c;
	else
		compaction_release(&c);
	return r;
}
