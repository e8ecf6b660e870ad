/* Writing blocks. */
#include "store/lsm/block/block.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include <xxhash.h>

#include "store/value/why.h"

#define FLAG_CONTINUES 1
/* Larger buffers are freed between blocks. */
#define KEEP_MAX (4u << 20)

struct built_row {
	uint32_t end; /* end of its key in rows */
	uint32_t cell;
};

struct built_cell {
	uint32_t id, value_end;
	uint64_t ts, seq, ttl;
	uint8_t kind;
};

struct built_qualifier {
	uint32_t at, len; /* in qualifiers */
	uint32_t hash;
	uint32_t id; /* after sorting */
};

struct block_builder {
	struct buf rows; /* whole keys, one after the other */
	struct buf qualifiers, values;
	struct bytes tail; /* the last value, if it is not in values */
	struct buf row;	   /* struct built_row[] */
	struct buf cell;   /* struct built_cell[] */
	struct buf qual;   /* struct built_qualifier[], in order of first use */
	uint32_t nrow, ncell, nqual;
	uint32_t prefix_len;
	uint32_t last_id; /* of the last cell */
	bool continues, sorted;
	uint32_t *slots; /* hash of qualifiers: index + 1, 0 = free */
	uint32_t nslots; /* a power of two, more than 2 * nqual */
};

static struct built_row *row_at(const struct block_builder *b, uint32_t i)
{
	return (struct built_row *)b->row.data + i;
}

static struct built_cell *cell_at(const struct block_builder *b, uint32_t i)
{
	return (struct built_cell *)b->cell.data + i;
}

static struct built_qualifier *qual_at(const struct block_builder *b,
				       uint32_t i)
{
	return (struct built_qualifier *)b->qual.data + i;
}

int block_builder_new(struct block_builder **out)
{
	struct block_builder *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->sorted = true;
	*out = b;
	return 0;
}

static struct buf *const *bufs_of(struct block_builder *b, struct buf *list[7])
{
	list[0] = &b->rows;
	list[1] = &b->qualifiers;
	list[2] = &b->values;
	list[3] = &b->row;
	list[4] = &b->cell;
	list[5] = &b->qual;
	list[6] = NULL;
	return list;
}

void block_builder_free(struct block_builder *b)
{
	struct buf *list[7];

	if (!b)
		return;
	for (struct buf *const *p = bufs_of(b, list); *p; p++)
		buf_free(*p);
	free(b->slots);
	free(b);
}

void block_builder_reset(struct block_builder *b)
{
	struct buf *list[7];

	for (struct buf *const *p = bufs_of(b, list); *p; p++) {
		if ((*p)->cap > KEEP_MAX)
			buf_free(*p);
		(*p)->len = 0;
	}
	if (b->nslots)
		memset(b->slots, 0, b->nslots * sizeof(*b->slots));
	b->nrow = b->ncell = b->nqual = 0;
	b->prefix_len = b->last_id = 0;
	b->tail = (struct bytes){0};
	b->continues = false;
	b->sorted = true;
}

uint32_t block_builder_rows(const struct block_builder *b)
{
	return b->nrow;
}

uint32_t block_builder_cells(const struct block_builder *b)
{
	return b->ncell;
}

static size_t values_len(const struct block_builder *b)
{
	return b->values.len + b->tail.len;
}

size_t block_builder_bytes(const struct block_builder *b)
{
	size_t elided = b->nrow ? (b->nrow - 1) * (size_t)b->prefix_len : 0;

	/* With typical widths: the estimate only decides where blocks end. */
	return BLOCK_HEADER_LEN + b->rows.len - elided + b->qualifiers.len +
	       values_len(b) + b->nrow * 4 + b->nqual * 2 + b->ncell * 8;
}

int block_builder_row(struct block_builder *b, struct bytes row, bool continues)
{
	struct built_row r = {.cell = b->ncell};
	int rc = buf_reserve(&b->row, sizeof(r));

	if (rc == 0)
		rc = buf_append(&b->rows, row.data, row.len);
	if (rc < 0)
		return rc;
	r.end = (uint32_t)b->rows.len;
	buf_append(&b->row, &r, sizeof(r));
	if (b->nrow++ == 0) {
		b->prefix_len = (uint32_t)row.len;
		b->continues = continues;
		return 0;
	}
	/* Rows ascend, so comparing with the first row is enough. */
	if (b->prefix_len > row.len)
		b->prefix_len = (uint32_t)row.len;
	if (bytes_same(b->rows.data, row.data, b->prefix_len))
		return 0;
	for (uint32_t i = 0; i < b->prefix_len; i++)
		if (b->rows.data[i] != row.data[i])
			b->prefix_len = i;
	return 0;
}

