/*
 * Merging around damage.
 *
 * A damaged file stays where it is: what it holds is not known, so it is no
 * input of a merge, and nothing may come to lie on the wrong side of it. Files
 * with rows in its range stay as well:
 *
 *	level 0   n=======n  m==m	n lies above d, and m beside n
 *	level 1   c-c    d###d  g--g	d is damaged
 *	level 2	     h---h   i----i	go on down: they are older than d
 *
 * In a deeper level than its own they may move, since they are older than what
 * it holds. Of a level 0 that cannot move down its files are merged with each
 * other, between two that are damaged, so that there are never many.
 */
#include "store/lsm/compaction/compaction.h"

#include <errno.h>
#include <stdlib.h>

#include "store/value/why.h"

/* Files that stay, of all levels that were looked at. */
struct staying {
	struct level_file *files;
	uint32_t n;
};

static bool stays(const struct staying *s, const struct sstable *t)
{
	if (sst_is_damaged(t))
		return true;
	for (uint32_t i = 0; i < s->n; i++)
		if (sst_overlap(s->files[i].file, t))
			return true;
	return false;
}

static bool is_in(const struct staying *s, const struct sstable *t)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->files[i].file == t)
			return true;
	return false;
}

/* Of level 0, again while one more makes others stay. */
static void find_staying(const struct level *l, int level, struct staying *s)
{
	bool more;

	do {
		more = false;
		for (uint32_t i = 0; i < l->nfiles; i++) {
			struct sstable *t = l->files[i];

			if ((level == 0 && is_in(s, t)) || !stays(s, t))
				continue;
			s->files[s->n++] =
				(struct level_file){(uint8_t)level, t};
			more = level == 0;
		}
	} while (more);
}

int compaction_around(const struct levels *l, struct levels **out)
{
	struct staying s = {0};
	uint32_t n = 0;
	int r;

	for (int i = 0; i < LEVELS_MAX; i++)
		n += l->level[i].nfiles;
	s.files = calloc(n + 1, sizeof(*s.files));
	if (!s.files)
		return why(-ENOMEM, "out of memory choosing a compaction");
	for (int i = LEVELS_MAX - 1; i >= 0; i--)
		find_staying(&l->level[i], i, &s);
	r = levels_apply(l, s.files, s.n, NULL, 0, out);
	free(s.files);
	return r;
}

/*
 * The first run of level 0, between files that are damaged, of at least
 * @least files: how many, and *first.
 */
static uint32_t find_run(const struct level *l, uint32_t least, uint32_t *first)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i <= l->nfiles; i++) {
		if (i < l->nfiles && !sst_is_damaged(l->files[i])) {
			n++;
			continue;
		}
		*first = i - n;
		if (n >= least)
			return n;
		n = 0;
	}
	return 0;
}

bool compaction_has_run(const struct levels *l,
			const struct compaction_limits *m)
{
	uint32_t first;

	return find_run(&l->level[0], m->level0_files, &first) > 0;
}

int compaction_pick_run(const struct levels *l,
			const struct compaction_limits *m,
			struct compaction *out)
{
	uint32_t first, n = find_run(&l->level[0], m->level0_files, &first);
	struct compaction c = {0};

	if (!n)
		return 0;
	c.inputs[0] = calloc(n, sizeof(*c.inputs[0]));
	if (!c.inputs[0])
		return why(-ENOMEM, "out of memory choosing a compaction");
	for (uint32_t i = 0; i < n; i++)
		c.inputs[0][i] = l->level[0].files[first + i];
	c.ninputs[0] = n;
	*out = c;
	return 1;
}
