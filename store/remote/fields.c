#include "store/remote/fields.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "store/front/args.h"
#include "store/remote/wire.h"

/* A walk over fields, which reads them from @in or appends them to @out. */
struct walk {
	bool reads;
	struct decoder in;
	struct encoder out;
	int err; /* no memory for what is read */
};

/* What was read cannot be. Nothing that is put is refused so. */
static void refuse(struct walk *w)
{
	assert(w->reads);
	w->in.bad = true;
}

static bool is_over(const struct walk *w)
{
	return w->err < 0 || w->in.bad;
}

/* Each gives the value that was put or read. */
static uint64_t walk_number(struct walk *w, uint64_t v, size_t size)
{
	assert(size <= sizeof(v));
	if (w->reads)
		return take_le(&w->in, size);
	put_le(&w->out, v, size);
	return v;
}

static int64_t walk_i64(struct walk *w, int64_t v)
{
	return (int64_t)walk_number(w, (uint64_t)v, 8);
}

static bool walk_bool(struct walk *w, bool v)
{
	uint64_t n = walk_number(w, v, 1);

	if (n > 1)
		refuse(w);
	return n == 1;
}

static void walk_bytes(struct walk *w, struct bytes *s, size_t max)
{
	if (w->reads)
		*s = take_bytes(&w->in, max);
	else
		put_bytes(&w->out, *s);
}

static void walk_column(struct walk *w, struct bytes *family,
			struct bytes *qualifier)
{
	walk_bytes(w, family, FAMILY_LEN_MAX);
	walk_bytes(w, qualifier, QUALIFIER_LEN_MAX);
}

/* A name of up to @max bytes; one that is bad is read as an empty one. */
static void walk_name(struct walk *w, char *name, size_t max)
{
	struct bytes s = w->reads ? (struct bytes){0} : bytes_str(name);

	walk_bytes(w, &s, max);
	if (!w->reads)
		return;
	if (s.len && memchr(s.data, '\0', s.len))
		refuse(w);
	if (is_over(w))
		s.len = 0;
	bytes_copy((uint8_t *)name, s.data, s.len);
	name[s.len] = '\0';
}

static void walk_schema(struct walk *w, struct schema *schema)
{
	struct buf text = {0};
	struct bytes s;

	if (!w->reads && w->out.err == 0)
		w->out.err = schema_encode(schema, &text);
	s = buf_bytes(&text);
	walk_bytes(w, &s, SCHEMA_TEXT_MAX);
	buf_free(&text);
	if (w->reads && !is_over(w) && schema_decode(s, schema) < 0)
		refuse(w);
}

/* What an array is of: its bytes in memory, and the fewest in a message. */
struct item {
	size_t size, least, most;
	void (*walk)(struct walk *w, void *at);
};

/*
 * The number of an array's items, then each. Those that are read are allocated,
 * as many as *n says at the end. Gives the array.
 */
static void *walk_items(struct walk *w, const struct item *item,
			const void *items, size_t *n)
{
	size_t count = walk_number(w, *n, 4);
	uint8_t *at = (uint8_t *)(uintptr_t)items;

	if (w->reads) {
		at = NULL;
		*n = 0;
		if (count > decoder_left(&w->in) / item->least ||
		    count > item->most)
			refuse(w);
		if (is_over(w) || !count)
			return NULL;
		at = calloc(count, item->size);
		if (!at) {
			w->err = -ENOMEM;
			return NULL;
		}
		*n = count;
	}
	for (size_t i = 0; i < count && !is_over(w); i++)
		item->walk(w, at + i * item->size);
	return at;
}

static void walk_check(struct walk *w, void *at)
{
	struct check *k = at;

	k->op = (uint8_t)walk_number(w, k->op, 1);
	walk_column(w, &k->family, &k->qualifier);
	k->ts = walk_i64(w, k->ts);
	walk_bytes(w, &k->value, WIRE_FRAME_MAX);
}

