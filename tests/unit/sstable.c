/*
 * Sorted tables: what was written is read again, by every way to get there.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/lsm/block/block.h"
#include "store/lsm/block/cache.h"
#include "store/lsm/table/sst_index.h"
#include "store/lsm/table/sstable.h"
#include "store/value/why.h"
#include "tests/sim/os_fault.h"

static char folder[64];
static struct os_dir *dir;
static struct block_cache *cache;

static int setup(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/cellfs-sstable-XXXXXX");
	if (!mkdtemp(folder) || os_dir_open(os_posix(), folder, false, &dir))
		return -1;
	return block_cache_new(1 << 20, &cache);
}

static int forget(void *arg, const char *name)
{
	(void)arg;
	return os_unlink(dir, name);
}

static int teardown(void **state)
{
	(void)state;
	os_dir_list(dir, forget, NULL);
	os_dir_close(dir);
	block_cache_free(cache);
	return rmdir(folder);
}

struct item {
	struct bytes row;
	struct entry e;
};

struct model {
	struct item *items;
	size_t n, cap;
};

static uint64_t rng_state;

static uint64_t rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return rng_state;
}

static uint64_t below(uint64_t n)
{
	return rng() % n;
}

static struct bytes copy(struct bytes s)
{
	uint8_t *p = malloc(s.len + 1);

	if (s.len)
		memcpy(p, s.data, s.len);
	return bytes_of(p, s.len);
}

static void put(struct model *m, struct bytes row, struct entry e)
{
	if (m->n == m->cap) {
		m->cap = m->cap ? 2 * m->cap : 64;
		m->items = realloc(m->items, m->cap * sizeof(*m->items));
	}
	e.qualifier = copy(e.qualifier);
	e.value = copy(e.value);
	m->items[m->n++] = (struct item){copy(row), e};
}

static int item_cmp(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int c = bytes_cmp(x->row, y->row);

	return c ? c : entry_cmp(&x->e, &y->e);
}

static void item_free(struct item *i)
{
	free((void *)i->row.data);
	free((void *)i->e.qualifier.data);
	free((void *)i->e.value.data);
}

static void model_free(struct model *m)
{
	for (size_t i = 0; i < m->n; i++)
		item_free(&m->items[i]);
	free(m->items);
	*m = (struct model){0};
}

static void sort(struct model *m)
{
	size_t n = 0;

	qsort(m->items, m->n, sizeof(*m->items), item_cmp);
	for (size_t i = 0; i < m->n; i++) {
		if (n && !item_cmp(&m->items[n - 1], &m->items[i]))
			item_free(&m->items[i]);
		else
			m->items[n++] = m->items[i];
	}
	m->n = n;
}

/* Binary, often alike in their beginnings, sometimes long. */
static struct bytes random_key(uint8_t *to, bool may_be_empty)
{
	size_t len = below(12) + !may_be_empty;

	if (below(200) == 0)
		len = 200 + below(600);
	for (size_t i = 0; i < len; i++)
		to[i] = i < 6 ? (uint8_t)(below(3) * 127) : (uint8_t)rng();
	return bytes_of(to, len);
}

static uint8_t random_kind(void)
{
	static const uint8_t kinds[] = {
		CELL_DELETE,
		CELL_DELETE_FAMILY_VERSION,
		CELL_DELETE_COLUMN,
		CELL_DELETE_FAMILY,
	};

	return below(5) ? CELL_PUT : kinds[below(4)];
}

