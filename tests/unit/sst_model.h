/*
 * Sorted tables of a model: cells that a test puts, or random ones, sorted; and the
 * files made of them, in a directory of the program's own.
 */
#ifndef CELLFS_TESTS_UNIT_SST_MODEL_H
#define CELLFS_TESTS_UNIT_SST_MODEL_H

#include <inttypes.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "store/lsm/block/cache.h"
#include "store/lsm/table/sstable.h"
#include "store/value/why.h"
#include "tests/unit/xorshift.h"

static char folder[64];
static struct os_dir *dir;
static struct block_cache *cache;

static inline int setup(void **state)
{
	snprintf(folder, sizeof(folder), "/tmp/cellfs-sstable-XXXXXX");
	if (!mkdtemp(folder) || os_dir_open(os_posix(), folder, false, &dir))
		return -1;
	return block_cache_new(1 << 20, &cache);
}

static inline int forget(void *arg, const char *name)
{
	return os_unlink(dir, name);
}

static inline int teardown(void **state)
{
	os_dir_list(dir, forget, NULL);
	os_dir_close(dir);
	block_cache_free(cache);
	return rmdir(folder);
}

ALL_TESTS_IN(setup, teardown);

struct item {
	struct bytes row;
	struct entry e;
};

struct model {
	struct item *items;
	size_t n, cap;
};

static uint64_t rng_state;

static inline uint64_t rng(void)
{
	return xorshift(&rng_state);
}

static inline uint64_t below(uint64_t n)
{
	return rng() % n;
}

static inline struct bytes copy(struct bytes s)
{
	uint8_t *p = malloc(s.len + 1);

	if (s.len)
		memcpy(p, s.data, s.len);
	return bytes_of(p, s.len);
}

static inline void put(struct model *m, struct bytes row, struct entry e)
{
	if (m->n == m->cap) {
		m->cap = m->cap ? 2 * m->cap : 64;
		m->items = realloc(m->items, m->cap * sizeof(*m->items));
	}
	e.qualifier = copy(e.qualifier);
	e.value = copy(e.value);
	m->items[m->n++] = (struct item){copy(row), e};
}

static inline int item_cmp(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int c = bytes_cmp(x->row, y->row);

	return c ? c : entry_cmp(&x->e, &y->e);
}

static inline void item_free(struct item *i)
{
	free((void *)i->row.data);
	free((void *)i->e.qualifier.data);
	free((void *)i->e.value.data);
}

static inline void model_free(struct model *m)
{
	for (size_t i = 0; i < m->n; i++)
		item_free(&m->items[i]);
	free(m->items);
	*m = (struct model){0};
}

static inline void sort(struct model *m)
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
static inline struct bytes random_key(uint8_t *to, bool may_be_empty)
{
	size_t len = below(12) + !may_be_empty;

	if (below(200) == 0)
		len = 200 + below(600);
	for (size_t i = 0; i < len; i++)
		to[i] = i < 6 ? (uint8_t)(below(3) * 127) : (uint8_t)rng();
	return bytes_of(to, len);
}

static inline uint8_t random_kind(void)
{
	static const uint8_t kinds[] = {
		CELL_DELETE,
		CELL_DELETE_FAMILY_VERSION,
		CELL_DELETE_COLUMN,
		CELL_DELETE_FAMILY,
	};

	return below(5) ? CELL_PUT : kinds[below(4)];
}

static inline void random_model(struct model *m, size_t rows, size_t cells)
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

static inline struct entry put_of(const char *qualifier, int64_t ts,
				  const char *value)
{
	return (struct entry){.qualifier = bytes_str(qualifier),
			      .ts = ts,
			      .kind = CELL_PUT,
			      .value = bytes_str(value)};
}

static inline struct entry marker_of(uint8_t kind, const char *qualifier,
				     int64_t ts)
{
	return (struct entry){
		.qualifier = bytes_str(qualifier), .ts = ts, .kind = kind};
}

/* Some rows, one of them over several blocks, markers and ttl. */
static inline void small_model(struct model *m)
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

static struct sst_options options = {
	.block_size = 1024,
	.bloom = BLOOM_ROW,
	.block_cache = true,
};

static inline void plain_options(void)
{
	options = (struct sst_options){
		.block_size = 256, .bloom = BLOOM_ROW, .block_cache = true};
}

static inline void write_file(const struct model *m, uint64_t number,
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

static inline struct sstable *open_file(const struct sst_info *info)
{
	struct sstable *t;
	int r = sst_open(dir, info, &options, cache, &t);

	if (r)
		print_error("%s\n", store_why());
	assert_int_equal(r, 0);
	return t;
}

static inline bool exists(uint64_t number)
{
	char name[128];

	snprintf(name, sizeof(name), "%s/%" PRIu64 ".sst", folder, number);
	return access(name, F_OK) == 0;
}

static inline void same(const struct cursor *c, const struct item *i)
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

static inline size_t row_begin(const struct model *m, size_t i)
{
	while (i > 0 && bytes_eq(m->items[i - 1].row, m->items[i].row))
		i--;
	return i;
}

static inline size_t row_end(const struct model *m, size_t i)
{
	size_t k = i;

	while (k < m->n && bytes_eq(m->items[k].row, m->items[i].row))
		k++;
	return k;
}

#endif
