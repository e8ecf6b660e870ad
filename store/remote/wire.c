#include "store/remote/wire.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "store/front/args.h"

size_t wire_begin(struct encoder *e)
{
	size_t at = e->out->len;

	put_u32(e, 0);
	return at;
}

int wire_end(struct encoder *e, size_t at)
{
	size_t len;

	if (e->err)
		return why(e->err, "out of memory for a message");
	len = e->out->len - at - 4;
	if (len > WIRE_FRAME_MAX)
		return why(-EFBIG,
			   "a message of %zu bytes: at most %u go through a "
			   "mount at once",
			   len, WIRE_FRAME_MAX);
	for (int i = 0; i < 4; i++)
		e->out->data[at + (size_t)i] = (uint8_t)(len >> (8 * i));
	return 0;
}

int wire_whole(struct bytes in, struct bytes *frame)
{
	struct decoder d = decoder_of(in);
	uint32_t len;

	if (in.len < 4)
		return 0;
	len = take_u32(&d);
	if (len > WIRE_FRAME_MAX)
		return why(-EPROTO,
			   "a message of %u bytes: at most %u are "
			   "taken",
			   len, WIRE_FRAME_MAX);
	*frame = take_raw(&d, len);
	return !d.bad;
}

void take_name(struct decoder *d, char *out, size_t max)
{
	struct bytes s = take_bytes(d, max);

	if (s.len && memchr(s.data, '\0', s.len))
		d->bad = true;
	if (d->bad)
		s.len = 0;
	if (s.len)
		memcpy(out, s.data, s.len);
	out[s.len] = '\0';
}

int wire_done(const struct decoder *d)
{
	if (d->bad || decoder_left(d))
		return why(-EPROTO, "a message that cannot be understood");
	return 0;
}

void put_schema(struct encoder *e, const struct schema *s)
{
	struct buf text = {0};

	if (e->err == 0)
		e->err = schema_encode(s, &text);
	put_bytes(e, buf_bytes(&text));
	buf_free(&text);
}

void take_schema(struct decoder *d, struct schema *out)
{
	struct bytes s = take_bytes(d, SCHEMA_TEXT_MAX);

	*out = (struct schema){0};
	if (!d->bad && schema_decode(s, out) < 0)
		d->bad = true;
}

/*
 * A walk over the fields of a struct, which appends them or reads them: one
 * description serves both ends.
 */
struct walk {
	struct encoder *out; /* or NULL: */
	struct decoder *in;
};

static void walk_u8(struct walk *w, uint8_t *v)
{
	assert(w->out || w->in);
	if (w->out)
		put_u8(w->out, *v);
	else
		*v = take_u8(w->in);
}

static void walk_u32(struct walk *w, uint32_t *v)
{
	if (w->out)
		put_u32(w->out, *v);
	else
		*v = take_u32(w->in);
}

static void walk_u64(struct walk *w, uint64_t *v)
{
	if (w->out)
		put_u64(w->out, *v);
	else
		*v = take_u64(w->in);
}

static void walk_i64(struct walk *w, int64_t *v)
{
	if (w->out)
		put_i64(w->out, *v);
	else
		*v = take_i64(w->in);
}

static void walk_bytes(struct walk *w, struct bytes *s, size_t max)
{
	if (w->out)
		put_bytes(w->out, *s);
	else
		*s = take_bytes(w->in, max);
}

static void walk_column(struct walk *w, struct bytes *family,
			struct bytes *qualifier)
{
	walk_bytes(w, family, FAMILY_LEN_MAX);
	walk_bytes(w, qualifier, QUALIFIER_LEN_MAX);
}

/*
 * The items of an array: their number, then each of them by @item. When they
 * are read, memory for them is allocated; an item takes at least @least bytes,
 * and there are @most of them at most. 0 or -ENOMEM.
 */
static int walk_items(struct walk *w, void **items, size_t *n, size_t size,
		      size_t least, size_t most,
		      void (*item)(struct walk *w, void *at))
{
	uint32_t count = (uint32_t)*n;

	walk_u32(w, &count);
	if (!w->out) {
		if (count > decoder_left(w->in) / least || count > most)
			w->in->bad = true;
		if (w->in->bad || !count)
			return 0;
		*items = calloc(count, size);
		if (!*items)
			return why(-ENOMEM, "out of memory for a message");
		*n = count;
	}
	for (size_t i = 0; i < count; i++)
		item(w, (uint8_t *)*items + i * size);
	return 0;
}

static void walk_check(struct walk *w, void *at)
{
	struct check *k = at;

	walk_u8(w, &k->op);
	walk_column(w, &k->family, &k->qualifier);
	walk_i64(w, &k->ts);
	walk_bytes(w, &k->value, WIRE_FRAME_MAX);
}

