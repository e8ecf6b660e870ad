/* Reading blocks: check a block once, then search it without checks. */
#include "store/lsm/block/block.h"

#include <errno.h>
#include <stdlib.h>

#include "store/lsm/base/bisect.h"
#include "store/lsm/base/heads.h"
#include "store/lsm/base/slab.h"
#include "store/value/why.h"

#define FLAG_CONTINUES 1

static const uint8_t width_max[BLOCK_NCOLUMNS] = {
	[BLOCK_ROW_END] = 4, [BLOCK_ROW_CELL] = 4, [BLOCK_QUAL_END] = 4,
	[BLOCK_ID] = 4,	     [BLOCK_TS] = 8,	   [BLOCK_SEQ] = 8,
	[BLOCK_TTL] = 8,     [BLOCK_KIND] = 1,	   [BLOCK_VALUE_END] = 4,
};

#define BYTES(n) (UINT64_MAX >> (64 - 8 * (n)))

const uint64_t block_mask[9] = {0,	  BYTES(1), BYTES(2),
				BYTES(3), BYTES(4), BYTES(5),
				BYTES(6), BYTES(7), BYTES(8)};

static void free_block(struct block *b)
{
	if (b->passing)
		free(b);
	else
		slab_free(b, b->memory);
}

static void free_piece(struct piece *p)
{
	free_block((struct block *)p - 1);
}

/* Has a block of so much a struct piece while it is whole? */
static bool is_piece(size_t raw_len)
{
	return raw_len >= CURSOR_PIECE_MIN;
}

/* Begins the block's own reference. */
static void begin(struct block *b)
{
	if (is_piece(b->raw_len) && !b->sums)
		*(struct piece *)(b + 1) =
			(struct piece){.refs = 1, .free = free_piece};
}

int block_new(size_t raw_len, uint32_t nrow, bool passing, struct block **out)
{
	struct block *b;
	size_t memory, more;

	if (raw_len < BLOCK_HEADER_LEN || raw_len > BLOCK_LEN_MAX)
		return why(-EUCLEAN, "a block of %zu bytes cannot be", raw_len);
	/* Each row takes at least a byte of suffix and of two arrays. */
	if (nrow == 0 || nrow > raw_len / 3)
		return why(-EUCLEAN, "a block of %zu bytes cannot hold %u rows",
			   raw_len, nrow);
	/* Offsets in all of this memory are numbers of 32 bits. */
	_Static_assert(BLOCK_LEN_MAX < UINT32_MAX / 4, "as is that of heads");
	more = is_piece(raw_len) ? sizeof(struct piece) : 0;
	memory = sizeof(*b) + more + nrow * sizeof(uint64_t) + raw_len +
		 BLOCK_SLACK;
	passing = passing && memory < SLAB_CHUNK;
	b = passing ? malloc(memory) : slab_alloc(memory);
	if (!b)
		return why(-ENOMEM, "no memory for a block of %zu bytes",
			   raw_len);
	*b = (struct block){
		.nrow = nrow,
		.memory = passing ? memory : slab_size(memory),
		.raw_len = (uint32_t)raw_len,
		.passing = passing,
	};
	begin(b);
	b->heads = (uint64_t *)((uint8_t *)(b + 1) + more);
	b->raw = (uint8_t *)(b->heads + nrow);
	memset(b->raw + raw_len, 0, BLOCK_SLACK);
	*out = b;
	return 0;
}

void block_free(struct block *b)
{
	if (b && is_piece(b->raw_len) && !b->sums)
		piece_drop((struct piece *)(b + 1));
	else if (b)
		free_block(b);
}

void block_move(struct block *to, const struct block *from)
{
	ptrdiff_t by =
		(to->raw - (uint8_t *)to) - (from->raw - (const uint8_t *)from);

	to->prefix.data = to->raw + (from->prefix.data - from->raw);
	to->suffixes = to->raw + (from->suffixes - from->raw);
	to->qualifiers = to->raw + (from->qualifiers - from->raw);
	for (int i = 0; i < BLOCK_NCOLUMNS; i++)
		if (from->column[i].width)
			to->column[i].at = (uint32_t)(from->column[i].at + by);
}

