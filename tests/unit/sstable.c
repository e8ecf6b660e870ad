/*
 * Sorted tables: what was written is read again, by every way to get there.
 */

#include "store/lsm/block/block.h"
#include "store/lsm/table/sst_index.h"
#include "tests/unit/sst_model.h"

static size_t first_row_at(const struct model *m, struct bytes row)
{
	size_t i = 0;

	while (i < m->n && bytes_cmp(m->items[i].row, row) < 0)
		i++;
	return i;
}

static void walk_forwards(const struct model *m, struct cursor *c)
{
	size_t i = 0;
	int r = cursor_seek_row(c, m->items[0].row);

	for (;;) {
		assert_int_equal(r, 1);
		same(c, &m->items[i]);
		if (++i == m->n)
			break;
		if (bytes_eq(m->items[i].row, m->items[i - 1].row)) {
			r = cursor_next(c);
		} else {
			assert_int_equal(cursor_next(c), 0);
			r = cursor_next_row(c);
		}
	}
	assert_int_equal(cursor_next(c), 0);
	assert_int_equal(cursor_next_row(c), 0);
}

static void walk_backwards(const struct model *m, struct cursor *c)
{
	size_t i = row_begin(m, m->n - 1);
	int r = cursor_seek_back(c, bytes_str(""), false);

	for (;;) {
		assert_int_equal(r, 1);
		same(c, &m->items[i]);
		/* Now and then from the middle of the row. */
		for (size_t k = i, n = below(4) ? 0 : below(200);
		     n && cursor_next(c) == 1; n--)
			same(c, &m->items[++k]);
		r = cursor_prev_row(c);
		if (i == 0)
			break;
		i = row_begin(m, i - 1);
	}
	assert_int_equal(r, 0);
}

static bool reaches(const struct item *i, struct bytes q, int64_t ts)
{
	int c;

	if (kind_is_family_marker(i->e.kind))
		return false;
	c = bytes_cmp(i->e.qualifier, q);
	return c > 0 || (c == 0 && i->e.ts <= ts);
}

/* Stands on item @i: moves forward by random ways and compares. */
static void wander(const struct model *m, struct cursor *c, size_t i)
{
	size_t end = row_end(m, i);
	uint8_t q[1024];

	same(c, &m->items[i]);
	for (int n = 0; n < 6; n++) {
		size_t to = i;
		int r;

		if (below(3) == 0) {
			to++;
			r = cursor_next(c);
		} else {
			const struct item *k = &m->items[i + below(end - i)];
			struct bytes s = k->e.qualifier;
			int64_t ts = k->e.ts - (int64_t)below(2);

			if (below(2)) {
				s = random_key(q, true);
				ts = (int64_t)below(40);
			}
			while (to < end && !reaches(&m->items[to], s, ts))
				to++;
			r = cursor_seek_column(c, s, ts);
		}
		assert_int_equal(r, to < end);
		if (to == end)
			break;
		same(c, &m->items[to]);
		i = to;
	}
	if (below(2)) {
		assert_int_equal(cursor_next_row(c), end < m->n);
		if (end < m->n)
			same(c, &m->items[end]);
	} else {
		i = row_begin(m, i);
		assert_int_equal(cursor_prev_row(c), i > 0);
		if (i > 0)
			same(c, &m->items[row_begin(m, i - 1)]);
	}
}

static void seek_anywhere(const struct model *m, struct cursor *c)
{
	uint8_t key[1024];
	struct bytes row = m->items[below(m->n)].row;
	size_t i;
	int r;

	if (below(3) == 0)
		row = random_key(key, false);
	i = first_row_at(m, row);
	switch (below(3)) {
	case 0:
		r = cursor_seek_row(c, row);
		break;
	case 1:
		r = cursor_seek_exact(c, row);
		if (i < m->n && !bytes_eq(m->items[i].row, row))
			i = m->n;
		break;
	default:
		if (below(2)) {
			r = cursor_seek_back(c, row, true);
			if (i < m->n && bytes_eq(m->items[i].row, row))
				i = row_end(m, i);
		} else {
			r = cursor_seek_back(c, row, false);
		}
		i = i == 0 ? m->n : row_begin(m, i - 1);
	}
	assert_int_equal(r, i < m->n);
	if (r)
		wander(m, c, i);
}

