/*
 * Sorted tables: what was written is read again, by every way to get there.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/lsm/sstable.h"
#include "store/why.h"

/* -- a folder, and a model: a sorted array --------------------------------- */

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

/* -- comparing ------------------------------------------------------------- */

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
	assert_int_equal(sst_check(t, say, NULL), 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