static void walk_change(struct walk *w, void *at)
{
	struct change *c = at;

	c->op = (uint8_t)walk_number(w, c->op, 1);
	walk_column(w, &c->family, &c->qualifier);
	c->ts = walk_i64(w, c->ts);
	c->ttl_ms = walk_number(w, c->ttl_ms, 8);
	c->delta = walk_i64(w, c->delta);
	c->ts_min = walk_i64(w, c->ts_min);
	c->ts_max = walk_i64(w, c->ts_max);
	walk_bytes(w, &c->value, WIRE_FRAME_MAX);
	if (w->reads)
		c->ts_given = -1; /* stays so for a row without families */
}

static void walk_mutation(struct walk *w, void *at)
{
	static const struct item checks = {
		sizeof(struct check), 1 + 4 + 4 + 8 + 4, SIZE_MAX, walk_check};
	static const struct item changes = {sizeof(struct change),
					    1 + 4 + 4 + 5 * 8 + 4, SIZE_MAX,
					    walk_change};
	struct mutation *m = at;

	walk_bytes(w, &m->row, ROW_LEN_MAX);
	m->checks = walk_items(w, &checks, m->checks, &m->nchecks);
	m->changes = walk_items(w, &changes, m->changes, &m->nchanges);
}

static void walk_rows(struct walk *w, struct field *f)
{
	static const struct item rows = {sizeof(struct mutation), 4 + 4 + 4,
					 WIRE_ROWS_MAX, walk_mutation};
	size_t n = f->n;

	f->rows = walk_items(w, &rows, f->rows, &n);
	f->n = n;
}

static void walk_row(struct walk *w, struct field *f)
{
	if (w->reads)
		f->rows = calloc(1, sizeof(*f->rows));
	f->n = 1;
	if (f->rows)
		walk_mutation(w, f->rows);
	else
		w->err = -ENOMEM;
}

static void walk_given(struct walk *w, struct mutation *rows, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		for (size_t k = 0; k < rows[i].nchanges; k++) {
			struct change *c = &rows[i].changes[k];

			c->ts_given = walk_i64(w, c->ts_given);
			c->result_int = walk_i64(w, c->result_int);
		}
	}
}

static void walk_given_some(struct walk *w, struct field *f)
{
	uint64_t n = walk_number(w, f->n, 4);

	if (n > f->n)
		refuse(w);
	f->n = is_over(w) ? 0 : n;
	walk_given(w, f->rows, f->n);
}

static void walk_column_name(struct walk *w, void *at)
{
	struct column_name *c = at;

	c->whole_family = walk_bool(w, c->whole_family);
	walk_column(w, &c->family, &c->qualifier);
}

static void walk_family_range(struct walk *w, void *at)
{
	struct family_range *f = at;

	walk_bytes(w, &f->family, FAMILY_LEN_MAX);
	f->ts_min = walk_i64(w, f->ts_min);
	f->ts_max = walk_i64(w, f->ts_max);
}

/* The flags of a scan, from the lowest bit on. */
static void walk_spec_flags(struct walk *w, struct scan_spec *s, bool *filter)
{
	bool *flags[] = {
		&s->reversed,
		&s->raw,
		&s->keys_only,
		&s->row_start_exclusive,
		&s->row_stop_inclusive,
		&s->has_qual_start,
		&s->qual_start_exclusive,
		&s->has_qual_stop,
		&s->qual_stop_inclusive,
		filter,
		&s->has_as_of,
		&s->replaced,
	};
	const size_t n = sizeof(flags) / sizeof(flags[0]);
	uint64_t bits = 0;

	for (size_t i = 0; i < n; i++)
		bits |= (uint64_t)*flags[i] << i;
	bits = walk_number(w, bits, 4);
	for (size_t i = 0; i < n; i++)
		*flags[i] = bits >> i & 1;
	if (bits >> n)
		refuse(w);
}