/*
 * The pointer @at into the memory of @from, as one into that of @to; NULL stays
 * NULL.
 */
static void *moved(struct block *to, const struct block *from, const void *at)
{
	return at ? (uint8_t *)to + ((const uint8_t *)at - (uint8_t *)from)
		  : NULL;
}

int block_copy(const struct block *b, struct block **out)
{
	struct block *n = slab_alloc(b->memory);

	if (!n)
		return -ENOMEM;
	memcpy(n, b, b->memory);
	begin(n);
	n->passing = false;
	n->heads = moved(n, b, b->heads);
	n->raw = moved(n, b, b->raw);
	n->values = moved(n, b, b->values);
	n->sums = moved(n, b, b->sums);
	if (n->raw)
		block_move(n, b);
	*out = n;
	return 0;
}

static int damaged(const char *what)
{
	return why(-EUCLEAN, "%s", what);
}

/* Decodes and checks the header. */
static int decode_header(struct block *b)
{
	const uint8_t *h = b->raw;
	struct column *c = b->column;

	b->ncell = bytes_le32(h + 4);
	b->nqual = bytes_le32(h + 8);
	if (bytes_le32(h) != b->nrow)
		return damaged("number of rows differs from the index");
	/* Each cell differs from its neighbour in at least one byte. */
	if (b->ncell < b->nrow || b->ncell > b->raw_len)
		return damaged("number of cells out of range");
	if (b->nqual == 0 || b->nqual > b->ncell)
		return damaged("number of qualifiers out of range");
	b->prefix.len = (size_t)h[12] | (size_t)h[13] << 8;
	if (h[14] & ~FLAG_CONTINUES)
		return damaged("unknown flags");
	b->continues = h[14] & FLAG_CONTINUES;
	for (int i = 0; i < BLOCK_NCOLUMNS; i++) {
		c[i].width = h[16 + i];
		if (c[i].width > width_max[i])
			return damaged("an array is too wide");
	}
	for (int i = 16 + BLOCK_NCOLUMNS; i < 32; i++)
		if (h[i])
			return damaged("bytes that must be zero are not");
	b->base[BLOCK_KIND - BLOCK_TS] = h[15];
	b->base[BLOCK_TS - BLOCK_TS] = bytes_le64(h + 32);
	b->base[BLOCK_SEQ - BLOCK_TS] = bytes_le64(h + 40);
	b->base[BLOCK_TTL - BLOCK_TS] = bytes_le64(h + 48);
	return 0;
}

/*
 * Computes where arrays and byte sections begin. Checks that their ends are
 * inside the block; what the arrays hold is not checked yet.
 */
static int decode_sections(struct block *b)
{
	const uint64_t count[BLOCK_NCOLUMNS] = {
		[BLOCK_ROW_END] = b->nrow + 1ull,
		[BLOCK_ROW_CELL] = b->nrow + 1ull,
		[BLOCK_QUAL_END] = b->nqual + 1ull,
		[BLOCK_ID] = b->ncell,
		[BLOCK_TS] = b->ncell,
		[BLOCK_SEQ] = b->ncell,
		[BLOCK_TTL] = b->ncell,
		[BLOCK_KIND] = b->ncell,
		[BLOCK_VALUE_END] = b->ncell + 1ull,
	};
	size_t raw = (size_t)(b->raw - (uint8_t *)b);
	uint64_t at = BLOCK_HEADER_LEN;
	uint64_t rest;

	/* This does not overflow: counts < 2^33, widths <= 8, nine of them. */
	for (int i = 0; i < BLOCK_NCOLUMNS; i++) {
		struct column *c = &b->column[i];

		c->at = (uint32_t)(c->width ? raw + at
					    : offsetof(struct block, zero));
		at += count[i] * c->width;
		if (at > b->raw_len)
			return damaged("an array reaches beyond the block");
	}
	rest = b->raw_len - at;
	b->prefix.data = b->raw + at;
	if (b->prefix.len > rest)
		return damaged("the prefix reaches beyond the block");
	rest -= b->prefix.len;
	b->suffixes = b->prefix.data + b->prefix.len;
	at = block_number(b, BLOCK_ROW_END, b->nrow);
	if (at > rest)
		return damaged("the rows reach beyond the block");
	rest -= at;
	b->qualifiers = b->suffixes + at;
	at = block_number(b, BLOCK_QUAL_END, b->nqual);
	if (at > rest)
		return damaged("the qualifiers reach beyond the block");
	rest -= at;
	b->values = b->qualifiers + at;
	b->front_len = (uint32_t)(b->raw_len - rest);
	at = block_number(b, BLOCK_VALUE_END, b->ncell);
	if (at != rest)
		return damaged("the values do not end where the block does");
	return 0;
}