static void random_model(struct model *m, size_t rows, size_t cells)
{
	uint8_t row[1024], qualifier[1024], value[1024];

	for (size_t i = 0; i < sizeof(value); i++)
		value[i] = (uint8_t)(i * 7);
	for (size_t i = 0; i < rows; i++) {
		struct bytes key = random_key(row, false);
		size_t n = 1 + below(cells);

		if (below(20) == 0)
			n *= 50;
		for (size_t k = 0; k < n; k++) {
			struct entry e = {
				.kind = random_kind(),
				.ts = (int64_t)below(40),
				.seq = below(3) ? 0 : below(1000),
				.ttl_ms = below(9) ? 0 : below(100000),
				.value = bytes_of(value, below(200)),
			};

			if (!kind_is_family_marker(e.kind))
				e.qualifier = random_key(qualifier, true);
			put(m, key, e);
		}
	}
	sort(m);
}

static struct sst_options options = {
	.block_size = 1024,
	.bloom = BLOOM_ROW,
	.block_cache = true,
};

static void write_file(const struct model *m, uint64_t number,
		       struct sst_info *info)
{
	struct sst_writer *w;

	assert_int_equal(sst_writer_new(dir, number, &options, &w), 0);
	for (size_t i = 0; i < m->n; i++)
		assert_int_equal(
			sst_writer_add(w, m->items[i].row, &m->items[i].e), 0);
	assert_int_equal(sst_writer_finish(w, info), 0);
	sst_writer_free(w);
}

static struct sstable *open_file(const struct sst_info *info)
{
	struct sstable *t;
	int r = sst_open(dir, info, &options, cache, &t);

	if (r)
		print_error("%s\n", store_why());
	assert_int_equal(r, 0);
	return t;
}

static void same(const struct cursor *c, const struct item *i)
{
	assert_true(bytes_eq(c->row, i->row));
	assert_int_equal(entry_cmp(&c->at, &i->e), 0);
	assert_true(bytes_eq(c->at.qualifier, i->e.qualifier));
	assert_int_equal(c->at.kind, i->e.kind);
	assert_int_equal(c->at.ts, i->e.ts);
	assert_int_equal(c->at.seq, i->e.seq);
	assert_int_equal(c->at.ttl_ms, i->e.ttl_ms);
	assert_true(bytes_eq(c->at.value, i->e.value));
}

static size_t row_begin(const struct model *m, size_t i)
{
	while (i > 0 && bytes_eq(m->items[i - 1].row, m->items[i].row))
		i--;
	return i;
}

static size_t row_end(const struct model *m, size_t i)
{
	size_t k = i;

	while (k < m->n && bytes_eq(m->items[k].row, m->items[i].row))
		k++;
	return k;
}

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
	(void)arg;
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

static void what_is_written_is_read(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		round_trip(seed, 1, 1);
		round_trip(100 + seed, 1, 300);
		round_trip(200 + seed, 200, 4);
		round_trip(300 + seed, 30, 100);
	}
}

static struct entry put_of(const char *qualifier, int64_t ts, const char *value)
{
	return (struct entry){.qualifier = bytes_str(qualifier),
			      .ts = ts,
			      .kind = CELL_PUT,
			      .value = bytes_str(value)};
}

static struct entry marker_of(uint8_t kind, const char *qualifier, int64_t ts)
{
	return (struct entry){
		.qualifier = bytes_str(qualifier), .ts = ts, .kind = kind};
}

static void plain_options(void)
{
	options = (struct sst_options){
		.block_size = 256, .bloom = BLOOM_ROW, .block_cache = true};
}

/* Some rows, one of them over several blocks, markers and ttl. */
static void small_model(struct model *m)
{
	struct entry e = marker_of(CELL_DELETE_FAMILY, "", 50);
	char name[16], value[60];

	memset(value, 'v', sizeof(value));
	put(m, bytes_str("alpha"), put_of("q", 1000, "one"));
	put(m, bytes_str("beta"), e);
	for (int i = 0; i < 24; i++) {
		snprintf(name, sizeof(name), "col%02d", i);
		e = put_of(name, 2000 + i, "");
		e.value = bytes_of(value, (size_t)i * 2);
		e.seq = (uint64_t)i;
		e.ttl_ms = i == 5 ? 999 : 0;
		put(m, bytes_str("beta"), e);
	}
	put(m, bytes_str("gamma"), put_of("", 7, "empty"));
	put(m, bytes_str("gamma"), marker_of(CELL_DELETE_COLUMN, "q", 9));
	sort(m);
}

