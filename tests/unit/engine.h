/*
 * A store for the tests of the engine: in a directory of its own (temp_store.h),
 * as users have it and with files so small that a few puts make many.
 */
#ifndef CELLFS_TESTS_UNIT_ENGINE_H
#define CELLFS_TESTS_UNIT_ENGINE_H

#include "tests/unit/unit.h"
#include "store/lsm/admin/engine.h"
#include "tests/unit/temp_store.h"

/* The store of the test. */
static struct temp_store the;

static inline int setup(void **state)
{
	the = (struct temp_store){0};
	return temp_make(&the);
}

static inline int teardown(void **state)
{
	return temp_remove(&the);
}

/* Small files, work in the caller: many flushes and levels in a few puts. */
static inline int setup_small(void **state)
{
	the = (struct temp_store){.options = {.inline_background = true,
					      .write_buffer_bytes = 16 << 10,
					      .table_file_bytes = 8 << 10,
					      .wal_segment_bytes = 64 << 10,
					      .wal_ring_bytes = 16 << 10}};
	return temp_make(&the);
}

static inline int count(struct scan_spec *spec)
{
	struct scan *sc;
	struct cell c;
	int n = 0, r;

	assert_int_equal(scan_open(the.table, spec, &sc), 0);
	while ((r = scan_next(sc, &c)) > 0)
		n++;
	assert_int_equal(r, 0);
	scan_close(sc);
	return n;
}

static inline uint64_t stat_of(struct store *s, const char *name)
{
	struct store_stat st;

	for (unsigned i = 0; store_stat(s, i, &st) > 0; i++)
		if (!strcmp(st.name, name))
			return st.value;
	return UINT64_MAX;
}

static const char filler[200] = {[0 ... 198] = 'x'};

static inline void rewrite(void)
{
	char row[16], value[240];

	for (int i = 0; i < 1000; i++) {
		snprintf(row, sizeof(row), "r%04d", i * 7 % 1000);
		snprintf(value, sizeof(value), "%s%d", filler, rand());
		assert_int_equal(temp_put(&the, row, "f", "q", 7, value), 1);
	}
}

/* A test with the one store, with the other, or with each of them. */
#define USUAL(f) TEST_IN(f, setup, teardown)
#define SMALL(f) TEST_IN(f, setup_small, teardown)
#define BOTH(f)                                              \
	ADD_TEST(f, _in_small_files, setup_small, teardown); \
	USUAL(f)

#endif
