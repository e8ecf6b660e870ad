#include "store/lsm/compaction/compaction.h"

#include <errno.h>
#include <stdlib.h>

#include "store/lsm/compaction/compaction_write.h"
#include "store/lsm/merge/merge.h"
#include "store/value/why.h"

/* Rows between two checks whether to stop. */
#define STOP_ROWS 256
/* Bytes between two calls that tell of them. */
#define TOLD_BYTES (64u << 10)

/*
 * The inputs as sources of a merge: each file of level 0 is a source, the files
 * of a deeper level together are one.
 */
struct inputs {
	struct sst_cursor *files;
	uint32_t nfiles;
	struct level levels[LEVELS_MAX]; /* the inputs' part of each */
	struct level_cursor level_cursors[LEVELS_MAX];
	struct merge_source *sources;
	uint32_t nsources;
	bool version_markers;
};

static bool is_source(const struct compaction *c, const struct sstable *t)
{
	for (uint32_t i = 0; i < c->nmasks; i++)
		if (c->masks[i] == t)
			return true;
	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < c->ninputs[side]; i++)
			if (c->inputs[side][i] == t)
				return true;
	return false;
}

static void inputs_close(struct inputs *in)
{
	for (uint32_t i = 0; i < in->nsources; i++)
		cursor_close(in->sources[i].cursor);
	for (int i = 0; i < LEVELS_MAX; i++)
		free(in->levels[i].files);
	free(in->files);
	free(in->sources);
}

static void add_source(struct inputs *in, struct cursor *c)
{
	in->sources[in->nsources++].cursor = c;
}

static int add_level(struct inputs *in, const struct compaction_job *j,
		     int level)
{
	const struct level *all = &j->levels->level[level];
	struct level *part = &in->levels[level];

	if (all->nfiles == 0)
		return 0;
	part->files = calloc(all->nfiles, sizeof(struct sstable *));
	if (!part->files)
		return -ENOMEM;
	for (uint32_t i = 0; i < all->nfiles; i++)
		if (is_source(j->what, all->files[i]))
			part->files[part->nfiles++] = all->files[i];
	if (part->nfiles == 0)
		return 0;
	level_cursor(part, &in->level_cursors[level]);
	in->level_cursors[level].no_fill = true;
	add_source(in, &in->level_cursors[level].base);
	return 0;
}

static int inputs_open(struct inputs *in, struct compaction_job *j)
{
	const struct level *l0 = &j->levels->level[0];
	int r = 0;

	in->files = calloc(l0->nfiles + 1, sizeof(*in->files));
	in->sources = calloc(l0->nfiles + LEVELS_MAX, sizeof(*in->sources));
	if (!in->files || !in->sources)
		r = -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < l0->nfiles; i++) {
		struct sst_cursor *c;

		if (!is_source(j->what, l0->files[i]))
			continue;
		c = &in->files[in->nfiles++];
		sst_cursor(l0->files[i], c);
		c->no_fill = true;
		c->ahead_max = sst_ahead_of(j->what->ninputs[0]);
		add_source(in, &c->base);
	}
	for (int i = 1; r == 0 && i < LEVELS_MAX; i++)
		r = add_level(in, j, i);
	for (int side = 0; side < 2; side++) {
		for (uint32_t i = 0; i < j->what->ninputs[side]; i++) {
			const struct sst_info *info =
				sst_info(j->what->inputs[side][i]);

			in->version_markers |= info->markers > 0;
			j->bytes_in += info->file_bytes;
		}
	}
	for (uint32_t i = 0; i < j->what->nmasks; i++)
		in->version_markers |= sst_info(j->what->masks[i])->markers > 0;
	return r < 0 ? why(r, "out of memory starting a compaction") : r;
}

/*
 * Does a level below the output hold the row? Rows are asked for in ascending
 * order, so each level is passed once.
 */
struct depth {
	const struct levels *levels;
	int to;
	uint32_t at[LEVELS_MAX];
};

static bool lies_deeper(struct depth *d, struct bytes row)
{
	for (int i = d->to + 1; i < LEVELS_MAX; i++) {
		const struct level *l = &d->levels->level[i];
		uint32_t *at = &d->at[i];

		while (*at < l->nfiles &&
		       bytes_cmp(sst_row_max(l->files[*at]), row) < 0)
			(*at)++;
		if (*at < l->nfiles &&
		    bytes_cmp(sst_row_min(l->files[*at]), row) <= 0)
			return true;
	}
	return false;
}

