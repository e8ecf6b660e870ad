#include "store/remote/wire.h"

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

#define CHECK_MIN (1 + 4 + 4 + 8 + 4)
#define CHANGE_MIN (1 + 4 + 4 + 5 * 8 + 4)

void put_mutation(struct encoder *e, const struct mutation *m)
{
	put_bytes(e, m->row);
	put_u32(e, (uint32_t)m->nchecks);
	for (size_t i = 0; i < m->nchecks; i++) {
		const struct check *k = &m->checks[i];

		put_u8(e, k->op);
		put_bytes(e, k->family);
		put_bytes(e, k->qualifier);
		put_i64(e, k->ts);
		put_bytes(e, k->value);
	}
	put_u32(e, (uint32_t)m->nchanges);
	for (size_t i = 0; i < m->nchanges; i++) {
		const struct change *c = &m->changes[i];

		put_u8(e, c->op);
		put_bytes(e, c->family);
		put_bytes(e, c->qualifier);
		put_i64(e, c->ts);
		put_u64(e, c->ttl_ms);
		put_i64(e, c->delta);
		put_i64(e, c->ts_min);
		put_i64(e, c->ts_max);
		put_bytes(e, c->value);
	}
}

static void take_check(struct decoder *d, struct check *k)
{
	k->op = take_u8(d);
	k->family = take_bytes(d, FAMILY_LEN_MAX);
	k->qualifier = take_bytes(d, QUALIFIER_LEN_MAX);
	k->ts = take_i64(d);
	k->value = take_bytes(d, WIRE_FRAME_MAX);
}

static void take_change(struct decoder *d, struct change *c)
{
	c->op = take_u8(d);
	c->family = take_bytes(d, FAMILY_LEN_MAX);
	c->qualifier = take_bytes(d, QUALIFIER_LEN_MAX);
	c->ts = take_i64(d);
	c->ttl_ms = take_u64(d);
	c->delta = take_i64(d);
	c->ts_min = take_i64(d);
	c->ts_max = take_i64(d);
	c->value = take_bytes(d, WIRE_FRAME_MAX);
	c->ts_given = -1; /* stays so for a row without families */
}

/* Reads a count of items that take at least @min bytes each. */
static uint32_t take_count(struct decoder *d, size_t min)
{
	uint32_t n = take_u32(d);

	if (n > decoder_left(d) / min)
		d->bad = true;
	return d->bad ? 0 : n;
}

