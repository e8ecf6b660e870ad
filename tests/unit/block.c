/* Blocks: what is built is found; what is damaged is refused or harmless. */
#include "tests/unit/unit.h"
#include "store/lsm/base/slab.h"
#include "store/lsm/block/block.h"
#include "store/value/why.h"

struct item {
	const char *row; /* NULL: the row before */
	const char *qualifier;
	int64_t ts;
	uint64_t seq, ttl_ms;
	uint8_t kind;
	const char *value;
};

static const struct item people[] = {
	{"row-anna", "", 7, 9, 0, CELL_DELETE_FAMILY, ""},
	{NULL, "", 3, 0, 0, CELL_DELETE_FAMILY_VERSION, ""},
	{NULL, "", 9, 0, 0, CELL_PUT, "of the empty name"},
	{NULL, "age", 20, 4, 0, CELL_PUT, "36"},
	{NULL, "age", 10, 2, 0, CELL_PUT, "35"},
	{NULL, "mail", 20, 5, 0, CELL_DELETE_COLUMN, ""},
	{NULL, "mail", 20, 5, 60000, CELL_PUT, "anna@example.org"},
	{"row-annabel", "zip", 5, 0, 0, CELL_PUT, "12345"},
	{"row-bob", "age", 20, 0, 0, CELL_PUT, ""},
	{NULL, "mail", TS_MAX, 0, 0, CELL_DELETE, ""},
	{NULL, "mail", 0, 7, 0, CELL_PUT, "bob@example.org"},
};
#define NPEOPLE (sizeof(people) / sizeof(people[0]))

static struct entry entry_of(const struct item *i)
{
	return (struct entry){
		.qualifier = bytes_str(i->qualifier),
		.ts = i->ts,
		.seq = i->seq,
		.ttl_ms = i->ttl_ms,
		.value = bytes_str(i->value),
		.kind = i->kind,
	};
}

static void fill(struct block_builder *b, const struct item *items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct entry e = entry_of(&items[i]);

		if (items[i].row)
			assert_int_equal(
				block_builder_row(b, bytes_str(items[i].row),
						  false),
				0);
		assert_int_equal(block_builder_add(b, &e), 0);
	}
}

static void build(const struct item *items, size_t n, struct buf *raw)
{
	struct block_builder *b;
	struct bytes made;

	assert_int_equal(block_builder_new(&b), 0);
	/* A builder is used again and again. */
	for (int pass = 0; pass < 2; pass++) {
		block_builder_reset(b);
		fill(b, items, n);
		assert_int_equal(block_builder_finish(b, NULL, 0, raw, &made),
				 0);
	}
	block_builder_free(b);
}

static int decode(struct bytes raw, uint32_t nrow, struct block **out)
{
	struct block *b = NULL;
	int r = block_new(raw.len, nrow, false, &b);

	if (r < 0)
		return r;
	memcpy(b->raw, raw.data, raw.len);
	r = block_decode(b);
	if (r < 0)
		block_free(b);
	else
		*out = b;
	return r;
}

TEST(every_cell_comes_back)
{
	struct buf raw = {0};
	struct block *b = NULL;
	uint32_t row = UINT32_MAX;

	build(people, NPEOPLE, &raw);
	assert_int_equal(decode(buf_bytes(&raw), 3, &b), 0);
	assert_int_equal(b->ncell, NPEOPLE);
	assert_int_equal(b->prefix.len, 4);
	assert_int_equal(b->ts_min, 0);
	assert_int_equal(b->ts_max, TS_MAX);
	assert_true(b->has_family);
	for (uint32_t i = 0; i < NPEOPLE; i++) {
		struct entry want = entry_of(&people[i]), got;

		if (people[i].row) {
			row++;
			assert_int_equal(block_row_cell(b, row), i);
			assert_int_equal(
				block_row_cmp(b, row, bytes_str(people[i].row)),
				0);
		}
		block_entry(b, i, &got);
		assert_int_equal(entry_cmp(&got, &want), 0);
		assert_true(bytes_eq(got.value, want.value));
		assert_int_equal(got.ttl_ms, want.ttl_ms);
		assert_int_equal(got.seq, want.seq);
	}
	block_free(b);
	buf_free(&raw);
}