/*
 * Where files of the output's level stay, no output may reach over one: ends a
 * file in front of the row that comes behind one of them. *at passes the level.
 */
static int cut_at_staying(const struct compaction_job *j, struct bytes row,
			  uint32_t *at, struct compaction_writer *w)
{
	const struct level *l = &j->levels->level[j->what->to];
	bool cut = false;

	if (!j->what->around || j->what->to == 0)
		return 0;
	for (; *at < l->nfiles; (*at)++) {
		if (bytes_cmp(sst_row_max(l->files[*at]), row) >= 0)
			break;
		cut |= !is_source(j->what, l->files[*at]);
	}
	return cut ? compaction_write_cut(w) : 0;
}

/* Records what was dropped of the row that retain has finished. */
static int note_loss(const struct retain *retain, struct bytes row,
		     struct history *lost)
{
	struct retain_loss loss;

	retain_loss(retain, &loss);
	if (loss.from >= loss.to)
		return 0;
	if (history_lose(lost, row, row, loss.from, loss.to) < 0)
		return why(-ENOMEM, "out of memory for what is lost");
	return 0;
}

/* Records what was dropped of all rows. */
static void end_loss(const struct retain *retain,
		     const struct family_attrs *attrs, struct history *lost)
{
	struct retain_loss loss;

	retain_loss(retain, &loss);
	lost->before = loss.before;
	lost->pushed_seq = loss.pushed_seq;
	lost->pushed_versions = loss.pushed ? attrs->versions : 0;
}

static int copy_row(struct cursor *c, struct retain *retain, bool whole,
		    struct compaction_writer *w, struct history *lost)
{
	struct entry e;
	int r;

	retain_row(retain, c, whole);
	while ((r = retain_next(retain, &e)) == 1) {
		if (w->last_of &&
		    w->last_of->current != w->last_of->nsources - 1)
			continue;
		r = compaction_write(w, c->row, &e);
		if (r < 0)
			return r;
	}
	if (r == 0)
		r = note_loss(retain, c->row, lost);
	return r < 0 ? r : compaction_write_row_end(w);
}

static bool must_stop(struct compaction_job *j)
{
	j->stopped = j->stop && j->stop(j->arg);
	return j->stopped;
}

/* Tells how much was written beyond *told, if that is much. */
static void tell_written(const struct compaction_job *j,
			 const struct compaction_writer *w, uint64_t *told)
{
	uint64_t now;

	if (!j->wrote)
		return;
	now = compaction_written(w);
	/* It is less than before where a block was compressed. */
	if (now < *told + TOLD_BYTES)
		return;
	j->wrote(j->arg, now - *told);
	*told = now;
}

static int copy_rows(struct compaction_job *j, struct cursor *c,
		     struct retain *retain, struct compaction_writer *w)
{
	struct depth depth = {.levels = j->levels, .to = j->what->to};
	/*
	 * A file of level 0 rewritten by itself may have older files beside it.
	 */
	bool slice = j->what->to == 0;
	/* With masks, only the rows of the input's range. */
	const struct sstable *only =
		j->what->nmasks ? j->what->inputs[0][0] : NULL;
	uint32_t rows = 0, beside = 0;
	uint64_t told = 0;
	int r = cursor_seek_row(c,
				only ? sst_row_min(only) : (struct bytes){0});

	for (; r == 1; r = cursor_next_row(c)) {
		bool whole = !slice && !lies_deeper(&depth, c->row);

		if (only && bytes_cmp(c->row, sst_row_max(only)) > 0)
			return 0;
		r = cut_at_staying(j, c->row, &beside, w);
		if (r == 0)
			r = copy_row(c, retain, whole, w, &j->lost);
		if (r < 0)
			return r;
		tell_written(j, w, &told);
		if (++rows % STOP_ROWS == 0 && must_stop(j))
			return why(-ECANCELED, "the compaction was stopped");
	}
	return r;
}

/*
 * Does the age of the oldest put decide which markers are dropped? Files do not
 * record it: their cells are read for it, in a compaction that a user asked
 * for.
 */
