#include "store/lsm/manifest/levels.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "store/lsm/base/bisect.h"
#include "store/lsm/base/heads.h"
#include "store/value/why.h"

int levels_new(struct levels **out)
{
	struct levels *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	atomic_init(&l->refs, 1);
	*out = l;
	return 0;
}

void levels_ref(struct levels *l)
{
	uint32_t refs =
		atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);

	assert(refs > 0);
}

void levels_unref(struct levels *l)
{
	if (!l || !refs_drop(&l->refs))
		return;
	for (int i = 0; i < LEVELS_MAX; i++) {
		for (uint32_t j = 0; j < l->level[i].nfiles; j++)
			sst_unref(l->level[i].files[j]);
		free(l->level[i].files);
		free(l->level[i].heads);
	}
	history_free(&l->lost);
	free(l);
}

static bool among(const struct level_file *files, size_t n, uint64_t number)
{
	for (size_t i = 0; i < n; i++)
		if (sst_info(files[i].file)->number == number)
			return true;
	return false;
}

/* Newest first: what a later flush wrote has larger sequences. */
static int newer_first(const void *a, const void *b)
{
	const struct sst_info *x = sst_info(*(struct sstable *const *)a);
	const struct sst_info *y = sst_info(*(struct sstable *const *)b);

	if (x->seq_max != y->seq_max)
		return x->seq_max > y->seq_max ? -1 : 1;
	return (x->number < y->number) - (x->number > y->number);
}

static int by_row(const void *a, const void *b)
{
	return bytes_cmp(sst_row_min(*(struct sstable *const *)a),
			 sst_row_min(*(struct sstable *const *)b));
}

/* A row in two files of a level would be read from one of them only. */
static int check_disjoint(const struct level *l, int level)
{
	for (uint32_t i = 1; i < l->nfiles; i++)
		if (bytes_cmp(sst_row_max(l->files[i - 1]),
			      sst_row_min(l->files[i])) >= 0)
			return why(-EUCLEAN,
				   "the files %" PRIu64 ".sst and %" PRIu64
				   ".sst of level %d overlap",
				   sst_info(l->files[i - 1])->number,
				   sst_info(l->files[i])->number, level);
	return 0;
}

static struct bytes behind(struct bytes s, size_t n)
{
	return bytes_of(s.data + n, s.len - n);
}

/* Of files in order. */
static int make_heads(struct level *l)
{
	struct bytes first = sst_row_max(l->files[0]);
	struct bytes last = sst_row_max(l->files[l->nfiles - 1]);
	size_t n = 0;

	assert(l->nfiles > 1 && !l->heads);
	l->heads = calloc(l->nfiles, sizeof(*l->heads));
	if (!l->heads)
		return -ENOMEM;
	while (n < first.len && n < last.len && first.data[n] == last.data[n])
		n++;
	l->prefix = bytes_of(first.data, n);
	for (uint32_t i = 0; i < l->nfiles; i++)
		l->heads[i] = head_of(behind(sst_row_max(l->files[i]), n));
	return 0;
}

static int build_level(const struct levels *from, int level,
		       const struct level_file *removed, size_t nremoved,
		       const struct level_file *added, size_t nadded,
		       struct level *to)
{
	const struct level *old = &from->level[level];
	size_t room = old->nfiles;
	int r;

	for (size_t i = 0; i < nadded; i++)
		room += added[i].level == level;
	if (!room)
		return 0;
	to->files = calloc(room, sizeof(struct sstable *));
	if (!to->files)
		return -ENOMEM;
	for (uint32_t i = 0; i < old->nfiles; i++)
		if (!among(removed, nremoved, sst_info(old->files[i])->number))
			to->files[to->nfiles++] = old->files[i];
	for (size_t i = 0; i < nadded; i++)
		if (added[i].level == level)
			to->files[to->nfiles++] = added[i].file;
	assert(to->nfiles <= room);
	for (uint32_t i = 0; i < to->nfiles; i++)
		sst_ref(to->files[i]);
	if (to->nfiles > 1)
		qsort(to->files, to->nfiles, sizeof(struct sstable *),
		      level ? by_row : newer_first);
	if (!level || to->nfiles < 2)
		return 0;
	r = check_disjoint(to, level);
	return r == 0 ? make_heads(to) : r;
}