/*
 * True if array[0] is 0 and each of the next @n numbers exceeds the one before
 * by [@step_min, @step_max].
 */
static bool ascends(const struct block *b, enum block_column c, uint32_t n,
		    uint64_t step_min, uint64_t step_max)
{
	uint64_t last = block_number(b, c, 0);

	if (last != 0)
		return false;
	for (uint32_t i = 1; i <= n; i++) {
		uint64_t v = block_number(b, c, i);

		if (v < last || v - last < step_min || v - last > step_max)
			return false;
		last = v;
	}
	return true;
}

static int decode_rows(struct block *b)
{
	struct bytes last = {0};
	size_t longest = 0;

	if (b->prefix.len > ROW_LEN_MAX ||
	    !ascends(b, BLOCK_ROW_END, b->nrow, 0, ROW_LEN_MAX - b->prefix.len))
		return damaged("lengths of rows out of range");
	if (!ascends(b, BLOCK_ROW_CELL, b->nrow, 1, b->ncell) ||
	    block_row_cell(b, b->nrow) != b->ncell)
		return damaged("first cells of rows out of range");
	for (uint32_t i = 0; i < b->nrow; i++) {
		struct bytes s = block_suffix(b, i);

		if (i > 0 && bytes_cmp(last, s) >= 0)
			return damaged("rows out of order");
		if (s.len > longest)
			longest = s.len;
		b->heads[i] = head_of(s);
		last = s;
	}
	b->row_len_max = b->prefix.len + longest;
	if (b->prefix.len + block_suffix(b, 0).len == 0)
		return damaged("a row without a key");
	return 0;
}

static int decode_qualifiers(struct block *b)
{
	if (!ascends(b, BLOCK_QUAL_END, b->nqual, 0, QUALIFIER_LEN_MAX))
		return damaged("lengths of qualifiers out of range");
	for (uint32_t i = 1; i < b->nqual; i++)
		if (bytes_cmp(block_qualifier(b, i - 1),
			      block_qualifier(b, i)) >= 0)
			return damaged("qualifiers out of order");
	return 0;
}

/* The order of a cell in its row, as entry_cmp() has it, as numbers. */
struct place {
	uint64_t id, ts, seq;
	uint32_t nth; /* its number in its column and row, from 1 */
	uint8_t kind;
};

static bool place_before(const struct place *a, const struct place *b)
{
	bool fa = kind_is_family_marker(a->kind);
	bool fb = kind_is_family_marker(b->kind);

	if (fa != fb)
		return fa;
	if (a->id != b->id)
		return a->id < b->id;
	if (a->ts != b->ts)
		return a->ts > b->ts;
	if (a->kind != b->kind)
		return a->kind > b->kind;
	return a->seq > b->seq;
}

/* Checks a cell, and unless it is the row's first, that it follows @last. */
static int decode_cell(struct block *b, uint32_t i, bool first,
		       struct place *last)
{
	uint64_t kind = block_number(b, BLOCK_KIND, i);
	struct place p = {
		.id = block_number(b, BLOCK_ID, i),
		.ts = block_number(b, BLOCK_TS, i),
		.seq = block_number(b, BLOCK_SEQ, i),
		.kind = (uint8_t)kind,
	};