TEST(a_value_at_the_end_stays_where_it_is)
{
	struct entry last = entry_of(&people[NPEOPLE - 1]);
	struct buf raw = {0}, want = {0};
	struct block_builder *b;
	struct bytes made, tail;

	(void)state;
	build(people, NPEOPLE, &want);
	assert_int_equal(block_builder_new(&b), 0);
	for (int pass = 0; pass < 2; pass++) {
		fill(b, people, NPEOPLE - 1);
		assert_int_equal(block_builder_tail(b).len, 0);
		assert_int_equal(block_builder_end(b, &last), 0);
		tail = block_builder_tail(b);
		assert_ptr_equal(tail.data, last.value.data);
		assert_int_equal(tail.len, last.value.len);
		raw.len = 0;
		assert_int_equal(block_builder_finish(b, NULL, 0, &raw, &made),
				 0);
		assert_int_equal(buf_append(&raw, tail.data, tail.len), 0);
		assert_true(bytes_eq(buf_bytes(&raw), buf_bytes(&want)));
		block_builder_reset(b);
		assert_int_equal(block_builder_tail(b).len, 0);
	}
	block_builder_free(b);
	buf_free(&raw);
	buf_free(&want);
}

TEST(a_block_is_made_where_there_is_room_for_it)
{
	struct buf raw = {0}, want = {0};
	struct block_builder *b;
	unsigned there = 0;

	build(people, NPEOPLE, &want);
	assert_int_equal(block_builder_new(&b), 0);
	fill(b, people, NPEOPLE);
	for (size_t size = 0; size < 2 * want.len; size++) {
		uint8_t *room = malloc(size + 1);
		struct bytes made;

		raw.len = 0;
		assert_int_equal(
			block_builder_finish(b, room, size, &raw, &made), 0);
		assert_true(bytes_eq(made, buf_bytes(&want)));
		assert_true(made.data == room || made.data == raw.data);
		if (made.data == room)
			there++;
		else
			assert_int_equal(raw.len, want.len);
		/* Where it is too small for the block it is elsewhere. */
		assert_true(size >= want.len || made.data == raw.data);
		free(room);
	}
	assert_true(there > 0 && there < want.len);
	block_builder_free(b);
	buf_free(&raw);
	buf_free(&want);
}

TEST(what_all_cells_share_takes_no_room)
{
	struct item plain = {"r", "q", 1000, 0, 0, CELL_PUT, "v"};
	struct buf one = {0}, two = {0};

	build(&plain, 1, &one);
	plain.seq = UINT64_MAX - 3;
	plain.ttl_ms = 77;
	plain.ts = TS_MAX;
	plain.kind = CELL_DELETE;
	build(&plain, 1, &two);
	assert_int_equal(one.len, two.len);
	buf_free(&one);
	buf_free(&two);
}

TEST(rows_are_found)
{
	static const struct {
		const char *row;
		uint32_t at, after;
	} cases[] = {
		{"a", 0, 0},
		{"row", 0, 0},
		{"row-", 0, 0},
		{"row-anna", 0, 1},
		{"row-anna2", 1, 1},
		{"row-annabel", 1, 2},
		{"row-annabella", 2, 2},
		{"row-bob", 2, 3},
		{"row-bobby", 3, 3},
		{"s", 3, 3},
	};
	struct buf raw = {0};
	struct block *b = NULL;

	build(people, NPEOPLE, &raw);
	assert_int_equal(decode(buf_bytes(&raw), 3, &b), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes row = bytes_str(cases[i].row);

		assert_int_equal(block_find_row(b, row, false), cases[i].at);
		assert_int_equal(block_find_row(b, row, true), cases[i].after);
		for (uint32_t k = 0; k < 3; k++) {
			int c = block_row_cmp(b, k, row);

			assert_int_equal(c < 0, k < cases[i].at);
			assert_int_equal(c <= 0, k < cases[i].after);
		}
	}
	block_free(b);
	buf_free(&raw);
}

