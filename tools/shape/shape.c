#include "tools/shape/shape.h"

#include <errno.h>
#include <stdlib.h>

#include "store/value/array.h"

static int no_memory(void)
{
	return why(-ENOMEM, "out of memory for a picture");
}

static int by_id(const void *a, const void *b)
{
	const struct shape_table *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int by_size(const void *a, const void *b)
{
	const struct shape_table *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return bytes_cmp(x->name, y->name);
}

static int compare(size_t x, size_t y)
{
	return (x > y) - (x < y);
}

static int by_file(const void *a, const void *b)
{
	const struct shape_file *x = a, *y = b;
	int c = compare(x->table, y->table);

	if (!c)
		c = bytes_cmp(x->family, y->family);
	if (!c)
		c = compare(x->level, y->level);
	return c ? c : bytes_cmp(x->row, y->row);
}

static int by_part(const void *a, const void *b)
{
	const struct shape_part *x = a, *y = b;
	int c = compare(x->table, y->table);

	return c ? c : bytes_cmp(x->row, y->row);
}

static int by_call(const void *a, const void *b)
{
	const struct shape_call *x = a, *y = b;
	int c = compare(x->table, y->table);

	return c ? c : compare((size_t)x->minute_ms, (size_t)y->minute_ms);
}

/* The table of the item's id; NULL: it is dropped, or one too many. */
static struct shape_table *table_of(const struct shape *s, uint64_t id)
{
	const struct shape_table key = {.id = id};

	return s->ntables ? bsearch(&key, s->tables, s->ntables, sizeof(key),
				    by_id)
			  : NULL;
}

static int add_table(struct shape *s, const struct shape_item *i)
{
	if (ARRAY_RESERVE(s->tables, s->cap[0], s->ntables + 1) < 0)
		return no_memory();
	s->tables[s->ntables++] =
		(struct shape_table){.id = i->table, .name = i->name};
	return 0;
}

static int add_file(struct shape *s, struct shape_table *t,
		    const struct shape_item *i)
{
	if (ARRAY_RESERVE(s->files_of, s->cap[1], s->nfiles + 1) < 0)
		return no_memory();
	s->files_of[s->nfiles++] = (struct shape_file){
		.table = i->table,
		.family = i->name,
		.row = i->row,
		.last = i->last,
		.number = i->n[0],
		.level = i->n[1],
		.bytes = i->n[2],
		.entries = i->n[3],
		.oldest = (int64_t)i->n[4],
		.newest = (int64_t)i->n[5],
	};
	t->bytes += i->n[2];
	t->entries += i->n[3];
	t->files++;
	s->bytes += i->n[2];
	s->files++;
	return 0;
}

static int add_part(struct shape *s, const struct shape_item *i)
{
	if (ARRAY_RESERVE(s->parts, s->cap[2], s->nparts + 1) < 0)
		return no_memory();
	s->parts[s->nparts++] = (struct shape_part){i->table, i->row, i->n[0]};
	return 0;
}

static int add_call(struct shape *s, struct shape_table *t,
		    const struct shape_item *i)
{
	struct shape_call *c;

	if (ARRAY_RESERVE(s->calls, s->cap[3], s->ncalls + 1) < 0)
		return no_memory();
	c = &s->calls[s->ncalls++];
	*c = (struct shape_call){
		.table = i->table,
		.row = i->row,
		.minute_ms = (int64_t)i->n[0],
		.write = i->n[1] ? CALL_WRITE : CALL_READ,
		.weight = (double)i->n[2] / SHAPE_WEIGHT,
	};
	t->calls[c->write] += c->weight;
	return 0;
}

static int add_day(struct shape *s, const struct shape_item *i)
{
	if (ARRAY_RESERVE(s->days, s->cap[4], s->ndays + 1) < 0)
		return no_memory();
	/* They come in order, so that who draws can rely on it. */
	if (i->n[0] > 1000000 ||
	    (s->ndays && (int64_t)i->n[0] <= s->days[s->ndays - 1].day))
		return why(-EPROTO, "the store says of itself what cannot be");
	s->days[s->ndays++] = (struct shape_day){(int64_t)i->n[0], i->n[1]};
	return 0;
}

/* What is no table; tables are sorted by their ids. */
static int add(struct shape *s, const struct shape_item *i)
{
	struct shape_table *t = table_of(s, i->table);

	switch (i->kind) {
	case SHAPE_NOW:
		s->now_ms = (int64_t)i->n[0];
		s->since_ms = (int64_t)i->n[1];
		s->told = i->n[2] != 0;
		return 0;
	case SHAPE_OTHERS:
		s->others += i->n[0];
		s->files += i->n[0];
		s->bytes += i->n[1];
		return 0;
	case SHAPE_DAY:
		return add_day(s, i);
	default:
		break;
	}
	if (!t)
		return 0;
	switch (i->kind) {
	case SHAPE_FILE:
		return add_file(s, t, i);
	case SHAPE_PART:
		return add_part(s, i);
	case SHAPE_MEMORY:
		t->memory += i->n[0];
		s->memory += i->n[0];
		return 0;
	case SHAPE_CALL:
		return add_call(s, t, i);
	}
	return 0;
}

/* Walks over the items: tables only, or all others. */
static int walk(struct shape *s, bool tables)
{
	struct bytes rest = buf_bytes(&s->text);
	struct shape_item i;
	int r, failed = 0;

	while (failed == 0 && (r = store_shape_next(&rest, &i)) != 0) {
		if (r < 0)
			return r;
		if (tables != (i.kind == SHAPE_TABLE))
			continue;
		failed = tables ? add_table(s, &i) : add(s, &i);
	}
	return failed;
}

struct place {
	uint64_t id;
	size_t at;
};

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* The place in tables of the one with this id; it is there. */
static size_t place_of(const struct place *of, size_t n, uint64_t id)
{
	const struct place key = {.id = id};
	const struct place *p = bsearch(&key, of, n, sizeof(key), by_place);

	return p ? p->at : 0;
}

/* Sorts the tables by size and what is of them by table. */
static int arrange(struct shape *s)
{
	struct place *of = calloc(s->ntables + 1, sizeof(*of));

	if (!of)
		return no_memory();
	qsort(s->tables, s->ntables, sizeof(*s->tables), by_size);
	for (size_t i = 0; i < s->ntables; i++)
		of[i] = (struct place){s->tables[i].id, i};
	qsort(of, s->ntables, sizeof(*of), by_place);
	for (size_t i = 0; i < s->nfiles; i++)
		s->files_of[i].table =
			place_of(of, s->ntables, s->files_of[i].table);
	for (size_t i = 0; i < s->nparts; i++)
		s->parts[i].table = place_of(of, s->ntables, s->parts[i].table);
	for (size_t i = 0; i < s->ncalls; i++)
		s->calls[i].table = place_of(of, s->ntables, s->calls[i].table);
	free(of);
	if (s->nfiles)
		qsort(s->files_of, s->nfiles, sizeof(*s->files_of), by_file);
	if (s->nparts)
		qsort(s->parts, s->nparts, sizeof(*s->parts), by_part);
	if (s->ncalls)
		qsort(s->calls, s->ncalls, sizeof(*s->calls), by_call);
	for (size_t i = s->nfiles; i-- > 0;) {
		s->tables[s->files_of[i].table].file = i;
		s->tables[s->files_of[i].table].nfiles++;
	}
	for (size_t i = s->nparts; i-- > 0;) {
		s->tables[s->parts[i].table].part = i;
		s->tables[s->parts[i].table].nparts++;
	}
	for (size_t i = s->ncalls; i-- > 0;) {
		s->tables[s->calls[i].table].call = i;
		s->tables[s->calls[i].table].ncalls++;
	}
	return 0;
}

int shape_read(struct shape *s)
{
	int r = walk(s, true);

	if (r == 0 && s->ntables)
		qsort(s->tables, s->ntables, sizeof(*s->tables), by_id);
	if (r == 0)
		r = walk(s, false);
	return r < 0 || !s->ntables ? r : arrange(s);
}

int shape_load(struct store *store, struct shape *out)
{
	int r;

	*out = (struct shape){0};
	r = store_shape(store, &out->text);
	return r < 0 ? r : shape_read(out);
}

void shape_free(struct shape *s)
{
	buf_free(&s->text);
	free(s->tables);
	free(s->files_of);
	free(s->parts);
	free(s->calls);
	free(s->days);
}