	if (!kind_is_stored(kind))
		return damaged("a cell of unknown kind");
	if (p.id >= b->nqual)
		return damaged("a cell without a qualifier");
	if (p.ts > (uint64_t)TS_MAX)
		return damaged("a timestamp out of range");
	if (kind_is_family_marker(p.kind)) {
		b->has_family = true;
		if (block_qualifier(b, p.id).len)
			return damaged("a family marker with a qualifier");
	}
	if (!first && !place_before(last, &p))
		return damaged("cells out of order");
	p.nth = 1;
	if (!first && last->id == p.id) {
		p.nth = last->nth + 1;
		if (last->ts == p.ts)
			b->simple = false;
	}
	if (p.nth > b->copies)
		b->copies = p.nth;
	if (p.kind != CELL_PUT || block_number(b, BLOCK_TTL, i))
		b->puts = b->simple = false;
	if (p.seq > b->seq_max)
		b->seq_max = p.seq;
	if ((int64_t)p.ts < b->ts_min)
		b->ts_min = (int64_t)p.ts;
	if ((int64_t)p.ts > b->ts_max)
		b->ts_max = (int64_t)p.ts;
	*last = p;
	return 0;
}

static int decode_cells(struct block *b)
{
	struct place last = {0};
	uint32_t cell = 0;

	if (!ascends(b, BLOCK_VALUE_END, b->ncell, 0, VALUE_LEN_MAX))
		return damaged("lengths of values out of range");
	b->ts_min = INT64_MAX;
	b->ts_max = INT64_MIN;
	b->puts = true;
	b->simple = true;
	b->copies = 0;
	for (uint32_t row = 0; row < b->nrow; row++) {
		uint32_t from = cell, to = block_row_cell(b, row + 1);

		for (; cell < to; cell++) {
			int r = decode_cell(b, cell, cell == from, &last);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

int block_lay_out(struct block *b)
{
	int r = decode_header(b);

	return r < 0 ? r : decode_sections(b);
}

int block_decode(struct block *b)
{
	int r = block_lay_out(b);

	if (r == 0)
		r = decode_rows(b);
	if (r == 0)
		r = decode_qualifiers(b);
	if (r == 0)
		r = decode_cells(b);
	return r;
}

int block_row_cmp(const struct block *b, uint32_t i, struct bytes row)
{
	size_t n = b->prefix.len;
	struct bytes rest;
	uint64_t head;
	int c;

	if (row.len < n)
		n = row.len;
	c = n ? memcmp(b->prefix.data, row.data, n) : 0;
	if (c || row.len < b->prefix.len)
		return c ? c : 1;
	rest = bytes_of(row.data + n, row.len - n);
	if (!b->heads)
		return bytes_cmp(block_suffix(b, i), rest);
	head = head_of(rest);
	if (b->heads[i] != head)
		return b->heads[i] < head ? -1 : 1;
	return head_tie(block_suffix(b, i), rest);
}

uint32_t block_find_row(const struct block *b, struct bytes row, bool after)
{
	bool equal;
	uint32_t i = block_find_equal(b, row, &equal);

	return i + (equal && after);
}

/* As heads_find(), in a block without an array of heads. */
static uint32_t find_head(const struct block *b, uint64_t head)
{
	uint32_t lo = 0, n = b->nrow;

	while (n > 0) {
		uint32_t half = n / 2;
		bool less = head_of(block_suffix(b, lo + half)) < head;

		lo = less ? lo + half + 1 : lo;
		n = less ? n - half - 1 : half;
	}
	return lo;
}

uint32_t block_find_equal(const struct block *b, struct bytes row, bool *equal)
{
	size_t n = b->prefix.len < row.len ? b->prefix.len : row.len;
	int c = n ? memcmp(b->prefix.data, row.data, n) : 0;
	struct bytes rest = bytes_of(row.data + n, row.len - n);
	uint64_t head;
	uint32_t i;

	*equal = false;
	if (c)
		return c > 0 ? 0 : b->nrow;
	if (row.len < b->prefix.len)
		return 0;
	head = head_of(rest);
	i = b->heads ? heads_find(b->heads, b->nrow, head) : find_head(b, head);
	/* Few rows share a head: usually this loop runs once. */
	for (; i < b->nrow; i++) {
		struct bytes s = block_suffix(b, i);

		if (head_of(s) != head)
			break;
		c = head_tie(s, rest);
		if (c >= 0) {
			*equal = c == 0;
			break;
		}
	}
	return i;
}

/* The first qualifier >= @q; *exact: it is equal to @q. */
static uint32_t find_qualifier(const struct block *b, struct bytes q,
			       bool *exact)
{
	uint32_t lo = 0, hi = b->nqual;
	uint64_t head = head_of(q);

	*exact = false;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		struct bytes have = block_qualifier(b, mid);
		uint64_t h = head_of(have);
		int c = h == head ? head_tie(have, q) : h < head ? -1 : 1;

		if (c == 0) {
			*exact = true;
			return mid;
		}
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/*
 * Is the cell at or after (qualifier @id, @ts)? @exact: @id is the qualifier
 * sought, else the next greater one.
 */
static inline bool cell_reaches(const struct block *b, uint32_t cell,
				uint32_t id, bool exact, int64_t ts)
{
	uint64_t have = block_number(b, BLOCK_ID, cell);

	if (b->has_family && kind_is_family_marker(block_kind(b, cell)))
		return false;
	if (have != id || !exact)
		return have >= id;
	return (int64_t)block_number(b, BLOCK_TS, cell) <= ts;
}

static uint32_t find_cell(const struct block *b, uint32_t from, uint32_t to,
			  uint32_t id, bool exact, int64_t ts)
{
	uint32_t step = 1, lo = from, hi;

	/* The cell is usually near: double the step, then bisect. */
	for (hi = from; hi < to && !cell_reaches(b, hi, id, exact, ts);) {
		lo = hi + 1;
		hi = to - lo < step ? to : lo + step;
		step *= 2;
	}
	if (hi > to)
		hi = to;
	BISECT(lo, hi, mid, !cell_reaches(b, mid, id, exact, ts));
	return lo;
}

uint32_t block_find_column(const struct block *b, uint32_t from, uint32_t to,
			   struct bytes qualifier, int64_t ts)
{
	bool exact;
	uint32_t id = find_qualifier(b, qualifier, &exact);

	return find_cell(b, from, to, id, exact, ts);
}

uint32_t block_pass_markers(const struct block *b, uint32_t cell, uint32_t to,
			    struct bytes qualifier, int64_t ts)
{
	uint64_t id;
	bool exact;

	if (b->puts || cell == to)
		return cell;
	id = find_qualifier(b, qualifier, &exact);
	while (exact && cell < to) {
		uint32_t mid = cell + (to - cell) / 2;

		if (block_number(b, BLOCK_ID, mid) == id &&
		    (int64_t)block_number(b, BLOCK_TS, mid) == ts &&
		    kind_is_marker(block_kind(b, mid)))
			cell = mid + 1;
		else
			to = mid;
	}
	return cell;
}

bool block_find_newest(const struct block *b, uint32_t from, uint32_t to,
		       struct bytes qualifier, uint32_t *cell)
{
	bool exact;
	uint32_t id = find_qualifier(b, qualifier, &exact);

	*cell = find_cell(b, from, to, id, exact, INT64_MAX);
	return exact && *cell < to && block_number(b, BLOCK_ID, *cell) == id;
}

void block_row_known(const struct block *b, uint32_t row, struct known *out)
{
	uint32_t end = block_row_cell(b, row + 1);
	bool puts = true;

	*out = block_known(b);
	out->ts_min = INT64_MAX;
	out->ts_max = INT64_MIN;
	for (uint32_t i = block_row_cell(b, row); puts && i < end; i++) {
		int64_t ts = (int64_t)block_number(b, BLOCK_TS, i);

		puts = b->puts || (block_kind(b, i) == CELL_PUT &&
				   !block_number(b, BLOCK_TTL, i));
		if (ts < out->ts_min)
			out->ts_min = ts;
		if (ts > out->ts_max)
			out->ts_max = ts;
	}
	out->puts = puts;
}

bool block_covered(const struct block *b, uint32_t from, uint32_t to,
		   const struct cover *k)
{
	bool before = b->seq_max < k->seq;

	if (before && b->ts_max <= k->ts)
		return true;
	for (; from < to; from++) {
		int64_t ts = (int64_t)block_number(b, BLOCK_TS, from);

		if (before && ts <= k->ts)
			continue;
		if (!cover_hides(k, b->puts ? CELL_PUT : block_kind(b, from),
				 ts, block_number(b, BLOCK_SEQ, from)))
			return false;
	}
	return true;
}