/* Exactly a row, in one step or in three; as @found. */
static void find_row(struct sstable *t, struct bytes row, bool in_three,
		     const struct item *found)
{
	struct index_spot spot;
	struct sst_cursor c;
	struct block_rows at;
	struct entry e;
	int r;

	sst_cursor(t, &c);
	if (in_three) {
		sst_row_near(t, row, &spot);
		r = sst_cursor_find_in(&c, sst_row_ahead(t, &spot), row, &at);
	} else {
		r = sst_cursor_find(&c, row, &at);
	}
	assert_int_equal(r, found != NULL);
	if (found) {
		assert_int_equal(block_row_cmp(at.block, at.row, row), 0);
		block_entry(at.block, block_row_cell(at.block, at.row), &e);
		assert_int_equal(entry_cmp(&e, &found->e), 0);
	}
	cursor_close(&c.base);
}

static void find_anywhere(const struct model *m, struct sstable *t)
{
	uint8_t key[1024];

	for (int i = 0; i < 100; i++) {
		struct bytes row = below(2) ? m->items[below(m->n)].row
					    : random_key(key, false);
		size_t at = first_row_at(m, row);
		bool there = at < m->n && bytes_eq(m->items[at].row, row);

		find_row(t, row, below(2), there ? &m->items[at] : NULL);
	}
}

static void say(void *arg, const char *sentence)
{
	print_message("%s\n", sentence);
}

static void compare(const struct model *m, struct sstable *t, bool no_fill)
{
	struct sst_cursor c;

	sst_cursor(t, &c);
	c.no_fill = no_fill;
	walk_forwards(m, &c.base);
	walk_backwards(m, &c.base);
	for (int i = 0; i < 300; i++)
		seek_anywhere(m, &c.base);
	cursor_close(&c.base);
	find_anywhere(m, t);
	assert_int_equal(sst_check(t, NULL, say, NULL), 0);
}

static void round_trip(uint64_t seed, size_t rows, size_t cells)
{
	struct model m = {0};
	struct sst_info info;
	struct sstable *t;

	rng_state = seed * 0x9e3779b97f4a7c15ull + 1;
	random_model(&m, rows, cells);
	options.bloom = (uint8_t)below(3);
	options.compression = below(2) ? COMPRESSION_ZLIB : COMPRESSION_NONE;
	options.block_size = 256u << below(6);
	options.block_cache = below(4);
	options.in_memory = below(2);
	print_message("seed %" PRIu64 ": %zu cells\n", seed, m.n);
	write_file(&m, seed, &info);
	assert_int_equal(info.entries, m.n);
	t = open_file(&info);
	compare(&m, t, below(2));
	sst_obsolete(t);
	sst_unref(t);
	sst_info_free(&info);
	model_free(&m);
}

TEST(what_is_written_is_read)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		round_trip(seed, 1, 1);
		round_trip(100 + seed, 1, 300);
		round_trip(200 + seed, 200, 4);
		round_trip(300 + seed, 30, 100);
	}
}

TEST(the_longest_keys_and_large_values_fit)
{
	static uint8_t key[ROW_LEN_MAX];
	struct model m = {0};
	size_t len = 3 << 20;
	uint8_t *value = malloc(len);
	struct entry e = put_of("", 1, "");
	struct sst_info info;
	struct sstable *t;

	rng_state = 77;
	plain_options();
	for (size_t i = 0; i < len; i++)
		value[i] = (uint8_t)rng();
	memset(key, 0xff, sizeof(key));
	for (int i = 0; i < 3; i++) {
		key[ROW_LEN_MAX - 1] = (uint8_t)i;
		e.qualifier = bytes_of(key, QUALIFIER_LEN_MAX);
		e.value = bytes_of(value, len - (size_t)i);
		put(&m, bytes_of(key, ROW_LEN_MAX - (size_t)i), e);
		e.qualifier = bytes_str("small");
		e.value = bytes_str("v");
		put(&m, bytes_of(key, ROW_LEN_MAX - (size_t)i), e);
	}
	sort(&m);
	write_file(&m, 1005, &info);
	t = open_file(&info);
	compare(&m, t, false);
	sst_unref(t);
	sst_info_free(&info);
	model_free(&m);
	free(value);
}

/*
 * Writes the model's values from memory that has other bytes as soon as they are
 * added: of what is borrowed nothing may be read later.
 */
