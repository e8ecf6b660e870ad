/* The choice of a compaction: pure, over sizes and ranges. */
#include "store/lsm/compaction.h"

#include <errno.h>
#include <stdlib.h>

#include "store/why.h"

/* Deepest level that compaction_pick() moves files into. */
#define LEVEL_LAST (LEVELS_MAX - 1)

static struct bytes row_min(const struct sstable *t)
{
	return buf_bytes(&sst_info(t)->row_min);
}

static struct bytes row_max(const struct sstable *t)
{
	return buf_bytes(&sst_info(t)->row_max);
}

/*
 * Does a file of the level mostly delete what lies in files older than it?
 * Whoever scans there passes over all of it, again and again.
 */
static bool deletes_much(const struct levels *l, int level)
{
	const struct level *lv = &l->level[level];

	for (uint32_t i = 0; i < lv->nfiles; i++) {
		const struct sst_info *info = sst_info(lv->files[i]);

		if (info->markers <= info->entries / 2)
			continue;
		if ((level == 0 && i + 1 < lv->nfiles) ||
		    levels_overlap_below(l, level, row_min(lv->files[i]),
					 row_max(lv->files[i])))
			return true;
	}
	return false;
}

static double size_score(const struct levels *l,
			 const struct compaction_limits *m, int level)
{
	double target = (double)m->level1_bytes;

	if (level == 0)
		return (double)l->level[0].nfiles / m->level0_files;
	if (level == LEVEL_LAST)
		return 0;
	for (int i = 1; i < level; i++)
		target *= m->ratio;
	return (double)levels_bytes(l, level) / target;
}

static double level_score(const struct levels *l,
			  const struct compaction_limits *m, int level)
{
	double score = size_score(l, m, level);

	if (score < 1 && level < LEVEL_LAST && deletes_much(l, level))
		return 1;
	return score;
}

double compaction_score(const struct levels *l,
			const struct compaction_limits *m)
{
	double most = 0;

	for (int i = 0; i < LEVELS_MAX; i++) {
		double score = level_score(l, m, i);

		if (score > most)
			most = score;
	}
	return most;
}

/* The files of a level >= 1 with rows in [@min, @max]: *first, and how many. */
static uint32_t overlap(const struct level *l, struct bytes min,
			struct bytes max, uint32_t *first)
{
	uint32_t i = levels_find(l, min);

	*first = i;
	while (i < l->nfiles && bytes_cmp(row_min(l->files[i]), max) <= 0)
		i++;
	return i - *first;
}

static uint64_t bytes_of_files(struct sstable *const *files, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += sst_info(files[i])->file_bytes;
	return sum;
}

/* Has every version in the file outlived the family's ttl? */
static bool is_expired(const struct sst_info *i,
		       const struct family_attrs *attrs, int64_t now_ms)
{
	return attrs->ttl_ms != TTL_FOREVER && attrs->min_versions == 0 &&
	       attrs->ttl_ms <= INT64_MAX && i->ts_max < now_ms &&
	       (uint64_t)(now_ms - i->ts_max) > attrs->ttl_ms;
}

/*
 * What a file of a level costs to move down, per byte of its own: below 0 for
 * those that shrink, so that what is deleted or expired leaves the disk first.
 */
static double cost(const struct levels *l, int level, const struct sstable *t,
		   const struct family_attrs *attrs, int64_t now_ms)
{
	const struct sst_info *i = sst_info(t);
	const struct level *next = &l->level[level + 1];
	uint32_t first, n = overlap(next, row_min(t), row_max(t), &first);
	double c = (double)bytes_of_files(next->files + first, n) /
		   (double)(i->file_bytes ? i->file_bytes : 1);

	if (is_expired(i, attrs, now_ms))
		return c - 2000;
	if (i->markers >= i->entries / 4 && i->markers)
		return c - 1000;
	return c;
}

static int add_inputs(struct compaction *c, int side,
		      struct sstable *const *files, uint32_t n)
{
	struct sstable **all;

	if (n == 0)
		return 0;
	all = reallocarray(c->inputs[side], c->ninputs[side] + n, sizeof(*all));
	if (!all)
		return why(-ENOMEM, "out of memory choosing a compaction");
	memcpy(all + c->ninputs[side], files, n * sizeof(*all));
	c->inputs[side] = all;
	c->ninputs[side] += n;
	return 0;
}

/* Would writing the file anew at level @to leave anything out of it? */
static bool is_smaller_rewritten(const struct levels *l,
				 const struct sstable *t, int from, int to,
				 const struct family_attrs *attrs)
{
	if (from == 0 && attrs->compression != COMPRESSION_NONE)
		return true;
	return sst_info(t)->markers &&
	       !levels_overlap_below(l, to, row_min(t), row_max(t));
}

/* Adds what the next level has in [@min, @max]; what has none only moves. */
static int add_below(struct compaction *c, const struct levels *l,
		     struct bytes min, struct bytes max,
		     const struct family_attrs *attrs)
{
	const struct level *next = &l->level[c->to];
	uint32_t first, n = overlap(next, min, max, &first);

	c->trivial = n == 0 && c->ninputs[0] == 1 &&
		     !is_smaller_rewritten(l, c->inputs[0][0], c->from, c->to,
					   attrs);
	return add_inputs(c, 1, next->files + first, n);
}

