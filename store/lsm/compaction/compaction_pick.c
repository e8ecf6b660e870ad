/* The choice of a compaction: pure, over sizes and ranges. */
#include "store/lsm/compaction/compaction.h"

#include <errno.h>
#include <stdlib.h>

#include "store/value/why.h"

/* The deepest level that compaction_pick() moves files into. */
#define LEVEL_LAST (LEVELS_MAX - 1)
/* The deepest level with files may have so many times its target. */
#define DEEPEST_TIMES 4
/* If scans walk over markers, one marker in so many entries is enough. */
#define PASSED_SHARE 16

/*
 * Does a file of the level mostly delete cells of older files? A scan there
 * walks over all of them, again and again. If scans have done so, fewer markers
 * are enough.
 */
static bool deletes_much(const struct levels *l,
			 const struct compaction_limits *m, int level)
{
	const struct level *lv = &l->level[level];
	uint64_t share = m->passed ? PASSED_SHARE : 2;

	for (uint32_t i = 0; i < lv->nfiles; i++) {
		const struct sst_info *info = sst_info(lv->files[i]);

		if (info->markers <= info->entries / share)
			continue;
		if ((level == 0 && i + 1 < lv->nfiles) ||
		    levels_overlap_below(l, level, sst_row_min(lv->files[i]),
					 sst_row_max(lv->files[i])))
			return true;
	}
	return false;
}

static int deepest(const struct levels *l)
{
	int level = LEVEL_LAST;

	while (level > 0 && l->level[level].nfiles == 0)
		level--;
	return level;
}

/* The bytes that a level >= 1 may hold. */
static double target(const struct levels *l, const struct compaction_limits *m,
		     int level)
{
	double bytes = (double)m->level1_bytes, share;
	int last = deepest(l);

	for (int i = 1; i < level; i++)
		bytes *= m->ratio;
	if (level >= last)
		return bytes * DEEPEST_TIMES;
	share = (double)levels_bytes(l, last);
	for (int i = level; i < last; i++)
		share /= m->ratio;
	return share > bytes ? share : bytes;
}

static double size_score(const struct levels *l,
			 const struct compaction_limits *m, int level)
{
	if (level == 0)
		return (double)l->level[0].nfiles / m->level0_files;
	if (level == LEVEL_LAST)
		return 0;
	return (double)levels_bytes(l, level) / target(l, m, level);
}

static double level_score(const struct levels *l,
			  const struct compaction_limits *m, int level)
{
	double score = size_score(l, m, level);

	if (score < 1 && level < LEVEL_LAST && deletes_much(l, m, level))
		return 1;
	return score;
}

/* The score of the level that is most due. */
static double most_due(const struct levels *l,
		       const struct compaction_limits *m, int *level)
{
	double most = 0;

	*level = 0;
	for (int i = 0; i < LEVELS_MAX; i++) {
		double score = level_score(l, m, i);

		if (score > most) {
			most = score;
			*level = i;
		}
	}
	return most;
}

double compaction_score(const struct levels *l,
			const struct compaction_limits *m)
{
	int level;

	return most_due(l, m, &level);
}

uint64_t compaction_pending(const struct levels *l,
			    const struct compaction_limits *m)
{
	uint64_t sum = 0;

	for (int i = 0; i < LEVELS_MAX; i++) {
		uint64_t bytes = levels_bytes(l, i);
		double may = i ? target(l, m, i) : 0;

		if (level_score(l, m, i) < 1)
			continue;
		/* A level within its target is due for what it deletes. */
		sum += (double)bytes > may ? bytes - (uint64_t)may : bytes;
	}
	return sum;
}

/*
 * The files of a level >= 1 with rows in [@min, @max]: *first and their number.
 */
static uint32_t overlap(const struct level *l, struct bytes min,
			struct bytes max, uint32_t *first)
{
	uint32_t i = levels_find(l, min);