static void write_lent(const struct model *m, uint64_t number,
		       struct sst_info *info)
{
	struct sst_writer *w;

	assert_int_equal(sst_writer_new(dir, number, &options, &w), 0);
	for (size_t i = 0; i < m->n; i++) {
		struct entry e = m->items[i].e;
		uint8_t *lent = malloc(e.value.len + 1);

		memcpy(lent, e.value.data, e.value.len);
		e.value.data = lent;
		assert_int_equal(sst_writer_add(w, m->items[i].row, &e), 0);
		memset(lent, 0, e.value.len + 1);
		free(lent);
	}
	assert_int_equal(sst_writer_finish(w, info), 0);
	sst_writer_free(w);
}

/* Long and short values by turns, of which every third is of random bytes. */
static void long_values_round_trip(uint64_t number, uint8_t compression,
				   uint32_t block_size)
{
	static const size_t lens[] = {
		256 << 10,     3, (256 << 10) - 1, 1 << 20,
		(1 << 20) + 1, 0, 700000,	   500000};
	enum {
		VALUES = sizeof(lens) / sizeof(lens[0])
	};
	uint8_t *value = malloc(2 << 20);
	struct model m = {0};
	struct sst_info info;
	struct sstable *t;
	char name[16];

	plain_options();
	options.compression = compression;
	options.block_size = block_size;
	for (int i = 0; i < 3 * VALUES; i++) {
		struct entry e;

		memset(value, 'v', 2 << 20);
		for (size_t k = 0; i % 3 == 0 && k < 2 << 20; k += 8) {
			uint64_t bytes = rng();

			memcpy(value + k, &bytes, 8);
		}
		snprintf(name, sizeof(name), "q%02d", i);
		e = put_of(name, 1, "");
		e.value = bytes_of(value, lens[i % VALUES]);
		/* The first row has all lengths, each of the rest has two. */
		put(&m,
		    bytes_str(i < VALUES ? "a"
			      : i % 2	 ? name
					 : name + 1),
		    e);
	}
	sort(&m);
	write_lent(&m, number, &info);
	t = open_file(&info);
	compare(&m, t, false);
	sst_unref(t);
	sst_info_free(&info);
	model_free(&m);
	free(value);
	plain_options();
}

TEST(long_values_are_read_as_they_were_written)
{
	rng_state = 78;
	for (uint64_t zlib = 0; zlib < 2; zlib++) {
		uint8_t how = zlib ? COMPRESSION_ZLIB : COMPRESSION_NONE;

		long_values_round_trip(1104 + zlib, how, 16 << 10);
		/* Beside others in a block of so much. */
		long_values_round_trip(1106 + zlib, how, 512 << 10);
	}
}

TEST(an_obsolete_file_lives_until_its_last_reader)
{
	struct model m = {0};
	struct sst_info info;
	struct sstable *t;

	plain_options();
	small_model(&m);
	write_file(&m, 1006, &info);
	t = open_file(&info);
	sst_ref(t);
	sst_obsolete(t);
	sst_unref(t);
	assert_true(exists(1006));
	compare(&m, t, false);
	sst_unref(t);
	assert_false(exists(1006));
	sst_info_free(&info);
	model_free(&m);
}

/* One who knows that the row is somewhere may ask less, and denies no more. */
static bool may_have(const struct sstable *t, struct bytes row,
		     struct bytes qualifier)
{
	struct sst_column c = {.row = row, .qualifier = qualifier};
	struct sst_column known = {
		.row = row, .qualifier = qualifier, .row_exists = true};
	bool may = sst_may_have_column(t, &c);

	sst_column_ahead(t, &known);
	assert_true(sst_may_have_column(t, &known) || !may);
	known.row_exists = false;
	assert_int_equal(sst_may_have_column(t, &known), may);
	return may;
}

static bool may_have_of_known_row(const struct sstable *t, struct bytes row,
				  struct bytes qualifier)
{
	struct sst_column c = {
		.row = row, .qualifier = qualifier, .row_exists = true};

	return sst_may_have_column(t, &c);
}

