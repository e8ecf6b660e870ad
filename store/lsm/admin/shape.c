/*
 * Where on disk what lies, for pictures: the files, and by their indexes how many
 * bytes from which row on and of which days.
 *
 * References are taken to all files under the state lock, and then the indexes,
 * which are in memory, are walked without it: no block is read.
 *
 * The bytes of a block are spread evenly over the days from its oldest timestamp
 * to its newest one; of these one before the days that are shown, or after today,
 * does not count beside one within.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/front/shape.h"
#include "store/lsm/admin/admin.h"
#include "store/value/array.h"

#define DAY_MS 86400000
#define DAYS 366 /* the last is today, the first also has all before */

struct shown {
	struct sstable *file; /* referenced */
	uint64_t table;
	int level;
	char family[FAMILY_LEN_MAX + 1];
};

struct shape_run {
	struct shown *shown;
	size_t n, cap, nmemories;
	struct buf *out, row;
	uint64_t stride; /* blocks of a part */
	int64_t today;
	double day[DAYS + 1]; /* changes from the day before */
};

static const char *family_of(const struct tree_walk *w)
{
	return w->table->now->schema.families[w->behind - 1].name;
}

static int put_memory(struct lsm *db, const struct tree_walk *w,
		      struct shape_run *p)
{
	struct shape_item item = {
		.kind = SHAPE_MEMORY,
		.table = w->table->base.id,
	};
	struct memtree_stat st;

	if (memtable_tree_stat(db->reading, w->tree->id, &st))
		item.n[0] += st.entries;
	for (uint32_t i = 0; i < db->nfrozen; i++)
		if (memtable_tree_stat(db->frozen[i].mem, w->tree->id, &st))
			item.n[0] += st.entries;
	if (!item.n[0] || p->nmemories++ >= SHAPE_MEMORIES_MAX)
		return 0;
	return shape_put(p->out, &item);
}

static int take_level(struct shape_run *p, const struct tree_walk *w, int level)
{
	const struct level *l = &w->tree->levels->level[level];

	if (ARRAY_RESERVE(p->shown, p->cap, p->n + l->nfiles) < 0)
		return why(-ENOMEM, "out of memory for a shape");
	for (uint32_t i = 0; i < l->nfiles; i++) {
		struct shown *f = &p->shown[p->n++];

		f->file = l->files[i];
		f->table = w->table->base.id;
		f->level = level;
		snprintf(f->family, sizeof(f->family), "%s", family_of(w));
		sst_ref(f->file);
	}
	return 0;
}

static int take_files(struct lsm *db, struct shape_run *p)
{
	struct tree_walk w = {0};
	int r = 0;

	pthread_mutex_lock(&db->state);
	while (r == 0 && trees_next(db, &w)) {
		r = put_memory(db, &w, p);
		for (int i = 0; r == 0 && i < LEVELS_MAX; i++)
			r = take_level(p, &w, i);
	}
	pthread_mutex_unlock(&db->state);
	return r;
}

static int64_t day_of(const struct shape_run *p, int64_t ts)
{
	return ts / DAY_MS - p->today + DAYS - 1;
}

static void spread(struct shape_run *p, const struct sst_block *b)
{
	int64_t to = day_of(p, b->ts_max);
	int64_t from = b->ts_min > 0 ? day_of(p, b->ts_min) : to;
	double share;

	/* One cell of a strange time says nothing of when the others came. */
	if (to >= DAYS)
		to = from < 0 || from >= DAYS ? DAYS - 1 : from;
	if (from < 0 || from > to)
		from = to;
	if (to < 0)
		from = to = 0;
	share = (double)b->bytes / (double)(to - from + 1);
	p->day[from] += share;
	p->day[to + 1] -= share;
}

/* The blocks of a file, in parts; one that cannot be read is one part. */
static int put_parts(struct shape_run *p, const struct shown *f)
{
	const struct sst_info *info = sst_info(f->file);
	struct shape_item item = {.kind = SHAPE_PART,
				  .table = f->table,
				  .row = buf_bytes(&info->row_min)};
	struct sst_block b;
	int r = 0;

	for (uint32_t i = 0; r == 0 && sst_block(f->file, i, &b); i++) {
		if (i && i % p->stride == 0) {
			r = shape_put(p->out, &item);
			item.n[0] = 0;
			if (r == 0)
				r = sst_block_row(f->file, i, &p->row);
			item.row = buf_bytes(&p->row);
		}
		item.n[0] += b.bytes;
	}
	if (!item.n[0])
		item.n[0] = info->file_bytes;
	return r < 0 ? r : shape_put(p->out, &item);
}

static int put_file(struct shape_run *p, const struct shown *f)
{
	const struct sst_info *i = sst_info(f->file);
	const struct shape_item item = {
		.kind = SHAPE_FILE,
		.table = f->table,
		.name = bytes_str(f->family),
		.row = buf_bytes(&i->row_min),
		.last = buf_bytes(&i->row_max),
		.n = {i->number, (uint64_t)f->level, i->file_bytes, i->entries,
		      (uint64_t)i->ts_min, (uint64_t)i->ts_max},
	};

	return shape_put(p->out, &item);
}

static int put_days(struct shape_run *p)
{
	double bytes = 0;
	int r = 0;

	for (int i = 0; r == 0 && i < DAYS; i++) {
		struct shape_item item = {.kind = SHAPE_DAY};

		bytes += p->day[i];
		item.n[0] = (uint64_t)(p->today - DAYS + 1 + i);
		item.n[1] = bytes < 1 ? 0 : (uint64_t)bytes;
		if (item.n[1])
			r = shape_put(p->out, &item);
	}
	return r;
}

static int put_files(struct shape_run *p)
{
	struct shape_item others = {.kind = SHAPE_OTHERS};
	uint64_t blocks = 0;
	struct sst_block b;
	int r = 0;

	for (size_t i = 0; i < p->n; i++)
		for (uint32_t k = 0; sst_block(p->shown[i].file, k, &b); k++) {
			spread(p, &b);
			blocks++;
		}
	p->stride = blocks / SHAPE_PARTS_MAX + 1;
	for (size_t i = 0; r == 0 && i < p->n; i++) {
		if (i < SHAPE_FILES_MAX) {
			r = put_file(p, &p->shown[i]);
			if (r == 0)
				r = put_parts(p, &p->shown[i]);
			continue;
		}
		others.n[0]++;
		others.n[1] += sst_info(p->shown[i].file)->file_bytes;
	}
	if (r == 0 && others.n[0])
		r = shape_put(p->out, &others);
	return r < 0 ? r : put_days(p);
}

int lsm_shape(struct store *s, struct buf *out)
{
	struct lsm *db = lsm_of(s);
	struct shape_run p = {.out = out, .today = os_now_ms(db->os) / DAY_MS};
	int r = take_files(db, &p);

	if (r == 0)
		r = put_files(&p);
	for (size_t i = 0; i < p.n; i++)
		sst_unref(p.shown[i].file);
	free(p.shown);
	buf_free(&p.row);
	return r;
}