static void walk_spec(struct walk *w, struct scan_spec *s, struct bytes *text)
{
	static const struct item columns = {sizeof(struct column_name),
					    1 + 4 + 4, SCAN_COLUMNS_MAX,
					    walk_column_name};
	static const struct item ranges = {sizeof(struct family_range),
					   4 + 8 + 8, SCAN_COLUMNS_MAX,
					   walk_family_range};
	bool filter = s->filter;

	s->granularity = (uint8_t)walk_number(w, s->granularity, 1);
	walk_spec_flags(w, s, &filter);
	walk_bytes(w, &s->row_start, ROW_LEN_MAX + 1);
	walk_bytes(w, &s->row_stop, ROW_LEN_MAX + 1);
	walk_bytes(w, &s->qual_start, QUALIFIER_LEN_MAX + 1);
	walk_bytes(w, &s->qual_stop, QUALIFIER_LEN_MAX + 1);
	s->columns = walk_items(w, &columns, s->columns, &s->ncolumns);
	s->ts_min = walk_i64(w, s->ts_min);
	s->ts_max = walk_i64(w, s->ts_max);
	s->versions = (uint32_t)walk_number(w, s->versions, 4);
	s->family_ranges =
		walk_items(w, &ranges, s->family_ranges, &s->nfamily_ranges);
	s->family_limit = walk_number(w, s->family_limit, 8);
	s->family_offset = walk_number(w, s->family_offset, 8);
	s->limit_rows = walk_number(w, s->limit_rows, 8);
	s->as_of = walk_i64(w, s->as_of);
	if (filter)
		walk_bytes(w, text, WIRE_FRAME_MAX);
}

static void walk_tables(struct walk *w, struct snapshot_tables *tables)
{
	uint64_t n = walk_number(w, tables->n, 4);

	for (uint64_t i = 0; i < n && !is_over(w); i++) {
		struct snapshot_table t = {0};

		if (!w->reads)
			t = tables->at[i];
		t.id = walk_number(w, t.id, 8);
		walk_name(w, t.name, TABLE_NAME_LEN_MAX);
		walk_schema(w, &t.schema);
		if (!w->reads)
			continue;
		if (!is_over(w))
			w->err = snapshot_tables_add(tables, t.id, t.name,
						     &t.schema);
		schema_free(&t.schema);
	}
}

static void walk_alter(struct walk *w, struct alter *a)
{
	a->rest = (uint8_t)walk_number(w, a->rest, 1);
	if (a->rest > ALTER_DROP)
		refuse(w);
	a->dry = walk_bool(w, a->dry);
	a->has_from = walk_bool(w, a->has_from);
	a->from = walk_number(w, a->from, 8);
	walk_schema(w, &a->to);
	walk_schema(w, &a->drop);
}

static void walk_info(struct walk *w, struct table_info *i)
{
	i->exact = walk_bool(w, i->exact);
	i->rows = walk_number(w, i->rows, 8);
	i->cells = walk_number(w, i->cells, 8);
	i->oldest = walk_i64(w, i->oldest);
	i->newest = walk_i64(w, i->newest);
	i->entries = walk_number(w, i->entries, 8);
	i->bytes = walk_number(w, i->bytes, 8);
	i->files = walk_number(w, i->files, 8);
	i->has_ttl = walk_bool(w, i->has_ttl);
	i->damaged = walk_number(w, i->damaged, 8);
}

static void walk_space(struct walk *w, struct store_space *s)
{
	s->total_bytes = walk_number(w, s->total_bytes, 8);
	s->free_bytes = walk_number(w, s->free_bytes, 8);
	s->avail_bytes = walk_number(w, s->avail_bytes, 8);
}

static void walk_checking(struct walk *w, struct store_checking *at)
{
	at->file = walk_number(w, at->file, 8);
	at->block = walk_number(w, at->block, 8);
	at->until = walk_number(w, at->until, 8);
	at->done = walk_number(w, at->done, 8);
}

static void walk_hold_file(struct walk *w, void *at)
{
	struct hold_file *f = at;

	walk_name(w, f->name, HOLD_NAME_MAX);
	/* A name is a file's in the store's directory, and only that. */
	if (w->reads &&
	    (!f->name[0] || f->name[0] == '.' || strchr(f->name, '/')))
		refuse(w);
	f->bytes = walk_number(w, f->bytes, 8);
	f->size = walk_number(w, f->size, 8);
	f->sum = walk_number(w, f->sum, 8);
	if (w->reads && f->bytes > f->size)
		refuse(w);
}