TEST(filters_know_rows_columns_and_family_markers)
{
	struct model m = {0};
	struct sst_info info;
	struct sstable *t;
	char name[16];
	int denied = 0;

	plain_options();
	options.bloom = BLOOM_ROWCOL;
	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "row%04d", i * 2);
		put(&m, bytes_str(name), put_of("mail", 1, "v"));
		put(&m, bytes_str(name), put_of("", 1, "v"));
	}
	put(&m, bytes_str("row0000"), marker_of(CELL_DELETE_FAMILY, "", 1));
	sort(&m);
	write_file(&m, 1007, &info);
	t = open_file(&info);
	for (size_t i = 0; i < m.n; i++) {
		assert_true(sst_may_have_row(t, m.items[i].row));
		assert_true(
			may_have(t, m.items[i].row, m.items[i].e.qualifier));
	}
	/* A family marker hides every column, so it may hold any. */
	assert_true(may_have(t, bytes_str("row0000"), bytes_str("absent")));
	for (int i = 1; i < 500; i++) {
		snprintf(name, sizeof(name), "row%04d", i * 2);
		denied += !may_have(t, bytes_str(name), bytes_str("absent"));
		snprintf(name, sizeof(name), "row%04d", i * 2 + 1);
		denied += !sst_may_have_row(t, bytes_str(name));
		denied += !may_have(t, bytes_str(name), bytes_str("mail"));
		denied += !may_have_of_known_row(t, bytes_str(name),
						 bytes_str("mail"));
	}
	assert_true(denied > 1900);
	assert_false(sst_may_have_row(t, bytes_str("a")));
	assert_false(sst_may_have_row(t, bytes_str("s")));
	sst_unref(t);
	sst_info_free(&info);
	model_free(&m);
}

static void warm(const struct model *m, size_t cache_bytes, bool all)
{
	struct block_cache_stat before, after;
	struct block_cache *own;
	struct sst_info info;
	struct sst_cursor c;
	struct sstable *t;

	write_file(m, 1030, &info);
	assert_int_equal(block_cache_new(cache_bytes, &own), 0);
	assert_int_equal(sst_open(dir, &info, &options, own, &t), 0);
	sst_warm(t);
	block_cache_stat(own, &before);
	assert_true(before.misses > 0);
	assert_true(before.bytes <= cache_bytes);
	/* What a block takes is estimated, so that the last may be too much. */
	assert_true(before.evicted + before.bare + before.hollow <= 1);
	sst_cursor(t, &c);
	walk_forwards(m, &c.base);
	cursor_close(&c.base);
	block_cache_stat(own, &after);
	assert_int_equal(after.misses == before.misses, all);
	sst_obsolete(t);
	sst_unref(t);
	block_cache_free(own);
	sst_info_free(&info);
}

TEST(a_warm_file_is_in_memory_as_far_as_there_is_room)
{
	struct model m = {0};

	rng_state = 10;
	random_model(&m, 300, 5);
	plain_options();
	warm(&m, 8 << 20, true);
	warm(&m, 24 << 10, false);
	model_free(&m);
}

TEST(the_block_behind_is_known_while_it_is_in_memory)
{
	struct block_cache *own;
	struct block_rows at;
	struct model m = {0};
	struct sst_info info;
	struct sst_cursor c;
	struct sstable *t;
	unsigned behind = 0;

	rng_state = 11;
	random_model(&m, 300, 5);
	plain_options();
	write_file(&m, 1031, &info);
	assert_int_equal(block_cache_new(8 << 20, &own), 0);
	assert_int_equal(sst_open(dir, &info, &options, own, &t), 0);
	sst_cursor(t, &c);
	sst_cursor_near(&c, bytes_of(NULL, 0));
	assert_int_equal(sst_cursor_take(&c), 0);
	assert_null(sst_cursor_behind(&c));
	cursor_close(&c.base);
	sst_warm(t);
	sst_cursor(t, &c);
	sst_cursor_near(&c, bytes_of(NULL, 0));
	assert_int_equal(sst_cursor_take(&c), 0);
	for (const void *p; (p = sst_cursor_behind(&c)); behind++) {
		assert_int_equal(sst_cursor_ahead(&c, &at), 1);
		assert_ptr_equal(at.block, p);
	}
	assert_true(behind > 1);
	assert_int_equal(sst_cursor_ahead(&c, &at), 0);
	cursor_close(&c.base);
	sst_obsolete(t);
	sst_unref(t);
	block_cache_free(own);
	sst_info_free(&info);
	model_free(&m);
}