static bool qual_is(const struct block_builder *b, uint32_t i, struct bytes q)
{
	const struct built_qualifier *have;

	if (i >= b->nqual)
		return false;
	have = qual_at(b, i);
	return bytes_eq(bytes_of(b->qualifiers.data + have->at, have->len), q);
}

static void slot_put(struct block_builder *b, uint32_t hash, uint32_t index)
{
	uint32_t i = hash & (b->nslots - 1);

	while (b->slots[i])
		i = (i + 1) & (b->nslots - 1);
	b->slots[i] = index + 1;
}

static int slots_grow(struct block_builder *b)
{
	uint32_t n = b->nslots ? b->nslots * 2 : 64;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(b->slots);
	b->slots = slots;
	b->nslots = n;
	for (uint32_t i = 0; i < b->nqual; i++)
		slot_put(b, qual_at(b, i)->hash, i);
	return 0;
}

static int qual_add(struct block_builder *b, struct bytes q, uint32_t hash,
		    uint32_t *id)
{
	struct built_qualifier n = {
		.at = (uint32_t)b->qualifiers.len,
		.len = (uint32_t)q.len,
		.hash = hash,
	};
	int r = buf_reserve(&b->qual, sizeof(n));

	if (r == 0)
		r = buf_append(&b->qualifiers, q.data, q.len);
	if (r < 0)
		return r;
	if (b->nqual > 0) {
		const struct built_qualifier *l = qual_at(b, b->nqual - 1);

		if (bytes_cmp(bytes_of(b->qualifiers.data + l->at, l->len),
			      q) >= 0)
			b->sorted = false;
	}
	buf_append(&b->qual, &n, sizeof(n));
	slot_put(b, hash, b->nqual);
	*id = b->nqual++;
	return 0;
}

static int qual_find(struct block_builder *b, struct bytes q, uint32_t *id)
{
	uint32_t hash, i;
	int r;

	/* Rows are often alike: try the last column and the one after it. */
	for (uint32_t guess = b->last_id; guess < b->last_id + 2; guess++)
		if (qual_is(b, guess, q)) {
			*id = guess;
			return 0;
		}
	if (2 * (b->nqual + 1) > b->nslots) {
		r = slots_grow(b);
		if (r < 0)
			return r;
	}
	hash = (uint32_t)XXH3_64bits(q.data, q.len);
	for (i = hash & (b->nslots - 1); b->slots[i];
	     i = (i + 1) & (b->nslots - 1)) {
		uint32_t index = b->slots[i] - 1;

		if (qual_at(b, index)->hash == hash && qual_is(b, index, q)) {
			*id = index;
			return 0;
		}
	}
	return qual_add(b, q, hash, id);
}

static int add(struct block_builder *b, const struct entry *e, bool copy)
{
	struct built_cell c = {
		.ts = (uint64_t)e->ts,
		.seq = e->seq,
		.ttl = e->ttl_ms,
		.kind = e->kind,
	};
	int r = buf_reserve(&b->cell, sizeof(c));

	assert(!b->tail.len);
	if (r == 0)
		r = qual_find(b, e->qualifier, &c.id);
	if (r == 0 && copy)
		r = buf_append(&b->values, e->value.data, e->value.len);
	if (r < 0)
		return r;
	if (!copy)
		b->tail = e->value;
	c.value_end = (uint32_t)values_len(b);
	b->last_id = c.id;
	buf_append(&b->cell, &c, sizeof(c));
	b->ncell++;
	return 0;
}

int block_builder_add(struct block_builder *b, const struct entry *e)
{
	return add(b, e, true);
}

int block_builder_end(struct block_builder *b, const struct entry *e)
{
	return add(b, e, false);
}

struct bytes block_builder_tail(const struct block_builder *b)
{
	return b->tail;
}

static int by_name(const void *x, const void *y, void *arg)
{
	const struct block_builder *b = arg;
	const struct built_qualifier *p = qual_at(b, *(const uint32_t *)x);
	const struct built_qualifier *q = qual_at(b, *(const uint32_t *)y);

	return bytes_cmp(bytes_of(b->qualifiers.data + p->at, p->len),
			 bytes_of(b->qualifiers.data + q->at, q->len));
}