static void walk_hold(struct walk *w, struct hold *h)
{
	static const struct item files = {sizeof(struct hold_file), 4 + 3 * 8,
					  SIZE_MAX, walk_hold_file};
	struct bytes catalog = buf_bytes(&h->catalog);

	h->store_id = walk_number(w, h->store_id, 8);
	h->taken_ms = walk_i64(w, h->taken_ms);
	walk_bytes(w, &catalog, SIZE_MAX);
	if (w->reads && !is_over(w))
		w->err = buf_set(&h->catalog, catalog);
	h->files = walk_items(w, &files, h->files, &h->nfiles);
	if (w->reads && !is_over(w) && !h->nfiles)
		refuse(w);
}

static void walk_cell(struct walk *w, struct cell *c)
{
	if (!w->reads)
		put_cell(&(struct cells_out){.e = &w->out}, c);
	else if (!take_cell(&w->in, c))
		refuse(w);
}

static void walk_rest(struct walk *w, struct bytes *s)
{
	if (w->reads)
		*s = take_raw(&w->in, decoder_left(&w->in));
	else
		put_raw(&w->out, s->data, s->len);
}

static void walk_field(struct walk *w, char letter, struct field *f)
{
	switch (letter) {
	case '1':
		f->n = walk_number(w, f->n, 1);
		break;
	case 'b':
		f->n = walk_bool(w, f->n);
		break;
	case '8':
	case 'i':
		f->n = walk_number(w, f->n, 8);
		break;
	case 's':
		walk_bytes(w, &f->s, WIRE_FRAME_MAX);
		break;
	case 'k':
		walk_bytes(w, &f->s, TABLE_NAME_LEN_MAX);
		break;
	case 'n':
		walk_name(w, f->name, TABLE_NAME_LEN_MAX);
		break;
	case 'c':
		walk_schema(w, &f->schema);
		break;
	case 'm':
		walk_row(w, f);
		break;
	case 'M':
		walk_rows(w, f);
		break;
	case 'g':
		walk_given(w, f->rows, 1);
		break;
	case 'G':
		walk_given_some(w, f);
		break;
	case 'q':
		walk_spec(w, &f->spec, &f->s);
		break;
	case 'v':
		walk_cell(w, &f->cell);
		break;
	case 'l':
		walk_tables(w, &f->tables);
		break;
	case 'a':
		walk_alter(w, &f->alter);
		break;
	case 'I':
		walk_info(w, &f->info);
		break;
	case 'p':
		walk_space(w, &f->space);
		break;
	case 'C':
		walk_checking(w, &f->checking);
		break;
	case 'h':
		walk_hold(w, f->hold);
		break;
	case 'r':
		walk_rest(w, &f->s);
		break;
	default:
		f->n = walk_number(w, f->n, 4);
		break;
	}
}

void put_fields(struct encoder *e, const char *letters, struct field *fields)
{
	struct walk w = {.out = *e};

	for (; *letters; letters++)
		walk_field(&w, *letters, fields++);
	*e = w.out;
}

int take_fields(struct decoder *d, const char *letters, struct field *fields)
{
	struct walk w = {.reads = true, .in = *d};

	assert(strlen(letters) <= FIELDS_MAX);
	for (; *letters; letters++)
		walk_field(&w, *letters, fields++);
	*d = w.in;
	return w.err < 0 ? why(w.err, "out of memory for a message") : 0;
}

static void rows_free(struct field *f)
{
	for (uint64_t i = 0; f->rows && i < f->n; i++) {
		free((void *)(uintptr_t)f->rows[i].checks);
		free(f->rows[i].changes);
	}
	free(f->rows);
}

void fields_free(const char *letters, struct field *fields)
{
	for (; *letters; letters++, fields++) {
		switch (*letters) {
		case 'c':
			schema_free(&fields->schema);
			break;
		case 'm':
		case 'M':
			rows_free(fields);
			break;
		case 'q':
			free((void *)(uintptr_t)fields->spec.columns);
			free((void *)(uintptr_t)fields->spec.family_ranges);
			break;
		case 'l':
			snapshot_tables_free(&fields->tables);
			break;
		case 'a':
			alter_free(&fields->alter);
			break;
		}
	}
}