static void walk_change(struct walk *w, void *at)
{
	struct change *c = at;

	walk_u8(w, &c->op);
	walk_column(w, &c->family, &c->qualifier);
	walk_i64(w, &c->ts);
	walk_u64(w, &c->ttl_ms);
	walk_i64(w, &c->delta);
	walk_i64(w, &c->ts_min);
	walk_i64(w, &c->ts_max);
	walk_bytes(w, &c->value, WIRE_FRAME_MAX);
	if (!w->out)
		c->ts_given = -1; /* stays so for a row without families */
}

#define CHECK_LEAST (1 + 4 + 4 + 8 + 4)
#define CHANGE_LEAST (1 + 4 + 4 + 5 * 8 + 4)

static int walk_mutation(struct walk *w, struct mutation *m)
{
	void *items = (void *)(uintptr_t)m->checks;
	int r;

	walk_bytes(w, &m->row, ROW_LEN_MAX);
	r = walk_items(w, &items, &m->nchecks, sizeof(*m->checks), CHECK_LEAST,
		       SIZE_MAX, walk_check);
	m->checks = items;
	if (r < 0)
		return r;
	items = m->changes;
	r = walk_items(w, &items, &m->nchanges, sizeof(*m->changes),
		       CHANGE_LEAST, SIZE_MAX, walk_change);
	m->changes = items;
	return r;
}

void put_mutation(struct encoder *e, const struct mutation *m)
{
	struct mutation copy = *m;

	(void)walk_mutation(&(struct walk){.out = e}, &copy);
}

int take_mutation(struct decoder *d, struct mutation *out)
{
	*out = (struct mutation){0};
	return walk_mutation(&(struct walk){.in = d}, out);
}

void wire_mutation_free(struct mutation *m)
{
	free((void *)(uintptr_t)m->checks);
	free(m->changes);
	*m = (struct mutation){0};
}

void put_given(struct encoder *e, const struct mutation *m)
{
	for (size_t i = 0; i < m->nchanges; i++) {
		put_i64(e, m->changes[i].ts_given);
		put_i64(e, m->changes[i].result_int);
	}
}

void take_given(struct decoder *d, struct mutation *m)
{
	for (size_t i = 0; i < m->nchanges; i++) {
		m->changes[i].ts_given = take_i64(d);
		m->changes[i].result_int = take_i64(d);
	}
}

static void walk_bool(struct walk *w, bool *v)
{
	uint8_t n = *v;

	walk_u8(w, &n);
	if (n > 1)
		w->in->bad = true;
	*v = n == 1;
}

static void walk_column_name(struct walk *w, void *at)
{
	struct column_name *c = at;

	walk_bool(w, &c->whole_family);
	walk_column(w, &c->family, &c->qualifier);
}

static void walk_family_range(struct walk *w, void *at)
{
	struct family_range *f = at;

	walk_bytes(w, &f->family, FAMILY_LEN_MAX);
	walk_i64(w, &f->ts_min);
	walk_i64(w, &f->ts_max);
}

/* The flags of a scan, from the lowest bit on; the last one is @filter. */
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
	};
	const size_t n = sizeof(flags) / sizeof(flags[0]);
	uint32_t bits = 0;

	for (size_t i = 0; i < n; i++)
		bits |= (uint32_t)*flags[i] << i;
	walk_u32(w, &bits);
	for (size_t i = 0; i < n; i++)
		*flags[i] = bits >> i & 1;
	if (bits >> n)
		w->in->bad = true;
}

#define COLUMN_LEAST (1 + 4 + 4)
#define RANGE_LEAST (4 + 8 + 8)

static int walk_spec(struct walk *w, struct scan_spec *s, bool *filter,
		     struct bytes *text)
{
	void *columns = (void *)(uintptr_t)s->columns;
	void *ranges = (void *)(uintptr_t)s->family_ranges;
	int r;

	walk_u8(w, &s->granularity);
	walk_spec_flags(w, s, filter);
	walk_bytes(w, &s->row_start, ROW_LEN_MAX + 1);
	walk_bytes(w, &s->row_stop, ROW_LEN_MAX + 1);
	walk_bytes(w, &s->qual_start, QUALIFIER_LEN_MAX + 1);
	walk_bytes(w, &s->qual_stop, QUALIFIER_LEN_MAX + 1);
	r = walk_items(w, &columns, &s->ncolumns, sizeof(*s->columns),
		       COLUMN_LEAST, SCAN_COLUMNS_MAX, walk_column_name);
	s->columns = columns;
	if (r < 0)
		return r;
	walk_i64(w, &s->ts_min);
	walk_i64(w, &s->ts_max);
	walk_u32(w, &s->versions);
	r = walk_items(w, &ranges, &s->nfamily_ranges,
		       sizeof(*s->family_ranges), RANGE_LEAST, SCAN_COLUMNS_MAX,
		       walk_family_range);
	s->family_ranges = ranges;
	if (r < 0)
		return r;
	walk_u64(w, &s->family_limit);
	walk_u64(w, &s->family_offset);
	walk_u64(w, &s->limit_rows);
	walk_i64(w, &s->as_of);
	if (*filter)
		walk_bytes(w, text, WIRE_FRAME_MAX);
	return 0;
}