int levels_apply(const struct levels *from, const struct level_file *removed,
		 size_t nremoved, const struct level_file *added, size_t nadded,
		 struct levels **out)
{
	struct levels *l = NULL;
	int r;

	for (size_t i = 0; i < nadded; i++)
		if (added[i].level >= LEVELS_MAX)
			return why(-EUCLEAN, "there is no level %u",
				   added[i].level);
	r = levels_new(&l);
	if (r < 0)
		return r;
	r = levels_lose(l, &from->lost);
	for (int i = 0; i < LEVELS_MAX && r == 0; i++)
		r = build_level(from, i, removed, nremoved, added, nadded,
				&l->level[i]);
	for (uint8_t i = LEVELS_MAX; i-- > 0;) {
		if (!l->level[i].nfiles)
			continue;
		l->begin = i;
		if (!l->end)
			l->end = i + 1;
	}
	if (r < 0) {
		levels_unref(l);
		return r;
	}
	assert(l->begin < l->end || (!l->begin && !l->end));
	*out = l;
	return 0;
}

int levels_lose(struct levels *l, const struct history *lost)
{
	int r = history_add(&l->lost, lost);

	return r < 0 ? why(r, "out of memory") : 0;
}

bool levels_damaged(const struct levels *l)
{
	for (int i = l->begin; i < l->end; i++)
		for (uint32_t k = 0; k < l->level[i].nfiles; k++)
			if (sst_is_damaged(l->level[i].files[k]))
				return true;
	return false;
}

uint64_t levels_bytes(const struct levels *l, int level)
{
	uint64_t n = 0;

	assert(level >= 0 && level < LEVELS_MAX);
	for (uint32_t i = 0; i < l->level[level].nfiles; i++)
		n += sst_info(l->level[level].files[i])->file_bytes;
	return n;
}

static uint32_t find_by_rows(const struct level *l, struct bytes row)
{
	uint32_t lo = 0, hi = l->nfiles;

	BISECT(lo, hi, mid, bytes_cmp(sst_row_max(l->files[mid]), row) < 0);
	return lo;
}

uint32_t levels_find(const struct level *l, struct bytes row)
{
	uint64_t head;
	uint32_t at;

	if (!l->heads)
		return find_by_rows(l, row);
	if (!bytes_has_prefix(row, l->prefix))
		return bytes_cmp(row, l->prefix) < 0 ? 0 : l->nfiles;
	head = head_of(behind(row, l->prefix.len));
	at = heads_find(l->heads, l->nfiles, head);
	while (at < l->nfiles && l->heads[at] == head &&
	       bytes_cmp(sst_row_max(l->files[at]), row) < 0)
		at++;
	return at;
}

bool levels_overlap_below(const struct levels *l, int level, struct bytes min,
			  struct bytes max)
{
	const struct level *top = &l->level[0];

	assert(level >= -1 && level < LEVELS_MAX);
	/* Above all levels is the memtable: level 0 is below it. */
	for (uint32_t i = 0; level < 0 && i < top->nfiles; i++)
		if (bytes_cmp(sst_row_min(top->files[i]), max) <= 0 &&
		    bytes_cmp(sst_row_max(top->files[i]), min) >= 0)
			return true;
	for (int i = level < 0 ? 1 : level + 1; i < LEVELS_MAX; i++) {
		uint32_t at = levels_find(&l->level[i], min);

		if (at < l->level[i].nfiles &&
		    bytes_cmp(sst_row_min(l->level[i].files[at]), max) <= 0)
			return true;
	}
	return false;
}