	*first = i;
	while (i < l->nfiles && bytes_cmp(sst_row_min(l->files[i]), max) <= 0)
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

/* Are all versions in the file older than the family's ttl? */
static bool is_expired(const struct sst_info *i,
		       const struct family_attrs *attrs, int64_t now_ms)
{
	return attrs->ttl_ms != TTL_FOREVER && attrs->min_versions == 0 &&
	       attrs->ttl_ms <= INT64_MAX && i->ts_max < now_ms &&
	       (uint64_t)(now_ms - i->ts_max) > attrs->ttl_ms;
}

/* The bytes of the next level that overlap a file, per byte of the file. */
static double weight(const struct levels *l, int level, const struct sstable *t)
{
	const struct level *next = &l->level[level + 1];
	uint64_t bytes = sst_info(t)->file_bytes;
	uint32_t first,
		n = overlap(next, sst_row_min(t), sst_row_max(t), &first);

	return (double)bytes_of_files(next->files + first, n) /
	       (double)(bytes ? bytes : 1);
}

/*
 * The cost of moving a file down, per byte of it: negative for files that
 * shrink, so that deleted and expired cells leave the disk first.
 */
static double cost(const struct levels *l, const struct compaction_limits *m,
		   int level, const struct sstable *t,
		   const struct family_attrs *attrs, int64_t now_ms)
{
	const struct sst_info *i = sst_info(t);
	uint64_t share = m->passed ? PASSED_SHARE : 4;
	double c = weight(l, level, t);

	if (is_expired(i, attrs, now_ms))
		return c - 2000;
	if (i->markers >= i->entries / share && i->markers)
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

/* What was chosen goes to *out, unless @r is an error. 1 or @r. */
static int hand_out(struct compaction *c, int r, struct compaction *out)
{
	if (r < 0) {
		compaction_release(c);
		return r;
	}
	*out = *c;
	return 1;
}

/*
 * At rest nothing has expired: then files are merged for those who read, and a
 * ttl that somebody has set by mistake takes nothing from the disk.
 */
#define NO_TIME INT64_MIN

/*
 * Would rewriting the file drop all of it? It holds puts only, all have expired,
 * and no level below @to has what they hide.
 */
static bool has_ended(const struct levels *l, const struct sstable *t, int to,
		      const struct family_attrs *attrs, int64_t now_ms)
{
	return is_expired(sst_info(t), attrs, now_ms) &&
	       !sst_info(t)->markers &&
	       !levels_overlap_below(l, to, sst_row_min(t), sst_row_max(t));
}

/* Would rewriting the file at level @to drop or compress anything? */
static bool is_smaller_rewritten(const struct levels *l,
				 const struct sstable *t, int from, int to,
				 const struct family_attrs *attrs)
{
	if (from == 0 && attrs->compression != COMPRESSION_NONE)
		return true;
	return sst_info(t)->markers &&
	       !levels_overlap_below(l, to, sst_row_min(t), sst_row_max(t));
}

/*
 * Adds the next level's files in [@min, @max]; a file without any is only
 * moved.
 */
static int add_below(struct compaction *c, const struct levels *l,
		     struct bytes min, struct bytes max,
		     const struct family_attrs *attrs, int64_t now_ms)
{
	const struct level *next = &l->level[c->to];
	uint32_t first, n = overlap(next, min, max, &first);

	c->trivial = n == 0 && c->ninputs[0] == 1 &&
		     !is_smaller_rewritten(l, c->inputs[0][0], c->from, c->to,
					   attrs) &&
		     !has_ended(l, c->inputs[0][0], c->to, attrs, now_ms);
	return add_inputs(c, 1, next->files + first, n);
}

/*
 * The newest files of level 0, each after the first no larger than all before
 * it together: merging these rewrites every byte only as often as the level
 * doubles.
 */
static uint32_t newest_run(const struct level *l0)
{
	uint64_t sum = 0;
	uint32_t n = 0;

	while (n < l0->nfiles &&
	       (n == 0 || sst_info(l0->files[n])->file_bytes <= sum))
		sum += sst_info(l0->files[n++])->file_bytes;
	return n;
}

/* Level 0, and the level that it would be merged into. */
struct top {
	struct bytes min, max;
	uint64_t bytes, below; /* of level 0, and of the files below */
	uint32_t nbelow;
	bool alone; /* the oldest file overlaps nothing */
	int to;
};

static uint64_t bytes_under(const struct levels *l, struct top *t)
{
	const struct level *next = &l->level[t->to];
	uint32_t first;

	t->nbelow = overlap(next, t->min, t->max, &first);
	return bytes_of_files(next->files + first, t->nbelow);
}

/*
 * If level 1 is empty, level 0 is merged directly into the first level with
 * files, unless that is much larger.
 */
static void look_at_top(const struct levels *l,
			const struct compaction_limits *m, struct top *t)
{
	const struct level *l0 = &l->level[0];
	struct sstable *oldest = l0->files[l0->nfiles - 1];
	uint32_t first;

	*t = (struct top){.min = sst_row_min(oldest),
			  .max = sst_row_max(oldest)};
	t->alone = overlap(&l->level[1], t->min, t->max, &first) == 0;
	t->bytes = bytes_of_files(l0->files, l0->nfiles);
	for (uint32_t i = 0; i + 1 < l0->nfiles; i++) {
		struct bytes a = sst_row_min(l0->files[i]);
		struct bytes b = sst_row_max(l0->files[i]);

		t->alone &= !sst_overlap(l0->files[i], oldest);
		if (bytes_cmp(a, t->min) < 0)
			t->min = a;
		if (bytes_cmp(b, t->max) > 0)
			t->max = b;
	}
	t->to = 1;
	while (t->to < LEVEL_LAST && l->level[t->to].nfiles == 0)
		t->to++;
	t->below = bytes_under(l, t);
	if (t->to > 1 && (!t->nbelow || t->below > m->ratio * t->bytes)) {
		t->to = 1;
		t->below = bytes_under(l, t);
	}
}

/*
 * All of level 0; but its oldest file is moved alone if it overlaps nothing:
 * rows written in ascending order are never merged. A small level 0 over much
 * larger files is merged with itself first.
 */
static int pick_level0(const struct levels *l,
		       const struct compaction_limits *m,
		       const struct family_attrs *attrs, int64_t now_ms,
		       struct compaction *c)
{
	const struct level *l0 = &l->level[0];
	struct sstable **oldest = &l0->files[l0->nfiles - 1];
	struct top t;
	int r;

	look_at_top(l, m, &t);
	c->to = t.to;
	if (t.alone && !is_smaller_rewritten(l, *oldest, 0, 1, attrs)) {
		c->to = 1;
		c->trivial = !has_ended(l, *oldest, 1, attrs, now_ms);
		return add_inputs(c, 0, oldest, 1);
	}
	if (l0->nfiles >= m->level0_files && t.below > m->top_ratio * t.bytes &&
	    !deletes_much(l, m, 0)) {
		uint32_t n = newest_run(l0);

		c->to = 0;
		return add_inputs(c, 0, l0->files, n > 1 ? n : l0->nfiles);
	}
	r = add_inputs(c, 0, l0->files, l0->nfiles);
	return r < 0 ? r : add_below(c, l, t.min, t.max, attrs, now_ms);
}

static int pick_deeper(const struct levels *l,
		       const struct compaction_limits *m,
		       const struct family_attrs *attrs, int64_t now_ms,
		       struct compaction *c)
{
	const struct level *from = &l->level[c->from];
	struct sstable *best = from->files[0];
	double least = cost(l, m, c->from, best, attrs, now_ms);
	int r;

	for (uint32_t i = 1; i < from->nfiles; i++) {
		double d = cost(l, m, c->from, from->files[i], attrs, now_ms);

		if (d < least) {
			least = d;
			best = from->files[i];
		}
	}
	r = add_inputs(c, 0, &best, 1);
	return r < 0 ? r
		     : add_below(c, l, sst_row_min(best), sst_row_max(best),
				 attrs, now_ms);
}

int compaction_pick(const struct levels *l, const struct compaction_limits *m,
		    int64_t now_ms, const struct family_attrs *attrs,
		    struct compaction *out)
{
	struct compaction c = {0};
	int r;

	if (most_due(l, m, &c.from) < 1)
		return 0;
	c.to = c.from + 1;
	r = c.from == 0 ? pick_level0(l, m, attrs, now_ms, &c)
			: pick_deeper(l, m, attrs, now_ms, &c);
	return hand_out(&c, r, out);
}

/* Level 0 at rest: 1 = *c has its files. */
static int rest_level0(const struct levels *l,
		       const struct compaction_limits *m,
		       const struct family_attrs *attrs, struct compaction *c)
{
	const struct level *l0 = &l->level[0];
	uint32_t run;
	struct top t;
	int r;

	if (l0->nfiles == 0)
		return 0;
	look_at_top(l, m, &t);
	if (t.bytes < m->rest_bytes)
		return 0;
	run = newest_run(l0);
	c->from = 0;
	if (t.alone &&
	    !is_smaller_rewritten(l, l0->files[l0->nfiles - 1], 0, 1, attrs))
		r = pick_level0(l, m, attrs, NO_TIME, c);
	else if (t.below > m->ratio * t.bytes)
		r = run > 1 ? add_inputs(c, 0, l0->files, run) : 0;
	else if (l0->nfiles > 1 || t.nbelow)
		r = pick_level0(l, m, attrs, NO_TIME, c);
	else
		return 0;
	if (r < 0)
		return r;
	return c->ninputs[0] > 0;
}

/* The cheapest file of a deeper level, if it is worth moving. */
static int rest_deeper(const struct levels *l,
		       const struct compaction_limits *m,
		       const struct family_attrs *attrs, int level,
		       struct compaction *c)
{
	const struct level *from = &l->level[level];
	struct sstable **best = NULL;
	double least = m->ratio;
	int r;

	for (uint32_t i = 0; i < from->nfiles; i++) {
		double d = weight(l, level, from->files[i]);

		if (d > least)
			continue;
		least = d;
		best = &from->files[i];
	}
	if (!best)
		return 0;
	c->from = level;
	c->to = level + 1;
	r = add_inputs(c, 0, best, 1);
	if (r == 0)
		r = add_below(c, l, sst_row_min(*best), sst_row_max(*best),
			      attrs, NO_TIME);
	return r < 0 ? r : 1;
}

int compaction_pick_rest(const struct levels *l,
			 const struct compaction_limits *m,
			 const struct family_attrs *attrs,
			 struct compaction *out)
{
	/* Without writers there is no reason to wait for more files. */
	struct compaction_limits rest = *m;
	struct compaction c = {0};
	int last = deepest(l), r;

	rest.top_ratio = m->ratio;
	r = rest_level0(l, &rest, attrs, &c);
	for (int i = 1; r == 0 && i < last; i++)
		r = rest_deeper(l, m, attrs, i, &c);
	return r == 0 ? 0 : hand_out(&c, r, out);
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
	return hand_out(&c, r, out);
}

/*
 * Level 0 is left out: its files are in the order of their making, and it is
 * merged soon anyway.
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

	if (!file)
		return 0;
	c.to = c.from;
	return hand_out(&c, add_inputs(&c, 0, file, 1), out);
}

int compaction_pick_newest(const struct levels *l, uint32_t n,
			   struct compaction *out)
{
	struct compaction c = {0};
	uint32_t top = l->level[0].nfiles;

	if (n > top || (n == top && deepest(l) == 0))
		return compaction_pick_all(l, out);
	return hand_out(&c, add_inputs(&c, 0, l->level[0].files, n), out);
}

void compaction_release(struct compaction *c)
{
	free(c->inputs[0]);
	free(c->inputs[1]);
	free(c->masks);
	*c = (struct compaction){0};
}