void put_spec(struct encoder *e, const struct scan_spec *s, struct bytes filter)
{
	struct scan_spec copy = *s;
	bool has_filter = s->filter;

	(void)walk_spec(&(struct walk){.out = e}, &copy, &has_filter, &filter);
}

int take_spec(struct decoder *d, struct scan_spec *s, struct bytes *filter)
{
	bool has_filter = false;

	*s = (struct scan_spec){0};
	*filter = (struct bytes){0};
	return walk_spec(&(struct walk){.in = d}, s, &has_filter, filter);
}

void wire_spec_free(struct scan_spec *s)
{
	free((void *)(uintptr_t)s->columns);
	free((void *)(uintptr_t)s->family_ranges);
	*s = (struct scan_spec){0};
}

enum {
	CELL_SAME_ROW = 1,
	CELL_SAME_FAMILY = 2,
	CELL_SAME_QUALIFIER = 4,
	CELL_HAS_VALUE = 8,
	CELL_HAS_TTL = 16,
	CELL_HERE = 128,
	CELL_ALL = 159,
};

static size_t store_le(uint8_t *p, uint64_t v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> (8 * i));
	return n;
}

static bool is_at(const struct buf *b, size_t at, size_t len, struct bytes s)
{
	return bytes_eq(bytes_of(b->data + at, len), s);
}

static void put_cell_name(struct encoder *e, struct bytes s, size_t *at,
			  size_t *len)
{
	put_bytes(e, s);
	*at = e->out->len - s.len;
	*len = s.len;
}

void put_cell(struct cells_out *o, const struct cell *c)
{
	const struct buf *b = o->e->out;
	uint8_t head[2 + 3 * 8 + 4], flags = CELL_HERE;
	size_t n = 2;

	if (o->e->err)
		return;
	if (o->any && is_at(b, o->row_at, o->row_len, c->row))
		flags |= CELL_SAME_ROW;
	if (o->any && is_at(b, o->family_at, o->family_len, c->family))
		flags |= CELL_SAME_FAMILY;
	if (o->any && is_at(b, o->qualifier_at, o->qualifier_len, c->qualifier))
		flags |= CELL_SAME_QUALIFIER;
	if (c->value.data)
		flags |= CELL_HAS_VALUE;
	if (c->ttl_ms)
		flags |= CELL_HAS_TTL;
	head[0] = flags;
	head[1] = c->kind;
	n += store_le(head + n, (uint64_t)c->ts, 8);
	n += store_le(head + n, c->seq, 8);
	if (c->ttl_ms)
		n += store_le(head + n, c->ttl_ms, 8);
	n += store_le(head + n, c->value.len, 4);
	put_raw(o->e, head, n);
	if (!(flags & CELL_SAME_ROW))
		put_cell_name(o->e, c->row, &o->row_at, &o->row_len);
	if (!(flags & CELL_SAME_FAMILY))
		put_cell_name(o->e, c->family, &o->family_at, &o->family_len);
	if (!(flags & CELL_SAME_QUALIFIER))
		put_cell_name(o->e, c->qualifier, &o->qualifier_at,
			      &o->qualifier_len);
	if (c->value.data)
		put_raw(o->e, c->value.data, c->value.len);
	o->any = true;
}

void put_state(struct encoder *e, int state, const char *sentence)
{
	put_u8(e, 0);
	put_result(e, state);
	put_bytes(e, bytes_str(sentence));
}

int take_cell(struct decoder *d, struct cell *c)
{
	uint8_t flags = take_u8(d);
	uint32_t len;

	if (d->bad || !flags)
		return 0;
	if (flags & ~CELL_ALL || !(flags & CELL_HERE))
		d->bad = true;
	c->kind = take_u8(d);
	c->ts = take_i64(d);
	if (c->ts < 0)
		d->bad = true;
	c->seq = take_u64(d);
	c->ttl_ms = flags & CELL_HAS_TTL ? take_u64(d) : 0;
	len = take_u32(d);
	if (!(flags & CELL_SAME_ROW))
		c->row = take_bytes(d, ROW_LEN_MAX);
	if (!(flags & CELL_SAME_FAMILY))
		c->family = take_bytes(d, FAMILY_LEN_MAX);
	if (!(flags & CELL_SAME_QUALIFIER))
		c->qualifier = take_bytes(d, QUALIFIER_LEN_MAX);
	c->value = (struct bytes){NULL, len};
	if (flags & CELL_HAS_VALUE)
		c->value = take_raw(d, len);
	return !d->bad;
}