int take_mutation(struct decoder *d, struct mutation *out)
{
	struct check *checks;

	*out = (struct mutation){.row = take_bytes(d, ROW_LEN_MAX)};
	out->nchecks = take_count(d, CHECK_MIN);
	if (out->nchecks) {
		checks = calloc(out->nchecks, sizeof(*checks));
		if (!checks)
			return why(-ENOMEM, "out of memory for a mutation");
		out->checks = checks;
		for (size_t i = 0; i < out->nchecks; i++)
			take_check(d, &checks[i]);
	}
	out->nchanges = take_count(d, CHANGE_MIN);
	if (out->nchanges) {
		out->changes = calloc(out->nchanges, sizeof(*out->changes));
		if (!out->changes)
			return why(-ENOMEM, "out of memory for a mutation");
	}
	for (size_t i = 0; i < out->nchanges; i++)
		take_change(d, &out->changes[i]);
	return 0;
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

enum {
	SPEC_REVERSED = 1,
	SPEC_RAW = 2,
	SPEC_KEYS_ONLY = 4,
	SPEC_ROW_START_EXCLUSIVE = 8,
	SPEC_ROW_STOP_INCLUSIVE = 16,
	SPEC_QUAL_START = 32,
	SPEC_QUAL_START_EXCLUSIVE = 64,
	SPEC_QUAL_STOP = 128,
	SPEC_QUAL_STOP_INCLUSIVE = 256,
	SPEC_FILTER = 512,
	SPEC_AS_OF = 1024,
	SPEC_ALL = 2047,
};

#define COLUMN_MIN (1 + 4 + 4)
#define RANGE_MIN (4 + 8 + 8)

static uint32_t spec_flags(const struct scan_spec *s)
{
	return (s->reversed ? SPEC_REVERSED : 0) | (s->raw ? SPEC_RAW : 0) |
	       (s->keys_only ? SPEC_KEYS_ONLY : 0) |
	       (s->row_start_exclusive ? SPEC_ROW_START_EXCLUSIVE : 0) |
	       (s->row_stop_inclusive ? SPEC_ROW_STOP_INCLUSIVE : 0) |
	       (s->has_qual_start ? SPEC_QUAL_START : 0) |
	       (s->qual_start_exclusive ? SPEC_QUAL_START_EXCLUSIVE : 0) |
	       (s->has_qual_stop ? SPEC_QUAL_STOP : 0) |
	       (s->qual_stop_inclusive ? SPEC_QUAL_STOP_INCLUSIVE : 0) |
	       (s->filter ? SPEC_FILTER : 0) | (s->has_as_of ? SPEC_AS_OF : 0);
}

void put_spec(struct encoder *e, const struct scan_spec *s, struct bytes filter)
{
	put_u8(e, s->granularity);
	put_u32(e, spec_flags(s));
	put_bytes(e, s->row_start);
	put_bytes(e, s->row_stop);
	put_bytes(e, s->qual_start);
	put_bytes(e, s->qual_stop);
	put_u32(e, (uint32_t)s->ncolumns);
	for (size_t i = 0; i < s->ncolumns; i++) {
		put_u8(e, s->columns[i].whole_family);
		put_bytes(e, s->columns[i].family);
		put_bytes(e, s->columns[i].qualifier);
	}
	put_i64(e, s->ts_min);
	put_i64(e, s->ts_max);
	put_u32(e, s->versions);
	put_u32(e, (uint32_t)s->nfamily_ranges);
	for (size_t i = 0; i < s->nfamily_ranges; i++) {
		put_bytes(e, s->family_ranges[i].family);
		put_i64(e, s->family_ranges[i].ts_min);
		put_i64(e, s->family_ranges[i].ts_max);
	}
	put_u64(e, s->family_limit);
	put_u64(e, s->family_offset);
	put_u64(e, s->limit_rows);
	put_i64(e, s->as_of);
	if (s->filter)
		put_bytes(e, filter);
}

static uint32_t take_spec_flags(struct decoder *d, struct scan_spec *s)
{
	uint32_t flags = take_u32(d);

	if (flags & ~(uint32_t)SPEC_ALL)
		d->bad = true;
	s->reversed = flags & SPEC_REVERSED;
	s->raw = flags & SPEC_RAW;
	s->keys_only = flags & SPEC_KEYS_ONLY;
	s->row_start_exclusive = flags & SPEC_ROW_START_EXCLUSIVE;
	s->row_stop_inclusive = flags & SPEC_ROW_STOP_INCLUSIVE;
	s->has_qual_start = flags & SPEC_QUAL_START;
	s->qual_start_exclusive = flags & SPEC_QUAL_START_EXCLUSIVE;
	s->has_qual_stop = flags & SPEC_QUAL_STOP;
	s->qual_stop_inclusive = flags & SPEC_QUAL_STOP_INCLUSIVE;
	s->has_as_of = flags & SPEC_AS_OF;
	return flags;
}

static int take_columns(struct decoder *d, struct scan_spec *s)
{
	struct column_name *columns;
	uint32_t n = take_count(d, COLUMN_MIN);

	if (n > SCAN_COLUMNS_MAX)
		d->bad = true;
	if (d->bad || !n)
		return 0;
	columns = calloc(n, sizeof(*columns));
	if (!columns)
		return why(-ENOMEM, "out of memory for a scan");
	for (uint32_t i = 0; i < n; i++) {
		columns[i].whole_family = take_bool(d);
		columns[i].family = take_bytes(d, FAMILY_LEN_MAX);
		columns[i].qualifier = take_bytes(d, QUALIFIER_LEN_MAX);
	}
	s->columns = columns;
	s->ncolumns = n;
	return 0;
}

static int take_ranges(struct decoder *d, struct scan_spec *s)
{
	struct family_range *ranges;
	uint32_t n = take_count(d, RANGE_MIN);

	if (n > SCAN_COLUMNS_MAX)
		d->bad = true;
	if (d->bad || !n)
		return 0;
	ranges = calloc(n, sizeof(*ranges));
	if (!ranges)
		return why(-ENOMEM, "out of memory for a scan");
	for (uint32_t i = 0; i < n; i++) {
		ranges[i].family = take_bytes(d, FAMILY_LEN_MAX);
		ranges[i].ts_min = take_i64(d);
		ranges[i].ts_max = take_i64(d);
	}
	s->family_ranges = ranges;
	s->nfamily_ranges = n;
	return 0;
}

int take_spec(struct decoder *d, struct scan_spec *s, struct bytes *filter)
{
	uint32_t flags;
	int r;

	*s = (struct scan_spec){.granularity = take_u8(d)};
	*filter = (struct bytes){0};
	flags = take_spec_flags(d, s);
	s->row_start = take_bytes(d, ROW_LEN_MAX + 1);
	s->row_stop = take_bytes(d, ROW_LEN_MAX + 1);
	s->qual_start = take_bytes(d, QUALIFIER_LEN_MAX + 1);
	s->qual_stop = take_bytes(d, QUALIFIER_LEN_MAX + 1);
	r = take_columns(d, s);
	if (r < 0)
		return r;
	s->ts_min = take_i64(d);
	s->ts_max = take_i64(d);
	s->versions = take_u32(d);
	r = take_ranges(d, s);
	if (r < 0)
		return r;
	s->family_limit = take_u64(d);
	s->family_offset = take_u64(d);
	s->limit_rows = take_u64(d);
	s->as_of = take_i64(d);
	if (flags & SPEC_FILTER)
		*filter = take_bytes(d, WIRE_FRAME_MAX);
	return 0;
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