static bool needs_oldest_put(const struct compaction_job *j,
			     const struct inputs *in)
{
	return j->what->major && in->version_markers &&
	       !j->attrs->new_version_behavior &&
	       j->attrs->keep_deleted != KEEP_DELETED_NO;
}

static int oldest_put(struct compaction_job *j, struct cursor *c, int64_t *out)
{
	uint32_t rows = 0;
	int r = cursor_seek_row(c, (struct bytes){0});

	*out = INT64_MAX;
	for (; r == 1; r = cursor_next_row(c)) {
		int in_row = 1;

		for (; in_row == 1; in_row = cursor_next(c))
			if (c->at.kind == CELL_PUT && c->at.ts < *out)
				*out = c->at.ts;
		if (in_row < 0)
			return in_row;
		if (++rows % STOP_ROWS == 0 && must_stop(j))
			return why(-ECANCELED, "the compaction was stopped");
	}
	return r;
}

static struct retain_spec spec_of(const struct compaction_job *j)
{
	return (struct retain_spec){
		.attrs = j->attrs,
		.now_ms = j->now_ms,
		.snapshots = j->snapshots,
		.nsnapshots = j->nsnapshots,
	};
}

static struct compaction_writer writer_of(const struct compaction_job *j,
					  int level)
{
	return (struct compaction_writer){
		.dir = j->dir,
		.cache = j->cache,
		.options = compaction_options(j->tree, j->attrs, level),
		/* Level 0 is judged by its number of files. */
		.file_bytes = level ? j->limits->file_bytes : UINT64_MAX,
		.number = j->number,
		.arg = j->arg,
	};
}

/* Ends the last file, and hands out all. */
static int end_job(struct compaction_job *j, const struct retain *retain,
		   struct compaction_writer *w)
{
	int r = compaction_write_cut(w);

	if (r < 0)
		return r;
	end_loss(retain, j->attrs, &j->lost);
	for (uint32_t i = 0; i < w->ntables; i++)
		j->bytes_out += sst_info(w->tables[i])->file_bytes;
	j->outputs = w->tables;
	j->noutputs = w->ntables;
	w->tables = NULL;
	w->ntables = 0;
	return 0;
}

int compaction_run(struct compaction_job *j)
{
	struct inputs in = {0};
	struct merge merge = {0};
	struct retain *retain = NULL;
	struct retain_spec spec = spec_of(j);
	struct compaction_writer w = writer_of(j, j->what->to);
	int r = inputs_open(&in, j);

	if (r < 0)
		goto out;
	w.last_of = j->what->nmasks ? &merge : NULL;
	spec.major = j->what->major;
	spec.pushed_versions = j->levels->lost.pushed_versions;
	spec.version_markers = in.version_markers;
	merge_init(&merge, in.sources, in.nsources, UINT64_MAX);
	if (needs_oldest_put(j, &in)) {
		r = oldest_put(j, &merge.base, &spec.put_ts_min);
		if (r < 0)
			goto out;
	}
	r = retain_new(&spec, &retain);
	if (r < 0) {
		why(r, "out of memory starting a compaction");
		goto out;
	}
	r = copy_rows(j, &merge.base, retain, &w);
	if (r == 0)
		r = end_job(j, retain, &w);
out:
	compaction_write_free(&w);
	retain_free(retain);
	cursor_close(&merge.base);
	inputs_close(&in);
	return r;
}

int flush_run(struct compaction_job *j, struct cursor *from, bool trim)
{
	struct retain *retain;
	struct retain_spec spec = spec_of(j);
	struct compaction_writer w = writer_of(j, 0);
	bool expires = j->attrs->ttl_ms != TTL_FOREVER;
	int r;

	spec.flush = true;
	spec.trim = trim;
	spec.version_markers = true;
	r = retain_new(&spec, &retain);
	if (r < 0)
		return why(r, "out of memory starting a flush");
	r = cursor_seek_row(from, (struct bytes){0});
	while (r == 1) {
		struct bytes row = from->row;
		/* Of a flush that matters only to what expires. */
		bool whole = expires &&
			     !levels_overlap_below(j->levels, -1, row, row);

		r = copy_row(from, retain, whole, &w, &j->lost);
		if (r == 0)
			r = cursor_next_row(from);
	}
	if (r == 0)
		r = end_job(j, retain, &w);
	compaction_write_free(&w);
	retain_free(retain);
	return r;
}
