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

/* May a file hold anything of [min, max] that matters? */
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
	return reader_needs(i, &spec->visible);
}

static void add_source(struct reader *r, struct cursor *c)
{
	assert(c->ops);
	r->sources[r->nsources++].cursor = c;
}

/* Nothing is cleared: each cursor is made where it is added. */
static int allocate(struct reader *r, const struct levels *l, size_t nmem,
		    const struct reader_spec *spec)
{
	size_t n0 = l->level[0].nfiles;
	size_t nl = 0, sources, size;
	uint8_t *p;

	for (int i = 1; i < LEVELS_MAX; i++)
		nl += l->level[i].nfiles > 0;
	sources = n0 + nmem + nl;
	size = sources * sizeof(*r->sources) + nmem * sizeof(*r->mem) +
	       n0 * sizeof(*r->level0) + nl * sizeof(*r->levels) + 1;
	p = spec->memory;
	if (size > spec->memory_bytes)
		p = r->memory = malloc(size);
	if (!p)
		return why(-ENOMEM, "out of memory");
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

static struct alive_place place_of(const struct reader_guide *g,
				   struct bytes row)
{
	return (struct alive_place){g->tree, g->schema, row};
}

static int guide_versions(const struct visible_guide *base, struct bytes row,
			  struct bytes qualifier, int64_t ts, int64_t *out,
			  size_t n, uint64_t *above)
{
	const struct reader_guide *g = (const struct reader_guide *)base;
	struct alive_place p = place_of(g, row);

	return alive_versions(g->alive, &p, qualifier, g->seq, ts, out, n,
			      above);
}

static int guide_hidden(const struct visible_guide *base, struct bytes row,
			struct bytes qualifier, struct buf *to)
{
	const struct reader_guide *g = (const struct reader_guide *)base;
	struct alive_place p = place_of(g, row);

	return alive_hidden(g->alive, &p, qualifier, g->seq, to);
}

static void guide_found_hidden(const struct visible_guide *base,
			       struct bytes row, struct bytes from,
			       const struct bytes *to, uint64_t walked)
{
	const struct reader_guide *g = (const struct reader_guide *)base;
	struct alive_place p = place_of(g, row);

	alive_found_hidden(g->alive, &p, from, to, g->seq, walked);
}

static void set_guide(struct reader *r, const struct superversion *view,
		      uint32_t tree, const struct reader_spec *spec)
{
	r->guide = (struct reader_guide){
		.base = {.patience = spec->alive ? spec->alive->patience : 0,
			 .versions = guide_versions,
			 .hidden = guide_hidden,
			 .found_hidden = guide_found_hidden},
		.alive = spec->alive,
		.tree = tree,
		.schema = view->st->version,
		.seq = spec->seq,
	};
}

static void begin(struct reader *r, const struct superversion *view,
		  uint32_t family, const struct reader_spec *spec)
{
	*r = (struct reader){
		.columns = spec->columns,
		.spec = spec->visible,
		.os = spec->os,
	};
	set_guide(r, view, view->st->trees[family]->id, spec);
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

int reader_open(struct reader *r, const struct superversion *view,
		uint32_t family, const struct reader_spec *spec)
{
	const struct levels *l = view->levels[family];
	uint32_t tree = view->st->trees[family]->id;
	int err;

	begin(r, view, family, spec);
	err = allocate(r, l, view->nmem, spec);
	if (err < 0) {
		reader_close(r);
		return err;
	}
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
		r->level0[r->nlevel0].ahead_max =
			sst_ahead_of(l->level[0].nfiles);
		add_source(r, &r->level0[r->nlevel0++].base);
	}
	for (int i = 1; i < LEVELS_MAX; i++) {
		const struct level *lv = &l->level[i];

		if (!level_matters(lv, spec))
			continue;
		level_cursor(lv, &r->levels[r->nlevels]);
		add_source(r, &r->levels[r->nlevels++].base);
	}
	assert(r->nmem <= view->nmem && r->nlevel0 <= l->level[0].nfiles);
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
