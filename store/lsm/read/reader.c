#include "store/lsm/read/reader.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

bool reader_needs(const struct sst_info *i, const struct visible_spec *spec)
{
	/*
	 * As of a moment, what is newer only shows how much may be missing
	 * where versions were pushed out.
	 */
	if (spec->has_as_of && i->ts_min > spec->as_of &&
	    (!spec->pushed_versions || i->seq_min > spec->pushed_seq))
		return false;
	/*
	 * What is older than the range neither shows nor hides anything in
	 * it. What is newer may have pushed versions out.
	 */
	return spec->raw || i->ts_max >= spec->ts_min;
}

/* Do the rows from those of @first to those of @last meet what is asked for? */
static bool overlaps(const struct sstable *first, const struct sstable *last,
		     const struct reader_spec *spec)
{
	if (spec->row_min.len &&
	    bytes_cmp(sst_row_max(last), spec->row_min) < 0)
		return false;
	return !spec->row_max.len ||
	       bytes_cmp(sst_row_min(first), spec->row_max) <= 0;
}

/* Room for @n cursors. Nothing is cleared: each is made where it is added. */
static int allocate(struct reader *r, size_t n, const struct reader_spec *spec)
{
	size_t size = n * (sizeof(*r->inputs) + sizeof(*r->sources)) + 1;

	r->inputs = spec->memory;
	if (size > spec->memory_bytes)
		r->inputs = r->memory = malloc(size);
	if (!r->inputs)
		return why(-ENOMEM, "out of memory");
	r->sources = (struct merge_source *)(r->inputs + n);
	return 0;
}

/* One more, which the caller makes. */
static union reader_input *add_input(struct reader *r)
{
	union reader_input *in = &r->inputs[r->nsources];

	r->sources[r->nsources++].cursor = &in->base;
	return in;
}

static void begin(struct reader *r, const struct superversion *view,
		  uint32_t family, const struct reader_spec *spec)
{
	*r = (struct reader){
		.columns = spec->columns,
		.spec = spec->visible,
		.os = spec->os,
	};
	alive_guide(&r->guide, spec->alive, view->st->trees[family]->id,
		    view->st->version, spec->seq);
}

void reader_over(struct reader *r, const struct superversion *view,
		 uint32_t family, const struct reader_spec *spec,
		 struct merge_source *sources, uint32_t n)
{
	begin(r, view, family, spec);
	r->sources = sources;
	r->nsources = n;
	merge_init(&r->merge, sources, n, spec->seq);
}

static void add_files(struct reader *r, const struct levels *l,
		      const struct reader_spec *spec)
{
	const struct level *top = &l->level[0];
	union reader_input *in;

	for (uint32_t i = 0; i < top->nfiles; i++) {
		struct sstable *t = top->files[i];

		if (!overlaps(t, t, spec) ||
		    !reader_needs(sst_info(t), &spec->visible))
			continue;
		in = add_input(r);
		sst_cursor(t, &in->file);
		in->file.ahead_max = sst_ahead_of(top->nfiles);
		in->file.no_fill = spec->no_fill;
	}
	for (int i = 1; i < LEVELS_MAX; i++) {
		const struct level *lv = &l->level[i];

		if (!lv->nfiles ||
		    !overlaps(lv->files[0], lv->files[lv->nfiles - 1], spec))
			continue;
		in = add_input(r);
		level_cursor(lv, &in->level);
		in->level.no_fill = spec->no_fill;
	}
}

int reader_open(struct reader *r, const struct superversion *view,
		uint32_t family, const struct reader_spec *spec)
{
	const struct levels *l = view->levels[family];
	uint32_t tree = view->st->trees[family]->id;
	size_t most = view->nmem + l->level[0].nfiles + l->end;
	int err;

	begin(r, view, family, spec);
	err = allocate(r, most, spec);
	if (err < 0) {
		reader_close(r);
		return err;
	}
	for (uint32_t i = 0; i < view->nmem; i++) {
		struct memtree_stat st;

		if (memtable_tree_stat(view->mem[i], tree, &st))
			memtable_cursor(view->mem[i], tree,
					&add_input(r)->memory);
	}
	add_files(r, l, spec);
	assert(r->nsources <= most);
	merge_init(&r->merge, r->sources, r->nsources, spec->seq);
	return 0;
}