TEST(rows_alike_in_eight_bytes_are_told_apart)
{
	struct item rows[40];
	char names[40][16];
	struct buf raw = {0};
	struct block *b = NULL;

	for (int i = 0; i < 40; i++) {
		snprintf(names[i], sizeof(names[i]), "%dabcdefgh%02d", i / 20,
			 i);
		rows[i] = (struct item){names[i], "q", 1, 0, 0, CELL_PUT, "v"};
	}
	build(rows, 40, &raw);
	assert_int_equal(decode(buf_bytes(&raw), 40, &b), 0);
	for (uint32_t i = 0; i < 40; i++) {
		struct bytes row = bytes_str(names[i]);

		assert_int_equal(block_find_row(b, row, false), i);
		assert_int_equal(block_find_row(b, row, true), i + 1);
	}
	block_free(b);
	buf_free(&raw);
}

TEST(columns_are_found)
{
	static const struct {
		uint32_t from, to;
		const char *qualifier;
		int64_t ts;
		uint32_t found;
	} cases[] = {
		{0, 7, "", TS_MAX, 2},	  {0, 7, "", 8, 3},
		{0, 7, "age", TS_MAX, 3}, {0, 7, "age", 20, 3},
		{0, 7, "age", 19, 4},	  {0, 7, "age", 9, 5},
		{0, 7, "b", 0, 5},	  {0, 7, "mail", 20, 5},
		{0, 7, "mail", 19, 7},	  {0, 7, "zip", 9, 7},
		{4, 7, "", TS_MAX, 4},	  {6, 7, "a", 1, 6},
		{7, 8, "age", 1, 7},	  {7, 8, "zip", 4, 8},
		{8, 11, "mail", 5, 10},	  {8, 11, "mail", TS_MAX, 9},
	};
	struct buf raw = {0};
	struct block *b = NULL;

	build(people, NPEOPLE, &raw);
	assert_int_equal(decode(buf_bytes(&raw), 3, &b), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(
			block_find_column(b, cases[i].from, cases[i].to,
					  bytes_str(cases[i].qualifier),
					  cases[i].ts),
			cases[i].found);
	block_free(b);
	buf_free(&raw);
}

TEST(what_a_marker_covers_is_known)
{
	static const struct item items[] = {
		{"a", "p", 30, 5, 0, CELL_PUT, ""},
		{"b", "p", 40, 7, 0, CELL_DELETE, ""},
		{NULL, "p", 30, 6, 0, CELL_PUT, ""},
		{NULL, "q", 20, 9, 0, CELL_PUT, ""},
	};
	static const struct {
		struct cover cover;
		bool a, b;
	} cases[] = {
		{{30, 10}, true, true},		{{29, 10}, false, false},
		{{40, UINT64_MAX}, true, true}, {{30, 9}, true, false},
		{{30, 6}, true, false},		{{30, 5}, false, false},
	};
	struct buf raw = {0};
	struct block *b = NULL;

	build(items, 4, &raw);
	assert_int_equal(decode(buf_bytes(&raw), 2, &b), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct cover *k = &cases[i].cover;

		assert_int_equal(block_covered(b, 0, 1, k), cases[i].a);
		assert_int_equal(block_covered(b, 1, 4, k), cases[i].b);
	}
	block_free(b);
	buf_free(&raw);
}

TEST(the_newest_of_a_column_is_found)
{
	static const struct {
		uint32_t from, to;
		const char *qualifier;
		uint32_t found;
		bool is_it;
	} cases[] = {
		{0, 7, "", 2, true},	 {0, 7, "age", 3, true},
		{0, 7, "mail", 5, true}, {0, 7, "b", 5, false},
		{0, 7, "zip", 7, false}, {7, 8, "mail", 7, false},
		{6, 7, "a", 6, false},	 {8, 11, "mail", 9, true},
	};
	struct buf raw = {0};
	struct block *b = NULL;

	build(people, NPEOPLE, &raw);
	assert_int_equal(decode(buf_bytes(&raw), 3, &b), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t cell;

		assert_int_equal(
			block_find_newest(b, cases[i].from, cases[i].to,
					  bytes_str(cases[i].qualifier), &cell),
			cases[i].is_it);
		assert_int_equal(cell, cases[i].found);
	}
	block_free(b);
	buf_free(&raw);
}

static volatile uint8_t sum;

/* Touches all that a reader may touch. */
static void touch(const struct block *b)
{
	for (uint32_t row = 0; row < b->nrow; row++) {
		struct bytes suffix = block_suffix(b, row);
		uint32_t to = block_row_cell(b, row + 1);

		for (size_t k = 0; k < suffix.len; k++)
			sum += suffix.data[k];
		block_find_row(b, suffix, true);
		for (uint32_t i = block_row_cell(b, row); i < to; i++) {
			struct entry e;

			block_entry(b, i, &e);
			for (size_t k = 0; k < e.qualifier.len; k++)
				sum += e.qualifier.data[k];
			for (size_t k = 0; k < e.value.len; k++)
				sum += e.value.data[k];
			assert_true(block_find_column(b, i, to, e.qualifier,
						      e.ts) <= to);
		}
	}
}

TEST(every_truncation_is_refused)
{
	struct buf raw = {0};
	struct block *b = NULL;

	build(people, NPEOPLE, &raw);
	for (size_t n = 0; n < raw.len; n++) {
		/* In memory of its own, so that reading beyond it shows. */
		uint8_t *cut = malloc(n + 1);

		memcpy(cut, raw.data, n);
		assert_int_equal(decode(bytes_of(cut, n), 3, &b), -EUCLEAN);
		free(cut);
	}
	buf_free(&raw);
}

TEST(every_changed_byte_is_refused_or_harmless)
{
	struct buf raw = {0};
	size_t refused = 0, tried = 0;

	build(people, NPEOPLE, &raw);
	for (size_t i = 0; i < raw.len; i++) {
		for (int v = 1; v < 256; v++) {
			struct block *b = NULL;
			int r;

			raw.data[i] ^= (uint8_t)v;
			r = decode(buf_bytes(&raw), 3, &b);
			raw.data[i] ^= (uint8_t)v;
			tried++;
			if (r < 0) {
				assert_int_equal(r, -EUCLEAN);
				refused++;
				continue;
			}
			touch(b);
			block_free(b);
		}
	}
	print_message("%zu of %zu refused without a checksum\n", refused,
		      tried);
	assert_true(refused > tried / 3);
	buf_free(&raw);
}

TEST(sizes_that_cannot_be_are_refused_before_memory)
{
	struct block *b = NULL;

	assert_int_equal(block_new(0, 1, false, &b), -EUCLEAN);
	assert_int_equal(block_new(BLOCK_HEADER_LEN - 1, 1, false, &b),
			 -EUCLEAN);
	assert_int_equal(block_new(SIZE_MAX, 1, false, &b), -EUCLEAN);
	assert_int_equal(block_new(BLOCK_LEN_MAX + 1ull, 1, false, &b),
			 -EUCLEAN);
	assert_int_equal(block_new(1000, 0, false, &b), -EUCLEAN);
	assert_int_equal(block_new(1000, 1001, false, &b), -EUCLEAN);
	assert_int_equal(block_new(1000, 334, false, &b), -EUCLEAN);
}

TEST(wrong_order_is_refused)
{
	static const struct item cases[][2] = {
		/* rows */
		{{"b", "q", 1, 0, 0, CELL_PUT, ""},
		 {"a", "q", 1, 0, 0, CELL_PUT, ""}},
		{{"a", "q", 1, 0, 0, CELL_PUT, ""},
		 {"a", "q", 1, 0, 0, CELL_PUT, ""}},
		/* the same cell twice */
		{{"a", "q", 1, 5, 0, CELL_PUT, ""},
		 {NULL, "q", 1, 5, 0, CELL_PUT, ""}},
		/* qualifiers, timestamps, kinds, sequences */
		{{"a", "r", 1, 0, 0, CELL_PUT, ""},
		 {NULL, "q", 1, 0, 0, CELL_PUT, ""}},
		{{"a", "q", 1, 0, 0, CELL_PUT, ""},
		 {NULL, "q", 2, 0, 0, CELL_PUT, ""}},
		{{"a", "q", 1, 0, 0, CELL_PUT, ""},
		 {NULL, "q", 1, 0, 0, CELL_DELETE, ""}},
		{{"a", "q", 1, 1, 0, CELL_PUT, ""},
		 {NULL, "q", 1, 2, 0, CELL_PUT, ""}},
		/* a family marker behind a cell; one that has a qualifier */
		{{"a", "", 1, 0, 0, CELL_PUT, ""},
		 {NULL, "", 9, 0, 0, CELL_DELETE_FAMILY, ""}},
		{{"a", "q", 9, 0, 0, CELL_DELETE_FAMILY, ""},
		 {NULL, "q", 1, 0, 0, CELL_PUT, ""}},
		/* a kind that is none, a time that is none */
		{{"a", "q", 1, 0, 0, 5, ""},
		 {NULL, "q", 0, 0, 0, CELL_PUT, ""}},
		{{"a", "q", -1, 0, 0, CELL_PUT, ""},
		 {NULL, "r", 0, 0, 0, CELL_PUT, ""}},
		/* a row without a key */
		{{"", "q", 1, 0, 0, CELL_PUT, ""},
		 {"a", "q", 1, 0, 0, CELL_PUT, ""}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf raw = {0};
		struct block *b = NULL;

		build(cases[i], 2, &raw);
		assert_int_equal(
			decode(buf_bytes(&raw), cases[i][1].row ? 2 : 1, &b),
			-EUCLEAN);
		assert_true(store_why()[0]);
		buf_free(&raw);
	}
}

enum {
	MANY = 300
};

/* Rows whose first eight bytes are and are not alike, values of some length. */
static struct block *make_many(char names[MANY][16], struct buf *raw)
{
	static const char value[] =
		"a value that is longer than all of its key "
		"and what else there is of it";
	static struct item rows[MANY];
	struct block *b = NULL;

	for (int i = 0; i < MANY; i++) {
		snprintf(names[i], 16, i % 3 ? "r%03d" : "r%03dabcdefgh", i);
		rows[i] = (struct item){names[i], "q",	    i + 1, 0,
					0,	  CELL_PUT, value};
	}
	build(rows, MANY, raw);
	assert_int_equal(decode(buf_bytes(raw), MANY, &b), 0);
	return b;
}

static struct block *refilled(const struct block *hollow, const uint8_t *front)
{
	struct block *n;

	assert_int_equal(block_refill(hollow, &n), 0);
	memcpy(n->raw, front, n->front_len);
	return n;
}

static void same_keys(const struct block *b, const struct block *whole,
		      char names[MANY][16])
{
	for (uint32_t i = 0; i < MANY; i++) {
		char other[18];
		struct entry e, w;
		bool equal;

		assert_int_equal(
			block_find_equal(b, bytes_str(names[i]), &equal), i);
		assert_true(equal);
		assert_int_equal(block_row_cmp(b, i, bytes_str(names[i])), 0);
		snprintf(other, sizeof(other), "%s!", names[i]);
		assert_true(block_row_cmp(b, i, bytes_str(other)) < 0);
		assert_int_equal(block_find_equal(b, bytes_str(other), &equal),
				 i + 1);
		assert_false(equal);
		block_entry_key(b, i, &e);
		block_entry_key(whole, i, &w);
		assert_int_equal(e.ts, w.ts);
		assert_true(bytes_eq(e.qualifier, w.qualifier));
		assert_int_equal(block_value_len(b, i),
				 block_value_len(whole, i));
	}
}

TEST(a_part_finds_what_the_whole_does)
{
	char names[MANY][16];
	struct buf raw = {0};
	struct block *whole = make_many(names, &raw), *bare, *hollow, *again;

	assert_int_equal(block_form(whole), BLOCK_WHOLE);
	same_keys(whole, whole, names);
	assert_int_equal(block_bare(whole, &bare), 1);
	assert_int_equal(block_form(bare), BLOCK_BARE);
	assert_true(bare->memory <= whole->memory / 2);
	same_keys(bare, whole, names);
	assert_int_equal(block_hollow(bare, &hollow), 1);
	assert_int_equal(block_form(hollow), BLOCK_HOLLOW);
	assert_true(hollow->memory <= bare->memory / 2);
	assert_int_equal(block_hollow(hollow, &again), 0);
	assert_int_equal(block_hollow(whole, &again), 0);
	block_free(bare);
	again = refilled(hollow, raw.data);
	assert_int_equal(block_refilled(again), 0);
	assert_int_equal(block_form(again), BLOCK_BARE);
	block_free(hollow);
	same_keys(again, whole, names);
	block_free(again);
	block_free(whole);
	buf_free(&raw);
}

TEST(a_front_that_has_changed_is_refused)
{
	char names[MANY][16];
	struct buf raw = {0};
	struct block *whole = make_many(names, &raw), *bare, *hollow, *n;

	assert_int_equal(block_bare(whole, &bare), 1);
	assert_int_equal(block_hollow(bare, &hollow), 1);
	for (size_t i = 0; i < hollow->front_len; i++) {
		n = refilled(hollow, raw.data);
		n->raw[i] ^= (uint8_t)(1 << i % 8);
		assert_int_equal(block_refilled(n), -EUCLEAN);
		block_free(n);
	}
	block_free(hollow);
	block_free(bare);
	block_free(whole);
	buf_free(&raw);
}

/* Of @nrow rows with a value of @len each: is it of the forms that save half? */
static void parts_save_half(int nrow, size_t len)
{
	static char names[MANY][16], value[4096];
	static struct item rows[MANY];
	struct buf raw = {0};
	struct block *whole = NULL, *bare, *hollow;
	size_t sums, part;

	memset(value, 'v', len);
	value[len] = '\0';
	for (int i = 0; i < nrow; i++) {
		snprintf(names[i], 16, "r%03dabcdefgh", i);
		rows[i] = (struct item){names[i], "q",	    i + 1, 0,
					0,	  CELL_PUT, value};
	}
	build(rows, (size_t)nrow, &raw);
	assert_int_equal(decode(buf_bytes(&raw), (uint32_t)nrow, &whole), 0);
	sums = sizeof(*whole) + ((size_t)nrow * len + BLOCK_PIECE - 1) /
					BLOCK_PIECE * sizeof(*whole->sums);
	part = sums + whole->front_len + BLOCK_SLACK;
	assert_int_equal(block_bare(whole, &bare), part <= whole->memory / 2);
	if (part <= whole->memory / 2) {
		assert_int_equal(bare->memory, slab_size(part));
		assert_int_equal(block_hollow(bare, &hollow),
				 sums <= bare->memory / 2);
		if (sums <= bare->memory / 2) {
			assert_int_equal(hollow->memory, slab_size(sums));
			block_free(hollow);
		}
		block_free(bare);
	}
	block_free(whole);
	buf_free(&raw);
}

TEST(a_part_is_made_if_it_saves_half)
{
	for (int nrow = 1; nrow < MANY; nrow += nrow / 4 + 1)
		for (size_t len = 0; len < 4096; len += len / 8 + 1)
			parts_save_half(nrow, len);
}