/*
 * All of level 0; but its oldest file goes alone where it overlaps nothing:
 * what is written in the order of rows is never merged.
 */
static int pick_level0(const struct levels *l, const struct family_attrs *attrs,
		       struct compaction *c)
{
	const struct level *l0 = &l->level[0];
	struct sstable *oldest = l0->files[l0->nfiles - 1];
	struct bytes min = row_min(oldest), max = row_max(oldest);
	uint32_t first;
	bool alone = overlap(&l->level[1], min, max, &first) == 0;
	int r;

	for (uint32_t i = 0; i + 1 < l0->nfiles; i++) {
		struct bytes a = row_min(l0->files[i]);
		struct bytes b = row_max(l0->files[i]);

		if (bytes_cmp(a, row_max(oldest)) <= 0 &&
		    bytes_cmp(b, row_min(oldest)) >= 0)
			alone = false;
		if (bytes_cmp(a, min) < 0)
			min = a;
		if (bytes_cmp(b, max) > 0)
			max = b;
	}
	if (alone && !is_smaller_rewritten(l, oldest, 0, 1, attrs)) {
		c->trivial = true;
		return add_inputs(c, 0, &oldest, 1);
	}
	r = add_inputs(c, 0, l0->files, l0->nfiles);
	return r < 0 ? r : add_below(c, l, min, max, attrs);
}

static int pick_deeper(const struct levels *l, const struct family_attrs *attrs,
		       int64_t now_ms, struct compaction *c)
{
	const struct level *from = &l->level[c->from];
	struct sstable *best = from->files[0];
	double least = cost(l, c->from, best, attrs, now_ms);
	int r;

	for (uint32_t i = 1; i < from->nfiles; i++) {
		double d = cost(l, c->from, from->files[i], attrs, now_ms);

		if (d < least) {
			least = d;
			best = from->files[i];
		}
	}
	r = add_inputs(c, 0, &best, 1);
	return r < 0 ? r : add_below(c, l, row_min(best), row_max(best), attrs);
}

int compaction_pick(const struct levels *l, const struct compaction_limits *m,
		    int64_t now_ms, const struct family_attrs *attrs,
		    struct compaction *out)
{
	struct compaction c = {0};
	double most = 0;
	int r;

	for (int i = 0; i < LEVELS_MAX; i++) {
		double score = level_score(l, m, i);

		if (score > most) {
			most = score;
			c.from = i;
		}
	}
	if (most < 1)
		return 0;
	c.to = c.from + 1;
	r = c.from == 0 ? pick_level0(l, attrs, &c)
			: pick_deeper(l, attrs, now_ms, &c);
	if (r < 0) {
		compaction_release(&c);
		return r;
	}
	*out = c;
	return 1;
}

int compaction_pick_all(const struct levels *l, struct compaction *out)
{
	struct compaction c = {.from = -1, .major = true};
	int r = 0;

	for (int i = 0; i < LEVELS_MAX; i++) {
		if (l->level[i].nfiles == 0)
			continue;
		if (c.from < 0)
			c.from = i;
		c.to = i;
	}
	if (c.from < 0)
		return 0;
	if (c.to == 0)
		c.to = 1;
	for (int i = c.from; r == 0 && i <= c.to; i++)
		r = add_inputs(&c, i == c.to && i > c.from, l->level[i].files,
			       l->level[i].nfiles);
	if (r < 0) {
		compaction_release(&c);
		return r;
	}
	*out = c;
	return 1;
}

/*
 * Level 0 is left out: its files lie in the order in which they were made, and
 * it is merged soon anyway.
 */
static struct sstable *const *
find_freed(const struct levels *l, const struct compaction_freed *f, int *level)
{
	for (int i = 1; i < LEVELS_MAX; i++) {
		const struct level *lv = &l->level[i];

		for (uint32_t k = 0; k < lv->nfiles; k++) {
			const struct sst_info *info = sst_info(lv->files[k]);

			if (info->number >= f->number ||
			    info->seq_min > f->last ||
			    info->seq_max <= f->first)
				continue;
			*level = i;
			return &lv->files[k];
		}
	}
	return NULL;
}

bool compaction_has_freed(const struct levels *l,
			  const struct compaction_freed *f)
{
	int level;

	return f->number && find_freed(l, f, &level);
}

int compaction_pick_freed(const struct levels *l,
			  const struct compaction_freed *f,
			  struct compaction *out)
{
	struct compaction c = {0};
	struct sstable *const *file = find_freed(l, f, &c.from);
	int r;

	if (!file)
		return 0;
	c.to = c.from;
	r = add_inputs(&c, 0, file, 1);
	if (r < 0)
		return r;
	*out = c;
	return 1;
}

int compaction_pick_newest(const struct levels *l, uint32_t n,
			   struct compaction *out)
{
	struct compaction c = {0};
	uint32_t deeper = 0;
	int r;

	for (int i = 1; i < LEVELS_MAX; i++)
		deeper += l->level[i].nfiles;
	if (n >= l->level[0].nfiles && (n > l->level[0].nfiles || !deeper))
		return compaction_pick_all(l, out);
	r = add_inputs(&c, 0, l->level[0].files, n);
	if (r < 0)
		return r;
	*out = c;
	return 1;
}

void compaction_release(struct compaction *c)
{
	free(c->inputs[0]);
	free(c->inputs[1]);
	*c = (struct compaction){0};
}
