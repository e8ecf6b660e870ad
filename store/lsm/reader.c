#include "store/lsm/reader.h"

#include <errno.h>
#include <stdlib.h>

/* May a file hold anything of [min, max], not older than @ts_min? */
static bool file_matters(const struct sstable *t,
			 const struct reader_spec *spec)
{
	const struct sst_info *i = sst_info(t);

	if (spec->row_min.len &&
	    bytes_cmp(buf_bytes(&i->row_max), spec->row_min) < 0)
		return false;
	if (spec->row_max.len &&
	    bytes_cmp(buf_bytes(&i->row_min), spec->row_max) > 0)
		return false;
	/*
	 * What is older than the range neither shows nor hides anything in
	 * it. What is newer may have pushed versions out.
	 */
	return spec->visible.raw || i->ts_max >= spec->visible.ts_min;
}

static void add_source(struct reader *r, struct cursor *c)
{
	r->sources[r->nsources++].cursor = c;
}

static int allocate(struct reader *r, const struct levels *l)
{
	size_t n0 = l->level[0].nfiles, nmem = r->view->nmem;
	size_t nl = LEVELS_MAX - 1, sources = n0 + nmem + nl;
	uint8_t *p;

	p = calloc(1, sources * sizeof(*r->sources) + nmem * sizeof(*r->mem) +
			      n0 * sizeof(*r->level0) +
			      nl * sizeof(*r->levels));
	if (!p)
		return why(-ENOMEM, "out of memory");
	r->memory = p;
	r->sources = (struct merge_source *)p;
	p += sources * sizeof(*r->sources);
	r->mem = (struct mem_cursor *)p;
	p += nmem * sizeof(*r->mem);
	r->level0 = (struct sst_cursor *)p;
	p += n0 * sizeof(*r->level0);
	r->levels = (struct level_cursor *)p;
	return 0;
}

static bool level_matters(const struct level *l, const struct reader_spec *spec)
{
	if (!l->nfiles)
		return false;
	if (spec->row_min.len &&
	    bytes_cmp(buf_bytes(&sst_info(l->files[l->nfiles - 1])->row_max),
		      spec->row_min) < 0)
		return false;
	return !spec->row_max.len ||
	       bytes_cmp(buf_bytes(&sst_info(l->files[0])->row_min),
			 spec->row_max) <= 0;
}

int reader_open(struct reader *r, struct tree_view *view, uint32_t tree,
		const struct reader_spec *spec)
{
	const struct levels *l = view->levels;
	int err;

	*r = (struct reader){.view = view, .columns = spec->columns};
	err = allocate(r, l);
	if (err < 0)
		goto fail;
	for (uint32_t i = 0; i < view->nmem; i++) {
		struct memtree_stat st;

		if (!memtable_tree_stat(view->mem[i], tree, &st))
			continue;
		memtable_cursor(view->mem[i], tree, &r->mem[r->nmem]);
		add_source(r, &r->mem[r->nmem++].base);
	}
	for (uint32_t i = 0; i < l->level[0].nfiles; i++) {
		struct sstable *t = l->level[0].files[i];

		if (!file_matters(t, spec))
			continue;
		sst_cursor(t, &r->level0[r->nlevel0]);
		add_source(r, &r->level0[r->nlevel0++].base);
	}
	for (int i = 1; i < LEVELS_MAX; i++) {
		const struct level *lv = &l->level[i];

		if (!level_matters(lv, spec))
			continue;
		level_cursor(lv, &r->levels[r->nlevels]);
		add_source(r, &r->levels[r->nlevels++].base);
	}
	merge_init(&r->merge, r->sources, r->nsources, spec->seq);
	err = visible_new(&spec->visible, &r->visible);
	if (err == 0)
		return 0;
	why(err, "out of memory");
fail:
	reader_close(r);
	return err;
}

void reader_close(struct reader *r)
{
	if (r->merge.base.ops)
		cursor_close(&r->merge.base);
	for (uint32_t i = 0; i < r->nsources; i++)
		cursor_close(r->sources[i].cursor);
	visible_free(r->visible);
	free(r->memory);
	tree_view_unref(r->view);
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

/* From the entry that it stands on to one whose column is in the list. */
static int match_list(struct reader *r, int found)
{
	const struct reader_columns *k = r->columns;

	while (found > 0) {
		int c;

		while (r->column < k->nnames &&
		       bytes_cmp(k->names[r->column],
				 reader_entry(r)->qualifier) < 0)
			r->column++;
		if (r->column == k->nnames)
			return 0;
		c = bytes_cmp(k->names[r->column], reader_entry(r)->qualifier);
		if (c == 0)
			return 1;
		found = visible_seek(r->visible, k->names[r->column],
				     INT64_MAX);
	}
	return found;
}

static int restrict_columns(struct reader *r, int found)
{
	if (found <= 0 || !r->columns)
		return found;
	if (r->columns->names)
		found = match_list(r, found);
	if (found > 0 && past_stop(r))
		return 0;
	return found;
}

int reader_row(struct reader *r)
{
	const struct reader_columns *k = r->columns;
	int found;

	visible_row(r->visible, &r->merge.base);
	r->column = 0;
	if (k && k->names)
		found = k->nnames ? visible_seek(r->visible, k->names[0],
						 INT64_MAX)
				  : 0;
	else if (k && k->has_start)
		found = visible_seek(r->visible, k->start, INT64_MAX);
	else
		found = visible_next(r->visible);
	return restrict_columns(r, found);
}

int reader_next(struct reader *r)
{
	return restrict_columns(r, visible_next(r->visible));
}

int reader_next_column(struct reader *r)
{
	visible_skip_column(r->visible);
	return reader_next(r);
}