void reader_close(struct reader *r)
{
	if (r->merge.base.ops)
		cursor_close(&r->merge.base);
	for (uint32_t i = 0; i < r->nsources; i++)
		cursor_close(r->sources[i].cursor);
	if (r->visible && r->guide.alive && visible_walked(r->visible))
		atomic_fetch_add(&r->guide.alive->walked,
				 visible_walked(r->visible));
	visible_free(r->visible);
	free(r->memory);
	*r = (struct reader){0};
}

static bool past_stop(const struct reader *r)
{
	const struct reader_columns *k = r->columns;
	int c;

	if (!k || !k->has_stop)
		return false;
	c = bytes_cmp(reader_entry(r)->qualifier, k->stop);
	return c > 0 || (c == 0 && !k->stop_inclusive);
}

/* To the first visible entry of the list's present column, or behind it. */
static int seek_name(struct reader *r)
{
	const struct bytes *name = &r->columns->names[r->column];

	assert(r->column < r->columns->nnames);
	visible_until(r->visible, name, true);
	return visible_seek(r->visible, *name, INT64_MAX);
}

/*
 * From the entry that it stands on, or from where the present column of the
 * list has ended, to one whose column is in the list.
 */
static int match_list(struct reader *r, int found)
{
	const struct reader_columns *k = r->columns;

	while (found >= 0 && r->column < k->nnames) {
		int c = found ? bytes_cmp(k->names[r->column],
					  reader_entry(r)->qualifier)
			      : -1;

		if (c == 0)
			return 1;
		if (c < 0 && ++r->column == k->nnames)
			return 0;
		found = seek_name(r);
	}
	return found < 0 ? found : 0;
}

static int restrict_columns(struct reader *r, int found)
{
	if (!r->columns)
		return found;
	if (r->columns->names)
		found = match_list(r, found);
	if (found > 0 && past_stop(r))
		return 0;
	return found;
}

static int make_visible(struct reader *r)
{
	int err;

	if (r->os)
		r->spec.now_ms = os_now_ms(r->os);
	if (r->guide.alive)
		r->spec.guide = &r->guide.base;
	err = visible_new(&r->spec, &r->visible);
	return err < 0 ? why(err, "out of memory") : 0;
}

int reader_row(struct reader *r)
{
	const struct reader_columns *k = r->columns;
	int found;

	if (!r->visible && (found = make_visible(r)) < 0)
		return found;
	visible_row(r->visible, &r->merge.base);
	r->column = 0;
	if (k && k->has_stop)
		visible_until(r->visible, &k->stop, k->stop_inclusive);
	if (k && k->names)
		found = k->nnames ? seek_name(r) : 0;
	else if (k && k->has_start)
		found = visible_seek(r->visible, k->start, INT64_MAX);
	else
		found = visible_next(r->visible);
	return restrict_columns(r, found);
}

int reader_next(struct reader *r)
{
	assert(r->visible);
	return restrict_columns(r, visible_next(r->visible));
}

int reader_next_column(struct reader *r)
{
	visible_skip_column(r->visible);
	return reader_next(r);
}

int reader_seek_behind(struct reader *r, struct bytes qualifier, int64_t ts)
{
	const struct reader_columns *k = r->columns;

	if (k && k->names) {
		while (r->column < k->nnames &&
		       bytes_cmp(k->names[r->column], qualifier) < 0)
			r->column++;
		if (r->column == k->nnames)
			return 0;
		visible_until(r->visible, &k->names[r->column], true);
	}
	return restrict_columns(r, visible_seek(r->visible, qualifier, ts - 1));
}

int reader_seek(struct reader *r, struct bytes qualifier)
{
	return restrict_columns(r,
				visible_seek(r->visible, qualifier, INT64_MAX));
}