static void what_is_known_of_a_file_is_right(void **state)
{
	struct model m = {0};
	struct sst_info info, own;

	(void)state;
	plain_options();
	options.tree = 7;
	small_model(&m);
	write_file(&m, 1000, &info);
	assert_int_equal(info.number, 1000);
	assert_int_equal(info.entries, 28);
	assert_int_equal(info.rows, 3);
	assert_int_equal(info.markers, 2);
	assert_int_equal(info.seq_min, 0);
	assert_int_equal(info.seq_max, 23);
	/* A marker that hides all up to its time makes the range begin at 0. */
	assert_int_equal(info.ts_min, 0);
	assert_int_equal(info.ts_max, 2023);
	assert_true(info.has_ttl);
	assert_true(bytes_eq(buf_bytes(&info.row_min), bytes_str("alpha")));
	assert_true(bytes_eq(buf_bytes(&info.row_max), bytes_str("gamma")));
	assert_int_equal(sst_info_load(dir, 1000, &own), 0);
	assert_int_equal(own.checksum, info.checksum);
	assert_int_equal(own.tree, 7);
	assert_int_equal(own.file_bytes, info.file_bytes);
	assert_int_equal(own.entries, info.entries);
	assert_true(
		bytes_eq(buf_bytes(&own.row_max), buf_bytes(&info.row_max)));
	sst_info_free(&own);
	sst_info_free(&info);
	model_free(&m);
}

static void exact_markers_do_not_widen_the_time_range(void **state)
{
	struct model m = {0};
	struct sst_info info;

	(void)state;
	plain_options();
	put(&m, bytes_str("r"), marker_of(CELL_DELETE, "q", 40));
	put(&m, bytes_str("r"), marker_of(CELL_DELETE_FAMILY_VERSION, "", 30));
	sort(&m);
	write_file(&m, 1001, &info);
	assert_int_equal(info.ts_min, 30);
	assert_int_equal(info.ts_max, 40);
	assert_false(info.has_ttl);
	sst_info_free(&info);
	model_free(&m);
}

static void broken_order_is_refused(void **state)
{
	struct entry a = put_of("a", 5, ""), b = put_of("b", 5, "");
	struct entry older = put_of("b", 4, "");
	struct entry family = marker_of(CELL_DELETE_FAMILY, "", 9);
	const struct {
		const char *row;
		struct entry *e;
	} second[] = {{"r", &a}, {"r", &b}, {"r", &family}, {"q", &a}};
	struct sst_writer *w;
	struct sst_info info;

	(void)state;
	plain_options();
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(sst_writer_new(dir, 1002, &options, &w), 0);
		assert_int_equal(sst_writer_add(w, bytes_str("r"), &b), 0);
		assert_int_equal(sst_writer_add(w, bytes_str(second[i].row),
						second[i].e),
				 -EUCLEAN);
		/* And nothing goes on from there. */
		assert_true(sst_writer_add(w, bytes_str("r"), &older) < 0);
		assert_true(sst_writer_finish(w, &info) < 0);
		sst_writer_free(w);
	}
}

static bool exists(uint64_t number)
{
	char name[128];

	snprintf(name, sizeof(name), "%s/%" PRIu64 ".sst", folder, number);
	return access(name, F_OK) == 0;
}

static void a_file_not_finished_is_removed(void **state)
{
	struct entry e = put_of("q", 1, "v");
	struct sst_writer *w, *other;
	struct sst_info info;

	(void)state;
	plain_options();
	assert_int_equal(sst_writer_new(dir, 1003, &options, &w), 0);
	assert_int_equal(sst_writer_new(dir, 1003, &options, &other), -EEXIST);
	assert_int_equal(sst_writer_finish(w, &info), -EINVAL);
	assert_int_equal(sst_writer_add(w, bytes_str("r"), &e), 0);
	assert_true(sst_writer_bytes(w) > 0);
	assert_true(exists(1003));
	sst_writer_free(w);
	assert_false(exists(1003));
	sst_writer_free(NULL);
}