/* Fills @order with the indexes of the qualifiers, sorted by name. */
static void sort_qualifiers(struct block_builder *b, uint32_t *order)
{
	for (uint32_t i = 0; i < b->nqual; i++)
		order[i] = i;
	if (!b->sorted)
		qsort_r(order, b->nqual, sizeof(*order), by_name, b);
	for (uint32_t i = 0; i < b->nqual; i++)
		qual_at(b, order[i])->id = i;
}

struct shape {
	uint64_t base[BLOCK_NCOLUMNS];
	uint64_t max[BLOCK_NCOLUMNS];
	uint8_t width[BLOCK_NCOLUMNS];
};

static void extend(struct shape *s, enum block_column c, uint64_t v)
{
	if (v < s->base[c])
		s->base[c] = v;
	if (v > s->max[c])
		s->max[c] = v;
}

/* Chooses the narrowest arrays that hold all numbers. */
static void find_shape(const struct block_builder *b, struct shape *s)
{
	*s = (struct shape){0};
	for (int i = BLOCK_TS; i <= BLOCK_KIND; i++)
		s->base[i] = UINT64_MAX;
	for (uint32_t i = 0; i < b->ncell; i++) {
		const struct built_cell *c = cell_at(b, i);

		extend(s, BLOCK_TS, c->ts);
		extend(s, BLOCK_SEQ, c->seq);
		extend(s, BLOCK_TTL, c->ttl);
		extend(s, BLOCK_KIND, c->kind);
	}
	s->max[BLOCK_ROW_END] = b->rows.len - b->nrow * (size_t)b->prefix_len;
	s->max[BLOCK_ROW_CELL] = b->ncell;
	s->max[BLOCK_QUAL_END] = b->qualifiers.len;
	s->max[BLOCK_ID] = b->nqual - 1;
	s->max[BLOCK_VALUE_END] = values_len(b);
	for (int i = 0; i < BLOCK_NCOLUMNS; i++) {
		uint64_t span = s->max[i] - s->base[i];

		while (span) {
			s->width[i]++;
			span >>= 8;
		}
	}
}

/*
 * Writes a number of @width bytes by storing eight. The bytes after it are
 * overwritten later, or are slack.
 */
static uint8_t *block_put(uint8_t *at, uint64_t v, unsigned width)
{
	v = htole64(v);
	memcpy(at, &v, sizeof(v));
	return at + width;
}

static uint8_t *block_put_bytes(uint8_t *at, const void *from, size_t n)
{
	bytes_copy(at, from, n);
	return at + n;
}

static uint8_t *put_header(const struct block_builder *b, const struct shape *s,
			   uint8_t *at)
{
	at = block_put(at, b->nrow, 4);
	at = block_put(at, b->ncell, 4);
	at = block_put(at, b->nqual, 4);
	at = block_put(at, b->prefix_len, 2);
	at = block_put(at, b->continues ? FLAG_CONTINUES : 0, 1);
	at = block_put(at, s->base[BLOCK_KIND], 1);
	for (int i = 0; i < BLOCK_NCOLUMNS; i++)
		at = block_put(at, s->width[i], 1);
	at = block_put(at, 0, 16 - BLOCK_NCOLUMNS);
	at = block_put(at, s->base[BLOCK_TS], 8);
	at = block_put(at, s->base[BLOCK_SEQ], 8);
	return block_put(at, s->base[BLOCK_TTL], 8);
}

/* Writes the arrays whose numbers are not all equal to their base. */
static uint8_t *put_times(const struct block_builder *b, const struct shape *s,
			  uint8_t *at)
{
	const uint8_t *w = s->width;

	for (uint32_t i = 0; w[BLOCK_TS] && i < b->ncell; i++)
		at = block_put(at, cell_at(b, i)->ts - s->base[BLOCK_TS],
			       w[BLOCK_TS]);
	for (uint32_t i = 0; w[BLOCK_SEQ] && i < b->ncell; i++)
		at = block_put(at, cell_at(b, i)->seq - s->base[BLOCK_SEQ],
			       w[BLOCK_SEQ]);
	for (uint32_t i = 0; w[BLOCK_TTL] && i < b->ncell; i++)
		at = block_put(at, cell_at(b, i)->ttl - s->base[BLOCK_TTL],
			       w[BLOCK_TTL]);
	for (uint32_t i = 0; w[BLOCK_KIND] && i < b->ncell; i++)
		at = block_put(at, cell_at(b, i)->kind - s->base[BLOCK_KIND],
			       w[BLOCK_KIND]);
	return at;
}

static uint8_t *put_arrays(const struct block_builder *b, const struct shape *s,
			   const uint32_t *order, uint8_t *at)
{
	const uint8_t *w = s->width;
	uint64_t end = 0;

	at = block_put(at, 0, w[BLOCK_ROW_END]);
	for (uint32_t i = 0; i < b->nrow; i++)
		at = block_put(at,
			       row_at(b, i)->end -
				       (i + 1) * (uint64_t)b->prefix_len,
			       w[BLOCK_ROW_END]);
	for (uint32_t i = 0; i < b->nrow; i++)
		at = block_put(at, row_at(b, i)->cell, w[BLOCK_ROW_CELL]);
	at = block_put(at, b->ncell, w[BLOCK_ROW_CELL]);
	at = block_put(at, 0, w[BLOCK_QUAL_END]);
	for (uint32_t i = 0; i < b->nqual; i++) {
		end += qual_at(b, order[i])->len;
		at = block_put(at, end, w[BLOCK_QUAL_END]);
	}
	for (uint32_t i = 0; w[BLOCK_ID] && i < b->ncell; i++)
		at = block_put(at, qual_at(b, cell_at(b, i)->id)->id,
			       w[BLOCK_ID]);
	at = put_times(b, s, at);
	at = block_put(at, 0, w[BLOCK_VALUE_END]);
	for (uint32_t i = 0; i < b->ncell; i++)
		at = block_put(at, cell_at(b, i)->value_end,
			       w[BLOCK_VALUE_END]);
	return at;
}

static uint8_t *put_heaps(const struct block_builder *b, const uint32_t *order,
			  uint8_t *at)
{
	uint32_t from = 0;

	at = block_put_bytes(at, b->rows.data, b->prefix_len);
	for (uint32_t i = 0; i < b->nrow; i++) {
		from += b->prefix_len;
		at = block_put_bytes(at, b->rows.data + from,
				     row_at(b, i)->end - from);
		from = row_at(b, i)->end;
	}
	for (uint32_t i = 0; i < b->nqual; i++) {
		const struct built_qualifier *q = qual_at(b, order[i]);

		at = block_put_bytes(at, b->qualifiers.data + q->at, q->len);
	}
	return block_put_bytes(at, b->values.data, b->values.len);
}

/* The most bytes that the block, but for its tail, and its slack can take. */
static size_t bound(const struct block_builder *b, const struct shape *s)
{
	const uint8_t *w = s->width;
	size_t cell = w[BLOCK_ID] + w[BLOCK_TS] + w[BLOCK_SEQ] + w[BLOCK_TTL] +
		      w[BLOCK_KIND] + w[BLOCK_VALUE_END];

	return BLOCK_HEADER_LEN + (b->nrow + 1) * (size_t)8 +
	       (b->nqual + 1) * (size_t)4 + (b->ncell + 1) * cell +
	       b->rows.len + b->qualifiers.len + b->values.len + BLOCK_SLACK;
}

/* Makes the block at @room, or in @raw if @room is NULL or too small. */
static int finish(struct block_builder *b, uint8_t *room, size_t size,
		  struct buf *raw, struct bytes *out)
{
	struct shape s;
	uint32_t *order;
	uint8_t *at;
	int r = 0;

	order = malloc((b->nqual + 1) * sizeof(*order));
	if (!order)
		return -ENOMEM;
	find_shape(b, &s);
	if (bound(b, &s) > size) {
		raw->len = 0;
		r = buf_reserve(raw, bound(b, &s));
		room = raw->data;
	}
	if (r < 0)
		goto out;
	assert(room);
	sort_qualifiers(b, order);
	at = put_header(b, &s, room);
	at = put_arrays(b, &s, order, at);
	at = put_heaps(b, order, at);
	*out = bytes_of(room, (size_t)(at - room));
	if (out->len + b->tail.len > BLOCK_LEN_MAX)
		r = why(-EFBIG, "a block of %zu bytes is too large",
			out->len + b->tail.len);
out:
	free(order);
	return r;
}

int block_builder_finish(struct block_builder *b, uint8_t *room, size_t size,
			 struct buf *raw, struct bytes *out)
{
	int r = finish(b, room, size, raw, out);

	if (r == 0 && out->data != room)
		raw->len = out->len;
	return r;
}