static void cells_beyond_the_limits_are_refused(void **state)
{
	static uint8_t big[ROW_LEN_MAX + 1];
	struct entry fine = put_of("q", 1, ""), e[5];
	struct sst_writer *w;

	(void)state;
	plain_options();
	e[0] = e[1] = e[2] = e[3] = fine;
	e[0].qualifier = bytes_of(big, QUALIFIER_LEN_MAX + 1);
	e[1].ts = -1;
	e[2].ts = TS_MAX + 1;
	e[3].value.len = VALUE_LEN_MAX + 1ull;
	e[4] = marker_of(CELL_DELETE_FAMILY, "q", 1);
	for (int i = 0; i < 7; i++) {
		struct bytes row = bytes_str("r");

		if (i == 5)
			row = bytes_of(big, ROW_LEN_MAX + 1);
		if (i == 6)
			row = bytes_of(big, 0);
		assert_int_equal(sst_writer_new(dir, 1004, &options, &w), 0);
		assert_int_equal(sst_writer_add(w, row, i < 5 ? &e[i] : &fine),
				 -EINVAL);
		sst_writer_free(w);
	}
}

static void the_longest_keys_and_large_values_fit(void **state)
{
	static uint8_t key[ROW_LEN_MAX];
	struct model m = {0};
	size_t len = 3 << 20;
	uint8_t *value = malloc(len);
	struct entry e = put_of("", 1, "");
	struct sst_info info;
	struct sstable *t;

	(void)state;
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

static void an_obsolete_file_lives_until_its_last_reader(void **state)
{
	struct model m = {0};
	struct sst_info info;
	struct sstable *t;

	(void)state;
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

static void filters_know_rows_columns_and_family_markers(void **state)
{
	struct model m = {0};
	struct sst_info info;
	struct sstable *t;
	char name[16];
	int denied = 0;

	(void)state;
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

static void count_fault(void *arg, const char *sentence)
{
	(void)arg;
	assert_true(sentence[0]);
}

/*
 * Opens and reads all. What is read must be what was written; -EUCLEAN is the
 * only other answer. Returns whether the damage was seen.
 */
static bool is_seen(const struct model *m, const struct sst_info *info)
{
	struct sst_cursor c;
	struct sstable *t;
	bool seen = false;
	size_t i = 0;
	int r = sst_open(dir, info, &options, NULL, &t);

	if (r < 0) {
		assert_int_equal(r, -EUCLEAN);
		return true;
	}
	sst_cursor(t, &c);
	r = cursor_seek_row(&c.base, m->items[0].row);
	while (r == 1) {
		assert_true(i < m->n);
		same(&c.base, &m->items[i++]);
		r = cursor_next(&c.base);
		if (r == 0)
			r = cursor_next_row(&c.base);
	}
	if (r < 0) {
		assert_int_equal(r, -EUCLEAN);
		seen = true;
	} else {
		assert_int_equal(i, m->n);
	}
	cursor_close(&c.base);
	r = sst_check(t, NULL, count_fault, NULL);
	assert_true(r >= 0);
	sst_unref(t);
	return seen || r > 0;
}

static struct os_file *open_to_harm(uint64_t number)
{
	struct os_file *f;
	char name[32];

	snprintf(name, sizeof(name), "%" PRIu64 ".sst", number);
	assert_int_equal(os_open(dir, name, OS_WRITE, &f), 0);
	return f;
}

static void every_changed_byte_is_seen(void **state)
{
	static const uint8_t flips[] = {0x01, 0x80, 0xff};
	struct model m = {0};
	struct sst_info info;

	(void)state;
	small_model(&m);
	for (int packed = 0; packed < 2; packed++) {
		struct os_file *f;

		plain_options();
		options.bloom = BLOOM_ROWCOL;
		options.compression = packed ? COMPRESSION_ZLIB : 0;
		write_file(&m, 1010 + (uint64_t)packed, &info);
		assert_false(is_seen(&m, &info));
		f = open_to_harm(info.number);
		for (uint64_t at = 0; at < info.file_bytes; at++) {
			uint8_t was, is;

			assert_int_equal(os_pread(f, &was, 1, at), 1);
			for (int k = 0; k < 3; k++) {
				is = was ^ flips[k];
				os_pwrite(f, &is, 1, at);
				assert_true(is_seen(&m, &info));
			}
			os_pwrite(f, &was, 1, at);
		}
		assert_false(is_seen(&m, &info));
		os_close(f);
		sst_info_free(&info);
	}
	model_free(&m);
}

static void every_truncation_and_garbage_behind_is_seen(void **state)
{
	struct model m = {0};
	struct sst_info info, own;
	struct os_file *f;

	(void)state;
	plain_options();
	small_model(&m);
	write_file(&m, 1012, &info);
	f = open_to_harm(1012);
	assert_int_equal(os_pwrite(f, "x", 1, info.file_bytes), 0);
	assert_true(is_seen(&m, &info));
	assert_int_equal(sst_info_load(dir, 1012, &own), -EUCLEAN);
	for (uint64_t n = info.file_bytes; n-- > 0;) {
		assert_int_equal(os_truncate(f, n), 0);
		assert_true(is_seen(&m, &info));
		/* Without a manifest the footer alone tells. */
		assert_int_equal(sst_info_load(dir, 1012, &own), -EUCLEAN);
	}
	os_close(f);
	sst_info_free(&info);
	model_free(&m);
}

static void a_swapped_or_stale_file_is_seen(void **state)
{
	struct model m = {0}, other = {0};
	struct sst_info one, two, again;

	(void)state;
	plain_options();
	small_model(&m);
	small_model(&other);
	/* As long as the other, but not the same. */
	((uint8_t *)other.items[0].e.value.data)[0] ^= 1;
	write_file(&m, 1013, &one);
	write_file(&m, 1014, &two);
	assert_int_equal(one.file_bytes, two.file_bytes);
	os_rename(dir, "1014.sst", "1013.sst");
	assert_true(is_seen(&m, &one));
	assert_non_null(strstr(store_why(), "1013.sst"));
	os_discard(dir, "1013.sst");
	write_file(&other, 1013, &again);
	assert_int_equal(one.file_bytes, again.file_bytes);
	assert_true(is_seen(&m, &one));
	assert_false(is_seen(&other, &again));
	sst_info_free(&one);
	sst_info_free(&two);
	sst_info_free(&again);
	model_free(&m);
	model_free(&other);
}

static void a_block_in_the_wrong_place_is_seen(void **state)
{
	struct model m = {0};
	struct sst_info info;
	struct os_file *f;
	uint8_t block[512];
	char name[16];
	size_t len = 0;

	(void)state;
	plain_options();
	/* Rows alike, so that the blocks are of one length. */
	for (int i = 0; i < 90; i++) {
		snprintf(name, sizeof(name), "row%02d", i + 10);
		put(&m, bytes_str(name), put_of("q", 5, "sixteen of bytes"));
	}
	sort(&m);
	write_file(&m, 1015, &info);
	f = open_to_harm(1015);
	/* The trailer of the first: plain, its length, eight of hash. */
	for (uint32_t k = 100; !len; k++) {
		uint8_t t[5] = {0, (uint8_t)k, (uint8_t)(k >> 8), 0, 0};

		assert_in_range(k, 100, 400);
		assert_int_equal(os_pread(f, block, sizeof(block), 0),
				 sizeof(block));
		if (!memcmp(block + k, t, sizeof(t)))
			len = k + 13;
	}
	assert_false(is_seen(&m, &info));
	assert_int_equal(os_pwrite(f, block, len, len), 0);
	assert_true(is_seen(&m, &info));
	os_close(f);
	sst_info_free(&info);
	model_free(&m);
}

static void damage_of_one_block_leaves_the_others(void **state)
{
	struct model m = {0};
	struct sst_info info;
	struct sst_cursor c;
	struct sstable *t;
	struct os_file *f;
	int damaged = 0;

	(void)state;
	rng_state = 5;
	random_model(&m, 100, 3);
	plain_options();
	write_file(&m, 1016, &info);
	f = open_to_harm(1016);
	assert_int_equal(os_pwrite(f, "\xff\xff\xff", 3, 0), 0);
	os_close(f);
	t = open_file(&info);
	sst_cursor(t, &c);
	for (size_t i = 0; i < m.n; i = row_end(&m, i)) {
		int r = cursor_seek_exact(&c.base, m.items[i].row);

		if (r == 1) {
			same(&c.base, &m.items[i]);
			continue;
		}
		assert_int_equal(r, -EUCLEAN);
		assert_non_null(strstr(store_why(), "1016.sst"));
		assert_non_null(strstr(store_why(), "byte 0"));
		damaged++;
	}
	assert_in_range(damaged, 1, 20);
	cursor_close(&c.base);
	sst_unref(t);
	sst_info_free(&info);
	model_free(&m);
}

static int write_all(struct os_dir *d, const struct model *m,
		     struct sst_info *info)
{
	struct sst_writer *w;
	int r = sst_writer_new(d, 1030, &options, &w);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < m->n; i++)
		r = sst_writer_add(w, m->items[i].row, &m->items[i].e);
	if (r == 0)
		r = sst_writer_finish(w, info);
	sst_writer_free(w);
	return r;
}

/* What is read until a call fails is right. */
static int read_some(struct os_dir *d, const struct model *m,
		     const struct sst_info *info)
{
	struct sst_cursor c;
	struct sstable *t;
	size_t i = 0;
	int r = sst_open(d, info, &options, NULL, &t);

	if (r < 0)
		return r;
	sst_cursor(t, &c);
	r = cursor_seek_row(&c.base, m->items[0].row);
	while (r == 1) {
		same(&c.base, &m->items[i++]);
		r = cursor_next(&c.base);
		if (r == 0)
			r = cursor_next_row(&c.base);
	}
	if (r == 0)
		assert_int_equal(i, m->n);
	cursor_close(&c.base);
	sst_unref(t);
	return r;
}

static void every_failing_call_is_told(void **state)
{
	struct os *faulty = fault_new(os_posix());
	struct model m = {0};
	struct os_dir *d;
	uint64_t fired = 1, n;

	(void)state;
	plain_options();
	small_model(&m);
	assert_int_equal(os_dir_open(faulty, folder, false, &d), 0);
	for (n = 1; fired; n++) {
		struct fault_plan plan = {
			.kinds = FAULT_OPEN | FAULT_PREAD | FAULT_PWRITE |
				 FAULT_FDATASYNC | FAULT_SIZE,
			.nth = n,
			.err = EIO,
			.partial = n % 2,
		};
		struct sst_info info = {0};
		int r;

		fault_arm(faulty, &plan);
		r = write_all(d, &m, &info);
		if (r == 0)
			r = read_some(d, &m, &info);
		else
			assert_false(exists(1030));
		fired = fault_fired(faulty);
		fault_disarm(faulty);
		/* Reading ahead may fail and be made good. */
		if (r != 0)
			assert_int_equal(r, -EIO);
		if (!fired)
			assert_int_equal(r, 0);
		if (exists(1030))
			os_discard(dir, "1030.sst");
		sst_info_free(&info);
	}
	assert_true(n > 10);
	os_dir_close(d);
	fault_free(faulty);
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

static void a_warm_file_is_in_memory_as_far_as_there_is_room(void **state)
{
	struct model m = {0};

	(void)state;
	rng_state = 10;
	random_model(&m, 300, 5);
	plain_options();
	warm(&m, 8 << 20, true);
	warm(&m, 24 << 10, false);
	model_free(&m);
}

static void the_block_behind_is_known_while_it_is_in_memory(void **state)
{
	struct block_cache *own;
	struct block_rows at;
	struct model m = {0};
	struct sst_info info;
	struct sst_cursor c;
	struct sstable *t;
	unsigned behind = 0;

	(void)state;
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

struct reader {
	pthread_t thread;
	const struct model *m;
	struct sstable *t;
	unsigned number;
};

/* Without the model's random numbers, which are one for all. */
static void *reads_all(void *arg)
{
	struct reader *r = arg;
	struct sst_cursor c;

	sst_cursor(r->t, &c);
	c.no_fill = r->number % 4 == 3;
	for (int pass = 0; pass < 6; pass++) {
		size_t i = r->number * 37 % r->m->n;

		i = row_begin(r->m, i);
		if (cursor_seek_exact(&c.base, r->m->items[i].row) != 1)
			abort();
		while (i < r->m->n) {
			if (!bytes_eq(c.base.at.value,
				      r->m->items[i].e.value) ||
			    entry_cmp(&c.base.at, &r->m->items[i].e))
				abort();
			i++;
			if (cursor_next(&c.base) == 0 &&
			    cursor_next_row(&c.base) == 0)
				break;
		}
		if (i != r->m->n)
			abort();
	}
	cursor_close(&c.base);
	return NULL;
}

static void many_threads_read_one_table(void **state)
{
	struct model m = {0};
	struct reader readers[8];
	struct block_cache *small;
	struct sst_info info;
	struct sstable *t;

	(void)state;
	rng_state = 9;
	random_model(&m, 150, 5);
	plain_options();
	write_file(&m, 1020, &info);
	assert_int_equal(block_cache_new(16 << 10, &small), 0);
	assert_int_equal(sst_open(dir, &info, &options, small, &t), 0);
	for (unsigned i = 0; i < 8; i++) {
		readers[i] = (struct reader){.m = &m, .t = t, .number = i};
		assert_int_equal(pthread_create(&readers[i].thread, NULL,
						reads_all, &readers[i]),
				 0);
	}
	for (unsigned i = 0; i < 8; i++)
		pthread_join(readers[i].thread, NULL);
	sst_unref(t);
	block_cache_free(small);
	sst_info_free(&info);
	model_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(what_is_known_of_a_file_is_right),
		cmocka_unit_test(exact_markers_do_not_widen_the_time_range),
		cmocka_unit_test(broken_order_is_refused),
		cmocka_unit_test(a_file_not_finished_is_removed),
		cmocka_unit_test(cells_beyond_the_limits_are_refused),
		cmocka_unit_test(the_longest_keys_and_large_values_fit),
		cmocka_unit_test(an_obsolete_file_lives_until_its_last_reader),
		cmocka_unit_test(filters_know_rows_columns_and_family_markers),
		cmocka_unit_test(every_changed_byte_is_seen),
		cmocka_unit_test(every_truncation_and_garbage_behind_is_seen),
		cmocka_unit_test(a_swapped_or_stale_file_is_seen),
		cmocka_unit_test(a_block_in_the_wrong_place_is_seen),
		cmocka_unit_test(damage_of_one_block_leaves_the_others),
		cmocka_unit_test(every_failing_call_is_told),
		cmocka_unit_test(
			a_warm_file_is_in_memory_as_far_as_there_is_room),
		cmocka_unit_test(
			the_block_behind_is_known_while_it_is_in_memory),
		cmocka_unit_test(many_threads_read_one_table),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
